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
    /// What an empty answer means.
    pub(crate) if_empty: String,
    /// Takes the answer; `None` if there is no user.
    pub(crate) reply: oneshot::Sender<Option<String>>,
}

/// Asks for what a server wants, and returns its answer: the values, or that the user declines.
pub(crate) async fn ask(
    server: &str,
    wanted: ElicitRequestParams,
    asked: &mpsc::Sender<ServerQuestion>,
    max_questions: usize,
) -> ElicitResult {
    let form = Form::of(server, wanted, max_questions);
    let values = match form {
        Some(form) => form.filled(asked).await,
        None => None,
    };
    match values {
        Some(values) => ElicitResult::new(ElicitationAction::Accept).with_content(values),
        None => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// What a server wants to know.
struct Form {
    /// What the server says, with its name.
    message: String,
    schema: Value,
    /// The values that are asked for.
    asked: Map<String, Value>,
    /// The other ones.
    unasked: Map<String, Value>,
}

impl Form {
    /// Reads what a server wants; `None` if it is not asked. Of a long form only what it needs is asked.
    fn of(server: &str, wanted: ElicitRequestParams, max_questions: usize) -> Option<Self> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = wanted
        else {
            // An address that a server sends is not opened.
            return None;
        };
        let schema = serde_json::to_value(&requested_schema).ok()?;
        let fields = schema.get("properties").and_then(Value::as_object).cloned();
        let fields = fields.unwrap_or_default();
        let is_short = fields.len() <= max_questions;
        let (asked, unasked): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(name, _)| is_short || is_required(&schema, name));
        let message = format!("The MCP server `{server}` asks: {message}");
        (asked.len() <= max_questions).then_some(Self { message, schema, asked, unasked })
    }

    /// Asks the user for the values; `None` if he declines.
    async fn filled(&self, asked: &mpsc::Sender<ServerQuestion>) -> Option<Value> {
        let default =
            |(name, field): (&String, &Value)| Some((name.clone(), field.get("default")?.clone()));
        let mut values: Map<String, Value> = self.unasked.iter().filter_map(default).collect();
        if !self.asked.keys().any(|name| self.is_needed(name)) {
            // Nothing else could be declined.
            let text = format!("{} · do you answer? (yes or no)", self.message);
            let answer = put(asked, text, DECLINE.to_owned()).await?;
            if !matches!(answer.to_lowercase().as_str(), "y" | "yes") {
                return None;
            }
        }
        for (name, field) in &self.asked {
            if let Some(value) = self.value(asked, name, field).await? {
                values.insert(name.clone(), value);
            }
        }
        let values = Value::Object(values);
        check_arguments(&self.schema, &values).is_ok().then_some(values)
    }

    /// Returns true if an empty answer would leave the form incomplete.
    fn is_needed(&self, name: &str) -> bool {
        let has_default = |field: &Value| field.get("default").is_some();
        is_required(&self.schema, name) && !self.asked.get(name).is_some_and(has_default)
    }

    /// Asks for one value, and once more after a wrong answer. The inner result is `None` if it is left out.
    async fn value(
        &self,
        asked: &mpsc::Sender<ServerQuestion>,
        name: &str,
        field: &Value,
    ) -> Option<Option<Value>> {
        let default = field.get("default");
        let if_empty = match default {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None if self.is_needed(name) => DECLINE.to_owned(),
            None => "it is left out".to_owned(),
        };
        let question = question(&self.message, name, field);
        let mut text = question.clone();
        for _ in 0..2 {
            let answer = put(asked, text, if_empty.clone()).await?;
            if answer.is_empty() {
                return if self.is_needed(name) { None } else { Some(default.cloned()) };
            }
            let said = value_of(&answer, field);
            let Err(why) = check_value(field, &said) else { return Some(Some(said)) };
            text = format!("{question}; the answer did not fit: {why}");
        }
        None
    }
}

/// What an empty answer means where a value is needed.
const DECLINE: &str = "you decline";

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|it| it == name))
}

/// Puts a question to the user. `None` if there is no user.
async fn put(
    asked: &mpsc::Sender<ServerQuestion>,
    text: String,
    if_empty: String,
) -> Option<String> {
    let (reply, answer) = oneshot::channel();
    asked.send(ServerQuestion { text, if_empty, reply }).await.ok()?;
    Some(answer.await.ok()??.trim().to_owned())
}

/// Checks one value.
fn check_value(field: &Value, value: &Value) -> Result<(), String> {
    let schema = json!({ "type": "object", "properties": { "value": field } });
    check_arguments(&schema, &json!({ "value": value }))
}

/// Returns the question for one value.
fn question(message: &str, name: &str, field: &Value) -> String {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    let mut question = format!("{message} · {name}");
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
                texts.push(format!("{} [{}]", question.text, question.if_empty));
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
                "The MCP server `tickets` asks: Who? · age (a number) [you decline]",
                "The MCP server `tickets` asks: Who? · kind (one of a, b) [it is left out]"
            ]
        );
    }

    #[tokio::test]
    async fn what_is_not_answered_or_does_not_fit_is_declined() {
        let age = || form(&json!({ "age": { "type": "integer" } }));
        for answers in [&[None][..], &[Some("")], &[Some("old"), Some("older")]] {
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
        let answers = [Some("old"), Some("42"), Some(" ")];
        let (result, questions) = answered(form(&properties), &answers).await;
        assert_eq!(result.content, Some(json!({ "age": 42, "kind": "x" })));
        assert!(
            questions[1].contains("the answer did not fit: /value: want integer"),
            "{questions:?}"
        );
        assert!(questions[2].ends_with("· kind [x]"), "{questions:?}");
        let many: Map<String, Value> =
            (0..9).map(|n| (format!("f{n}"), json!({ "type": "string" }))).collect();
        let mut many = Value::Object(many);
        many["age"] = json!({ "type": "integer" });
        let (result, questions) = answered(form(&many), &[Some("7")]).await;
        assert_eq!((result.content, questions.len()), (Some(json!({ "age": 7 })), 1));
    }

    #[tokio::test]
    async fn where_nothing_is_needed_the_user_says_first_whether_he_answers() {
        let properties =
            json!({ "kind": { "type": "string", "default": "x" }, "note": { "type": "string" } });
        let wanted = || json!({ "mode": "form", "message": "Who?", "requestedSchema": { "type": "object", "properties": properties } });
        let (result, questions) = answered(wanted(), &[Some("yes"), Some(""), Some("")]).await;
        assert!(questions[0].ends_with("Who? · do you answer? (yes or no) [you decline]"));
        assert_eq!(result.content, Some(json!({ "kind": "x" })));
        for no in [Some(""), Some("no"), None] {
            assert_eq!(answered(wanted(), &[no]).await.0.action, ElicitationAction::Decline);
        }
    }
}
