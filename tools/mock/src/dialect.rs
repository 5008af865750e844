//! A fake that speaks another dialect than DeepSeek's: it refuses what it does not know, and names its fields otherwise.
//! Pure.

use config::{Dialect, Parameter};
use serde_json::{Value, json};

use super::refusal::RefusedRequest;
use model::Usage;

/// The dialect of the real server.
pub(super) const DEEPSEEK: &str = "deepseek";

/// Returns a dialect of the default configuration; `None` if there is none of this name.
pub(super) fn named(name: &str) -> Option<Dialect> {
    let settings = config::resolve_layers(&config::Inputs::default()).ok()?;
    settings.config.llm.dialects.get(name).cloned()
}

/// Refuses a request that has something which the dialect does not know, in the words of another server.
pub(super) fn check(dialect: &Dialect, request: &Value) -> Result<(), RefusedRequest> {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_sent = |parameter: &Parameter| match parameter {
        Parameter::System => messages.iter().any(|message| message["role"] == "system"),
        Parameter::ReasoningContent => {
            messages.iter().any(|message| message.get("reasoning_content").is_some())
        }
        Parameter::MaxTokens
        | Parameter::MaxCompletionTokens
        | Parameter::StreamOptions
        | Parameter::Thinking
        | Parameter::ChatTemplateKwargs
        | Parameter::Reasoning
        | Parameter::ReasoningEffort
        | Parameter::Tools
        | Parameter::ToolChoice => request.get(parameter.as_str()).is_some(),
    };
    let unknown = |parameter: &Parameter| !dialect.has(*parameter) && is_sent(parameter);
    let Some(parameter) = Parameter::ALL.into_iter().find(unknown) else { return Ok(()) };
    let name = parameter.as_str();
    let refusal = RefusedRequest::invalid(format!(
        "Unsupported parameter: '{name}' is not supported with this model."
    ));
    Err(RefusedRequest { parameter: Some(name), ..refusal })
}

/// Returns the usage with the names of the dialect.
pub(super) fn usage(dialect: &Dialect, usage: &Usage) -> Value {
    let fields = &dialect.usage;
    let mut told = json!({"total_tokens": usage.total()});
    for (paths, count) in [
        (&fields.prompt, usage.prompt),
        (&fields.output, usage.output),
        (&fields.cached, usage.hit.unwrap_or_default()),
        (&fields.reasoning, usage.reasoning.unwrap_or_default()),
    ] {
        let steps: Vec<&str> =
            paths.first().map_or("", String::as_str).split('/').skip(1).collect();
        let Some((name, path)) = steps.split_last() else { continue };
        let mut place = &mut told;
        for step in path {
            place = &mut place[*step];
        }
        place[*name] = count.into();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dialect_does_not_know_is_refused_by_name() {
        let openai = named("openai").unwrap();
        let check = |request: Value| check(&openai, &request).map_err(|it| it.parameter);
        assert_eq!(check(json!({"model": "m", "max_completion_tokens": 1})), Ok(()));
        assert_eq!(check(json!({"max_tokens": 1})), Err(Some("max_tokens")));
        let thought = json!({"role": "assistant", "content": "", "reasoning_content": "hm"});
        assert_eq!(check(json!({"messages": [thought]})), Err(Some("reasoning_content")));
        assert_eq!(named("klingon"), None);
    }

    #[test]
    fn usage_has_the_names_of_the_dialect() {
        let told = Usage { prompt: 9, hit: Some(4), output: 3, reasoning: Some(1) };
        assert_eq!(
            usage(&named("openai").unwrap(), &told),
            json!({
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "total_tokens": 12,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 1},
            })
        );
    }
}
