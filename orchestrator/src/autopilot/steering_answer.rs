//! The answers of the steering model. Pure.

use facts::grammar::contract::{Contract, ContractError, text_of_line};

const CONTRACT: Contract = Contract { header: "AUTOPILOT_V1", footer: "AUTOPILOT_END" };
const FORM: &str =
    "NEXT|<step> and LATER|<step> lines, or the one line DONE|<what shows it> or STUCK|<why>";

/// An answer of the steering model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SteeringAnswer {
    /// The next step and the planned later ones.
    Next {
        /// The step.
        step: String,
        /// The steps planned after it.
        later: Vec<String>,
    },
    /// Nothing is left to do; with the evidence.
    Done(String),
    /// No step can make progress; with the reason.
    Stuck(String),
}

impl SteeringAnswer {
    /// Returns true if an answer has the form of one.
    pub(super) fn is_formed(answer: &str) -> bool {
        CONTRACT.is_begun(answer)
    }

    /// Parses an answer. If the command `until` decides when the task is done, DONE is refused.
    pub(super) fn read(answer: &str, until: Option<&str>) -> Result<Self, ContractError> {
        let (mut next, mut later, mut end) = (None, Vec::new(), None);
        let block = CONTRACT.read(answer, |_, line| {
            let (key, text) = line.split_once('|').unwrap_or((line, ""));
            let text = text_of_line(text.trim(), FORM)?;
            match key {
                "NEXT" if next.is_none() => next = Some(text),
                "LATER" => later.push(text),
                "DONE" => end = Some(Self::Done(text)),
                "STUCK" => end = Some(Self::Stuck(text)),
                _ => return Err(format!("between the two lines stand {FORM}")),
            }
            Ok(())
        })?;
        match (next, end) {
            (Some(step), None) => Ok(Self::Next { step, later }),
            (None, Some(Self::Done(_))) if let Some(command) = until => {
                Err(block.error_at_end(format!("`{command}` does not pass yet: NEXT or STUCK")))
            }
            (None, Some(end)) if later.is_empty() => Ok(end),
            (None | Some(_), _) => {
                Err(block.error_at_end(format!("between the two lines stand {FORM}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_steering_model_are_parsed() {
        let read = |lines: &str| {
            SteeringAnswer::read(&format!("AUTOPILOT_V1\n{lines}\nAUTOPILOT_END"), None)
        };
        let next = SteeringAnswer::Next { step: "a".to_owned(), later: vec!["b".to_owned()] };
        assert_eq!(read("NEXT|a\nLATER|b").unwrap(), next);
        assert_eq!(read("DONE|all passes").unwrap(), SteeringAnswer::Done("all passes".to_owned()));
        for broken in ["NEXT|a\nNEXT|b", "LATER|b", "NEXT|a\nDONE|x", "NEXT|", "hello", ""] {
            assert!(read(broken).is_err(), "{broken}");
        }
        let done = "AUTOPILOT_V1\nDONE|it works\nAUTOPILOT_END";
        let refused = SteeringAnswer::read(done, Some("make test")).unwrap_err();
        assert_eq!(refused.rule, "`make test` does not pass yet: NEXT or STUCK");
    }
}
