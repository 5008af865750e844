//! The dialect of a server: which one it speaks, and what is left out because the server refused it. Pure.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use config::{Dialect, Llm, Parameter, matches_pattern};
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::ModelError;

/// The setting that chooses the dialect by the server's host.
const AUTO: &str = "auto";
/// The dialect of unknown hosts, and of requests that do not name one.
const USUAL: &str = "deepseek";

/// The dialect that requests to a model are written in. It is recorded with each request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenDialect {
    /// A dialect of the configuration.
    pub name: String,
    /// What the server refused.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub refused: BTreeSet<Parameter>,
    /// The longest answer that the server allows, in tokens, if it said so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_tokens: Option<u32>,
}

impl Default for SpokenDialect {
    fn default() -> Self {
        Self { name: USUAL.to_owned(), refused: BTreeSet::new(), most_tokens: None }
    }
}

impl SpokenDialect {
    /// Returns the dialect that is configured for the server at `host`, with nothing refused yet.
    pub fn at(llm: &Llm, host: &str) -> Self {
        let matches = llm.dialects.iter().flat_map(|(name, dialect)| {
            let hosts = dialect.hosts.iter().filter(|pattern| matches_pattern(pattern, host));
            hosts.map(move |pattern| (pattern.len(), name))
        });
        let name = match llm.dialect.as_str() {
            AUTO => matches.max().map_or(USUAL, |(_, name)| name.as_str()),
            name => name,
        };
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Returns true if it is the usual one, and nothing was refused.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the dialect with all its names, without what was refused. A length limit that is refused by one name is
    /// sent by the other.
    pub fn in_full(&self, llm: &Llm) -> Dialect {
        let named = llm.dialects.get(&self.name).or_else(|| llm.dialects.get(USUAL));
        let mut dialect = named.cloned().unwrap_or_default();
        for refused in &self.refused {
            if dialect.parameters.remove(refused)
                && let Some(other) = other_name(*refused)
            {
                dialect.parameters.insert(other);
            }
        }
        for refused in &self.refused {
            dialect.parameters.remove(refused);
        }
        dialect
    }

    /// Returns the dialect without what the server refused with `error`, if it named something that was sent. `sent` is
    /// what the request had, `max_tokens` its length limit.
    pub fn corrected(
        &self,
        error: &ModelError,
        sent: &BTreeSet<Parameter>,
        max_tokens: u32,
    ) -> Option<Self> {
        let (message, named) = if let ModelError::InvalidRequest { message, parameter, .. } = error
        {
            (message, named(message, parameter.as_deref(), sent))
        } else if let ModelError::Server { status: 500 | 501, message, .. } = error {
            // Some refuse with the status of a fault. Then only a word that is said to be a parameter counts.
            (message, said_to_be(message, sent))
        } else {
            return None;
        };
        let mut corrected = self.clone();
        let is_length = |it: &Parameter| other_name(*it).is_some();
        if named.iter().any(is_length)
            && let Some(most) = largest_below(message, max_tokens)
        {
            corrected.most_tokens = Some(most);
        } else {
            corrected.refused.extend(named);
        }
        (corrected != *self).then_some(corrected)
    }

    /// Returns what differs from the configured dialect, for the user.
    pub fn says(&self) -> String {
        let refused: Vec<&str> = self.refused.iter().map(|it| it.as_str()).collect();
        let without = (!refused.is_empty()).then(|| format!("without {}", refused.join(", ")));
        let most = self.most_tokens.map(|most| format!("answers of at most {most} tokens"));
        without.into_iter().chain(most).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the other name of a length limit.
const fn other_name(parameter: Parameter) -> Option<Parameter> {
    match parameter {
        Parameter::MaxTokens => Some(Parameter::MaxCompletionTokens),
        Parameter::MaxCompletionTokens => Some(Parameter::MaxTokens),
        Parameter::StreamOptions
        | Parameter::Thinking
        | Parameter::ChatTemplateKwargs
        | Parameter::Reasoning
        | Parameter::ReasoningEffort
        | Parameter::Tools
        | Parameter::ToolChoice
        | Parameter::ReasoningContent
        | Parameter::System => None,
    }
}

/// Returns what of `sent` a refusal names: in its field for that, otherwise in quotes, otherwise as a word.
fn named(message: &str, field: Option<&str>, sent: &BTreeSet<Parameter>) -> BTreeSet<Parameter> {
    let among = |found: &dyn Fn(&str) -> bool| -> BTreeSet<Parameter> {
        sent.iter().copied().filter(|it| found(it.as_str())).collect()
    };
    let is_part = |text: &str, name: &str| words(text).any(|(word, _)| word == name);
    let in_field = among(&|name| field.is_some_and(|field| is_part(field, name)));
    let in_quotes = among(&|name| words(message).any(|(word, quoted)| quoted && word == name));
    let as_word = among(&|name| is_part(message, name));
    [in_field, in_quotes, as_word].into_iter().find(|it| !it.is_empty()).unwrap_or_default()
}

/// Returns what of `sent` a text calls a parameter: `tools param`, `parameter "tools"`.
fn said_to_be(text: &str, sent: &BTreeSet<Parameter>) -> BTreeSet<Parameter> {
    let words: Vec<&str> = words(text).map(|(word, _)| word).collect();
    let is_kind = |word: Option<&&str>| {
        word.is_some_and(|word| ["param", "parameter", "field", "option"].contains(word))
    };
    let is_said = |it: &Parameter| {
        let at = words.iter().position(|word| *word == it.as_str());
        at.is_some_and(|at| {
            is_kind(words.get(at + 1)) || is_kind(at.checked_sub(1).and_then(|at| words.get(at)))
        })
    };
    sent.iter().copied().filter(is_said).collect()
}

/// Returns the words of a text, and whether each follows a quote.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    static WORD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"(['"`‘“]?)(\w+)"#).expect("the pattern is fixed"));
    WORD.captures_iter(text).map(|found| {
        let [quote, word] = found.extract().1;
        (word, !quote.is_empty())
    })
}

/// Returns the largest number in a text that is below `limit` and stands for itself, not in a name.
fn largest_below(text: &str, limit: u32) -> Option<u32> {
    let words = text.split(|char: char| char.is_whitespace() || "()[],;:\"'`".contains(char));
    let numbers = words.filter_map(|word| word.trim_end_matches('.').parse().ok());
    numbers.filter(|number| (1..limit).contains(number)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llm() -> Llm {
        config::resolve_layers(&config::Inputs::default()).unwrap().config.llm
    }

    fn refusal(message: &str, parameter: Option<&str>) -> ModelError {
        let (message, parameter) = (message.to_owned(), parameter.map(str::to_owned));
        ModelError::InvalidRequest { status: 400, message, parameter }
    }

    #[test]
    fn a_dialect_is_found_by_host_or_by_setting() {
        let mut llm = llm();
        let at = |llm: &Llm, host: &str| SpokenDialect::at(llm, host).name;
        for (host, expected) in [
            ("api.deepseek.com", "deepseek"),
            ("127.0.0.1", "deepseek"),
            ("api.openai.com", "openai"),
            ("mine.openai.azure.com", "openai"),
            ("openrouter.ai", "openrouter"),
        ] {
            assert_eq!(at(&llm, host), expected, "{host}");
        }
        llm.dialect = "vllm".to_owned();
        assert_eq!(at(&llm, "api.openai.com"), "vllm");
    }

    #[test]
    fn what_a_refusal_names_is_left_out() {
        let sent = BTreeSet::from(Parameter::ALL);
        let of = |message: &str, field: Option<&str>| {
            let corrected =
                SpokenDialect::default().corrected(&refusal(message, field), &sent, 32768);
            corrected.map(|it| it.says()).unwrap_or_default()
        };
        for (message, field, expected) in [
            // Real refusals of LiteLLM, OpenAI, Mistral, Ollama and vLLM.
            (
                "litellm.UnsupportedParamsError: openai does not support parameters: ['thinking'], for model=x",
                None,
                "without thinking",
            ),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some("max_tokens"),
                "without max_tokens",
            ),
            (
                "Unrecognized request arguments supplied: reasoning_effort, thinking",
                None,
                "without thinking, reasoning_effort",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#,
                None,
                "without stream_options",
            ),
            ("registry.ollama.ai/library/gemma:2b does not support tools", None, "without tools"),
            ("Thinking mode does not support this tool_choice", None, "without tool_choice"),
            (
                "max_tokens is too large: 32768. This model supports at most 16384 completion tokens, whereas you provided 32768.",
                Some("max_tokens"),
                "answers of at most 16384 tokens",
            ),
            (
                "Extra inputs are not permitted",
                Some("messages.1.assistant.reasoning_content"),
                "without reasoning_content",
            ),
            ("The model `gpt-9` does not exist", Some("model"), ""),
            ("Invalid request", None, ""),
        ] {
            assert_eq!(of(message, field), expected, "{message}");
        }
        let other = ModelError::Auth { message: "thinking".to_owned() };
        assert_eq!(SpokenDialect::default().corrected(&other, &sent, 100), None);
    }

    #[test]
    fn what_was_not_sent_cannot_be_left_out() {
        let sent = BTreeSet::from([Parameter::MaxTokens]);
        let refused = refusal("thinking is unknown", None);
        assert_eq!(SpokenDialect::default().corrected(&refused, &sent, 100), None);
    }

    #[test]
    fn a_length_limit_goes_by_its_other_name_before_it_is_left_out() {
        let llm = llm();
        let limits = |refused: &[Parameter]| {
            let refused = refused.iter().copied().collect();
            let parameters =
                SpokenDialect { refused, ..SpokenDialect::default() }.in_full(&llm).parameters;
            let is_limit = |it: &Parameter| other_name(*it).is_some();
            parameters.into_iter().filter(is_limit).collect::<Vec<_>>()
        };
        let (old, new) = (Parameter::MaxTokens, Parameter::MaxCompletionTokens);
        assert_eq!(limits(&[]), [old]);
        assert_eq!(limits(&[old]), [new]);
        assert!(limits(&[old, new]).is_empty());
    }
}
