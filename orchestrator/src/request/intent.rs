//! Classifies a message of the user as an edit or a question, as earlier versions did: by a small model. Runs of theirs are
//! replayed and resumed.

use actors::calls::model_call::{CallError, Caller};
use actors::run::Run;
use actors::talk::Grammar;
use actors::talk::asking_user::ask_user_if_there;
use actors::talk::dialogue::Dialogue;
use actors::talk::prompts::{Prompt, Prompts};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::ContractError;
pub use facts::words::RequestIntent;
use model::AgentRole;

/// Asks the small model what `message` is; `before` describes the previous turn. `None` if it does not say.
pub(crate) async fn by_model(
    caller: Caller,
    before: Option<&str>,
    message: &str,
) -> Result<Option<RequestIntent>, CallError> {
    let prompts = caller.prompts();
    let mut dialogue = Dialogue::new(prompts.render(Prompt::Intent, &[]), &caller.run.redactor);
    let before = before.map_or(String::new(), |before| {
        prompts.render(Prompt::IntentBefore, &[("turn", &before)]) + "\n\n"
    });
    let asked =
        prompts.render(Prompt::IntentMessage, &[("before", &before), ("message", &message)]);
    dialogue.say(&asked);
    let caller = Caller { role: AgentRole::Intent, ..caller };
    let reply = caller.ask(&mut dialogue).await?;
    Ok(word(&reply.content))
}

/// What went wrong, if neither a model nor the user said what a request is.
pub(crate) const UNDECIDED: &str = "it could not be asked whether this is an edit or a question";

/// Asks the user what a message is, because the model could not be asked. `None` if the user does not say, or if no later
/// call would get an answer either.
pub(crate) async fn by_user(
    run: &Run,
    error: &CallError,
) -> Result<Option<RequestIntent>, JournalClosed> {
    let is_passing = matches!(error, CallError::Model(error) if !error.is_final());
    if !is_passing {
        return Ok(None);
    }
    let question = format!("{UNDECIDED} ({error}). Is it an edit? (yes or no)");
    let said = ask_user_if_there(run, AgentRole::Intent, &question).await?;
    Ok(said.and_then(|said| match said.to_lowercase().as_str() {
        "y" | "yes" | "edit" => Some(RequestIntent::Edit),
        "n" | "no" | "question" => Some(RequestIntent::Answer),
        _ => None,
    }))
}

/// Extracts the word from an answer.
fn word(answer: &str) -> Option<RequestIntent> {
    let words = answer.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let mut meant = words.filter_map(|word| match word.to_uppercase().as_str() {
        "EDIT" => Some(RequestIntent::Edit),
        "ANSWER" => Some(RequestIntent::Answer),
        _ => None,
    });
    let first = meant.next()?;
    // An answer that names both decides nothing.
    meant.all(|other| other == first).then_some(first)
}

/// The grammar of an answer to the user: any text that requests nothing.
pub(crate) struct Prose;

impl Grammar for Prose {
    type Answer = String;

    fn is_formed(&self, _: &str) -> bool {
        false
    }

    async fn read(&self, answer: &str) -> Result<Result<String, ContractError>, JournalClosed> {
        Ok(Ok(answer.to_owned()))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::AnswerRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        let ContractError { line, text, rule } = error;
        prompts.render(Prompt::DraftRefused, &[("line", line), ("text", text), ("rule", rule)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_found_in_verbose_answers() {
        for (answer, expected) in [
            ("EDIT", Some(RequestIntent::Edit)),
            ("answer.", Some(RequestIntent::Answer)),
            ("**EDIT**", Some(RequestIntent::Edit)),
            ("The user reports a bug: EDIT", Some(RequestIntent::Edit)),
            ("EDIT or ANSWER", None),
            ("editing", None),
            ("I cannot tell", None),
            ("", None),
        ] {
            assert_eq!(word(answer), expected, "{answer}");
        }
    }
}
