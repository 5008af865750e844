//! A question of a server to the user, in the middle of a call: one for each value that it wants.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use toolbox::check_arguments;

/// A question to the user. Dropping `reply` declines.
#[derive(Debug)]
pub(crate) struct ServerQuestion {
    /// The question, with what an answer may be.
    pub(crate) text: String,
    /// Takes the answer.
    pub(crate) reply: oneshot::Sender<Option<String>>,
}

/// Asks for what a server wants, and returns its answer: the values, or that the user declines.
pub(crate) async fn ask(
    server: &str,
    wanted: ElicitRequestParams,
    asked: &mpsc::Sender<ServerQuestion>,
    max_questions: usize,
) -> ElicitResult {
    let declined = || ElicitResult::new(ElicitationAction::Decline);
    let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = wanted
    else {
        // An address that a server sends is not opened.
        return declined();
    };
    let Ok(schema) = serde_json::to_value(&requested_schema) else { return declined() };
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_required = |name: &String| required.iter().any(|it| it == name);
    // Of a long form only what it needs is asked.
    let is_asked = |name: &String| fields.len() <= max_questions || is_required(name);
    if fields.keys().filter(|name| is_asked(name)).count() > max_questions {
        return declined();
    }
    let (mut values, mut answers) = (Map::new(), 0);
    for (name, field) in &fields {
        let mut text = question(server, &message, name, field);
        let mut value = None;
        // A wrong answer is asked for once more.
        for _ in 0..2 {
            if !is_asked(name) {
                break;
            }
            let (reply, answer) = oneshot::channel();
            if asked.send(ServerQuestion { text: text.clone(), reply }).await.is_err() {
                return declined();
            }
            let Ok(Some(answer)) = answer.await else { break };
            answers += 1;
            let said = value_of(answer.trim(), field);
            let Err(why) = check_value(field, &said) else {
                value = Some(said);
                break;
            };
            text = format!(
                "{}; the answer did not fit: {why}",
                question(server, &message, name, field)
            );
        }
        if let Some(value) = value.or_else(|| field.get("default").cloned()) {
            values.insert(name.clone(), value);
        }
    }
    let values = Value::Object(values);
    // Whoever answers nothing declines.
    if answers > 0 && check_arguments(&schema, &values).is_ok() {
        return ElicitResult::new(ElicitationAction::Accept).with_content(values);
    }
    declined()
}

/// Checks one value.
fn check_value(field: &Value, value: &Value) -> Result<(), String> {
    let schema = json!({ "type": "object", "properties": { "value": field } });
    check_arguments(&schema, &json!({ "value": value }))
}

/// Returns the question for one value.
fn question(server: &str, message: &str, name: &str, field: &Value) -> String {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    let mut question = format!("The MCP server `{server}` asks: {message} · {name}");
    if let Some(description) = text("description").or_else(|| text("title")) {
        question.push_str(&format!(": {description}"));
    }
    let choices = field.get("enum").and_then(Value::as_array);
    let choices: Vec<&str> = choices.into_iter().flatten().filter_map(Value::as_str).collect();
    match text("type") {
        _ if !choices.is_empty() => question.push_str(&format!(" (one of {})", choices.join(", "))),
        Some("boolean") => question.push_str(" (true or false)"),
        Some("integer" | "number") => question.push_str(" (a number)"),
        _ => {}
    }
    question
}

/// Returns an answer as a value of the field's type; an answer that is none stays text, and does not fit.
fn value_of(answer: &str, field: &Value) -> Value {
    let text = || Value::String(answer.to_owned());
    match field.get("type").and_then(Value::as_str) {
        Some("boolean" | "integer" | "number" | "array") => {
            serde_json::from_str(answer).unwrap_or_else(|_| text())
        }
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what a server gets if the user answers so, and the questions.
    async fn answered(wanted: Value, answers: &[Option<&str>]) -> (ElicitResult, Vec<String>) {
        let (asked, mut questions) = mpsc::channel(1);
        let wanted = serde_json::from_value(wanted).unwrap();
        let asking = ask("tickets", wanted, &asked, 4);
        let user = async {
            let mut texts = Vec::new();
            for answer in answers {
                let question = questions.recv().await.unwrap();
                texts.push(question.text);
                question.reply.send(answer.map(str::to_owned)).unwrap();
            }
            texts
        };
        tokio::join!(asking, user)
    }

    fn form(properties: &Value) -> Value {
        let schema = json!({ "type": "object", "properties": properties, "required": ["age"] });
        json!({ "mode": "form", "message": "Who?", "requestedSchema": schema })
    }

    #[tokio::test]
    async fn each_value_is_asked_for_and_has_its_type() {
        let properties = json!({ "age": { "type": "integer" }, "kind": { "type": "string", "enum": ["a", "b"] } });
        let (result, questions) = answered(form(&properties), &[Some("42"), Some(" a ")]).await;
        assert_eq!(result.content, Some(json!({ "age": 42, "kind": "a" })));
        assert_eq!(
            questions,
            [
                "The MCP server `tickets` asks: Who? · age (a number)",
                "The MCP server `tickets` asks: Who? · kind (one of a, b)"
            ]
        );
    }

    #[tokio::test]
    async fn what_is_not_answered_or_does_not_fit_is_declined() {
        let age = || form(&json!({ "age": { "type": "integer" } }));
        for answers in [&[None][..], &[Some(""), Some("")], &[Some("old"), Some("older")]] {
            let (result, _) = answered(age(), answers).await;
            assert_eq!((result.action, result.content), (ElicitationAction::Decline, None));
        }
        let url = json!({ "mode": "url", "message": "Log in", "url": "https://evil", "elicitationId": "1" });
        assert_eq!(answered(url, &[]).await.0.action, ElicitationAction::Decline);
        let names = ["age", "b", "c", "d", "e"];
        let wanted = names.map(|name| (name.to_owned(), json!({ "type": "string" })));
        let schema =
            json!({ "type": "object", "properties": Map::from_iter(wanted), "required": names });
        let many = json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
        assert_eq!(answered(many, &[]).await.0.action, ElicitationAction::Decline);
    }

    #[tokio::test]
    async fn what_is_optional_may_be_left_out_and_a_wrong_answer_is_asked_for_again() {
        let properties =
            json!({ "age": { "type": "integer" }, "kind": { "type": "string", "default": "x" } });
        let answers = [Some("old"), Some("42"), None];
        let (result, questions) = answered(form(&properties), &answers).await;
        assert_eq!(result.content, Some(json!({ "age": 42, "kind": "x" })));
        assert!(
            questions[1].contains("the answer did not fit: /value: want integer"),
            "{questions:?}"
        );
        let many: Map<String, Value> =
            (0..9).map(|n| (format!("f{n}"), json!({ "type": "string" }))).collect();
        let mut many = Value::Object(many);
        many["age"] = json!({ "type": "integer" });
        let (result, questions) = answered(form(&many), &[Some("7")]).await;
        assert_eq!((result.content, questions.len()), (Some(json!({ "age": 7 })), 1));
    }
}
