//! The dialogues of a crew. Roles that use the same model with the same settings share a dialogue, so what one has read
//! need not be sent again for the next. Pure.

use config::ModelRole;
use tools::redact::Redactor;

use crate::run::terms::Terms;
use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::Prompt;

/// One dialogue for each combination of model settings.
#[derive(Debug, Clone)]
pub struct DialoguesByModel {
    redactor: Redactor,
    dialogues: Vec<(ModelRole, Dialogue)>,
}

impl DialoguesByModel {
    /// Creates an empty set; `redactor` masks secrets in what is said.
    pub const fn new(redactor: Redactor) -> Self {
        Self { redactor, dialogues: Vec::new() }
    }

    /// Returns the dialogue with the model of `settings`, in its current state; a new one begins with `introduction`.
    pub fn with(&self, settings: &ModelRole, introduction: impl FnOnce() -> String) -> Dialogue {
        let known = self.dialogues.iter().find(|(with, _)| is_same(with, settings));
        let new = || Dialogue::new(introduction(), &self.redactor);
        known.map_or_else(new, |(_, dialogue)| dialogue.clone())
    }

    /// Stores the new state of a dialogue.
    pub fn keep(&mut self, settings: &ModelRole, dialogue: Dialogue) {
        match self.dialogues.iter_mut().find(|(with, _)| is_same(with, settings)) {
            Some((_, kept)) => *kept = dialogue,
            None => self.dialogues.push((settings.clone(), dialogue)),
        }
    }
}

/// Returns the system message of models that look by lines of text.
pub fn introduction(terms: &Terms) -> String {
    let (prompts, tokens) = (&terms.prompts, &terms.config.agent_loop.max_look_tokens);
    let common = prompts.render(Prompt::Common, &[]);
    let looks = prompts.render(Prompt::Looks, &[("tokens", tokens)]);
    format!("{}\n\n{}", common.trim_end(), looks)
}

/// Returns true if both settings share the provider's cache; the maximum answer length does not affect it.
fn is_same(one: &ModelRole, other: &ModelRole) -> bool {
    (&one.model, one.thinking) == (&other.model, other.thinking)
        && (!one.thinking || one.effort == other.effort)
}

#[cfg(test)]
mod tests {
    use config::Effort;

    use super::*;

    fn settings(model: &str, thinking: bool, max_output_tokens: u32) -> ModelRole {
        ModelRole { model: model.into(), thinking, effort: Effort::High, max_output_tokens }
    }

    #[test]
    fn roles_of_one_model_continue_one_dialogue() {
        let mut dialogues = DialoguesByModel::new(Redactor::default());
        let begins = || "You are".to_owned();
        let architect = settings("pro", false, 9);
        let mut said = dialogues.with(&architect, begins);
        said.say("hello");
        dialogues.keep(&architect, said.clone());
        assert_eq!(dialogues.with(&settings("pro", false, 5), begins), said);
        assert!(dialogues.with(&settings("pro", true, 9), begins).is_new());
        assert!(dialogues.with(&settings("flash", false, 9), begins).is_new());
    }
}
