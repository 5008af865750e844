//! The prompts of a run. A run records its prompts when it starts and keeps them, so that it replays and resumes with
//! the same texts under any later version. Pure.
//!
//! A prompt names its variables as `{{name}}`. Values are inserted verbatim and not expanded again. A trusted workspace
//! may replace prompts of the program with its own.

mod prompt;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use thiserror::Error;

pub use self::prompt::Prompt;

/// A set of prompts: recorded ones or those of the workspace, with this version's as fallback.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    own: BTreeMap<Prompt, String>,
    /// The user's request, which every prompt may refer to.
    user_input: Option<String>,
}

/// Variables that every prompt may use: the workspace directory and the user's request.
const EVERYWHERE: [&str; 2] = ["project_root", "user_input"];
/// Aliases of variables: what the tools showed, and the outcome of the last step.
const ALSO: [(&str, &str); 2] = [("tool_summary", "shown"), ("last_step_outcome", "report")];

/// Why a prompt of a workspace cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PromptError {
    /// No prompt has this name.
    #[error("there is no prompt `{0}`")]
    Unknown(String),
    /// The prompt has no such variable.
    #[error("the prompt `{name}` has no variable `{variable}`; it has {known}")]
    Variable {
        /// The prompt.
        name: String,
        /// The unknown variable.
        variable: String,
        /// The variables that it may use.
        known: String,
    },
}

impl Prompts {
    /// Creates this version's set with some prompts replaced by those of the workspace at `root`, by name. The
    /// directory is inserted immediately, because a replay may run elsewhere.
    pub fn with(
        root: &str,
        texts: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, PromptError> {
        let mut own = BTreeMap::new();
        for (name, text) in texts {
            let prompt = Prompt::ALL.into_iter().find(|prompt| prompt.name() == name);
            let prompt = prompt.ok_or(PromptError::Unknown(name.clone()))?;
            let known = may_name(prompt);
            if let Some(variable) = variables(&text).find(|variable| !known.contains(variable)) {
                let (variable, known) = (variable.to_owned(), known.join(", "));
                return Err(PromptError::Variable { name, variable, known });
            }
            own.insert(prompt, text.replace("{{project_root}}", root));
        }
        Ok(Self { own, user_input: None })
    }

    /// Returns the set for a request.
    #[must_use]
    pub fn for_request(&self, request: &str) -> Self {
        Self { own: self.own.clone(), user_input: Some(request.to_owned()) }
    }

    /// Returns true if a prompt is not that of this version.
    pub fn is_own(&self, prompt: Prompt) -> bool {
        self.own.contains_key(&prompt)
    }

    /// Parses a set written by [`Self::to_record`]; `None` if it is not one.
    ///
    /// A prompt with a variable unknown to this version is skipped, since nothing could be inserted for it.
    pub fn from_record(json: &str) -> Option<Self> {
        let mut texts: BTreeMap<String, String> = serde_json::from_str(json).ok()?;
        let taken = Prompt::ALL.into_iter().filter_map(|prompt| {
            let text = texts.remove(prompt.name())?;
            let known = may_name(prompt);
            let fits = variables(&text).all(|name| known.contains(&name));
            fits.then_some((prompt, text))
        });
        Some(Self { own: taken.collect(), user_input: None })
    }

    /// Returns the whole set as JSON: names and texts.
    pub fn to_record(&self) -> String {
        let texts: BTreeMap<&str, &str> =
            Prompt::ALL.iter().map(|prompt| (prompt.name(), self.text(*prompt))).collect();
        // A map of strings always serializes.
        serde_json::to_string(&texts).unwrap_or_default()
    }

    /// Fills in the variables of a prompt. A variable without a value is left unchanged.
    pub fn render(&self, prompt: Prompt, values: &[(&str, &dyn fmt::Display)]) -> String {
        let mut rendered = String::new();
        for piece in pieces(self.text(prompt)) {
            match piece {
                Piece::Text(text) => rendered.push_str(text),
                Piece::Variable(name) => {
                    let is_pair = |(one, other): &(&str, &str), given: &str| {
                        (*one, *other) == (name, given) || (*one, *other) == (given, name)
                    };
                    let is_it =
                        |given: &str| given == name || ALSO.iter().any(|pair| is_pair(pair, given));
                    let user_input = self.user_input.as_ref().filter(|_| name == "user_input");
                    match (values.iter().find(|(given, _)| is_it(given)), user_input) {
                        (Some((_, value)), _) => write!(rendered, "{value}").unwrap_or_default(),
                        (None, Some(value)) => rendered.push_str(value),
                        (None, None) => rendered.extend(["{{", name, "}}"]),
                    }
                }
            }
        }
        rendered
    }

    /// Returns the text of a prompt without filling in its variables.
    pub fn text(&self, prompt: Prompt) -> &str {
        self.own.get(&prompt).map_or_else(|| prompt.built_in(), String::as_str)
    }
}

/// Returns the variables that a replacement for a prompt may use.
pub fn may_name(prompt: Prompt) -> Vec<&'static str> {
    let mut known: Vec<&str> = variables(prompt.built_in()).collect();
    let both = |(also, name): &(&'static str, &'static str)| {
        (known.contains(name) || known.contains(also)).then_some([*name, *also])
    };
    let aliases: Vec<&str> = ALSO.iter().filter_map(both).flatten().collect();
    known.retain(|name| !aliases.contains(name));
    known.sort_unstable();
    known.dedup();
    known.extend(aliases.into_iter().chain(EVERYWHERE));
    known
}

/// Returns the variables in a text, in order.
pub fn variables(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Variable(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// A piece of a prompt.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Splits a text at its variables. Braces around anything but a name are plain text.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut parts = text.split("{{");
    let first = parts.next().unwrap_or_default();
    let behind = parts.flat_map(|part| {
        let variable = part.split_once("}}").filter(|(name, _)| is_name(name));
        let (head, tail) = match variable {
            Some((name, rest)) => (Piece::Variable(name), rest),
            None => (Piece::Text("{{"), part),
        };
        [head, Piece::Text(tail)]
    });
    std::iter::once(Piece::Text(first)).chain(behind)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/prompts");

    #[test]
    fn every_file_is_a_prompt_and_every_prompt_a_file() {
        let names = fs::read_dir(DIR).unwrap().map(|entry| entry.unwrap().file_name());
        let files: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
        let prompts = Prompt::ALL.map(|prompt| format!("{}.md", prompt.name()));
        assert_eq!(files, BTreeSet::from(prompts));
        for prompt in Prompt::ALL {
            let file = fs::read_to_string(format!("{DIR}/{}.md", prompt.name())).unwrap();
            let (name, text) = (prompt.name(), prompt.built_in());
            assert_eq!(file, format!("{text}\n"), "{name}");
            assert!(!text.is_empty() && !text.ends_with('\n') && !text.starts_with('\n'), "{name}");
        }
    }

    #[test]
    fn values_are_inserted_verbatim() {
        let rendered = Prompts::default()
            .render(Prompt::NeededFile, &[("path", &"{{why}} }} {{"), ("why", &"{{path}}")]);
        let text = "- {{why}} }} {{: {{path}}";
        assert_eq!(rendered, text);
    }

    #[test]
    fn a_set_is_read_as_it_was_recorded() {
        let other = json!({ "intent": "Say EDIT.", "no_longer_there": "{{x}}" }).to_string();
        let set = Prompts::from_record(&other).unwrap();
        assert_eq!(set.render(Prompt::Intent, &[]), "Say EDIT.");
        // A missing prompt falls back to that of this version.
        assert_eq!(set.render(Prompt::Analysis, &[]), Prompt::Analysis.built_in());
        let again = Prompts::from_record(&set.to_record()).unwrap();
        assert!(Prompt::ALL.iter().all(|prompt| again.text(*prompt) == set.text(*prompt)));
        assert_ne!(again.to_record(), Prompts::default().to_record());
        assert_eq!(Prompts::from_record("not a set"), None);
    }

    #[test]
    fn a_recorded_prompt_with_an_unknown_variable_is_skipped() {
        let [fits, does_not] = ["At most {{max_files}}.", "At most {{files}}."].map(|text| {
            let set = Prompts::from_record(&json!({ "architect": text }).to_string()).unwrap();
            set.render(Prompt::Architect, &[("max_files", &7)])
        });
        assert_eq!(fits, "At most 7.");
        assert!(
            does_not.contains("at most 7 without places") && !does_not.contains("{{"),
            "{does_not}"
        );
    }

    #[test]
    fn prompts_of_a_workspace_replace_those_of_the_program() {
        let with =
            |name: &str, text: &str| Prompts::with("/w", [(name.to_owned(), text.to_owned())]);
        let text = "In {{project_root}}, {{max_files}} files at most, for: {{user_input}}";
        let set = with("architect", text).unwrap().for_request("mend it");
        let rendered = set.render(Prompt::Architect, &[("max_files", &3)]);
        assert_eq!(rendered, "In /w, 3 files at most, for: mend it");
        assert!(set.is_own(Prompt::Architect) && !set.is_own(Prompt::Editor));
        // A request that looks like a variable is not expanded.
        let set = with("intent", "{{user_input}}").unwrap().for_request("{{project_root}}");
        assert_eq!(set.render(Prompt::Intent, &[]), "{{project_root}}");
        let set = with("looked", "Seen: {{tool_summary}}").unwrap();
        assert_eq!(
            set.render(Prompt::Looked, &[("tool_summary", &"all"), ("left", &1)]),
            "Seen: all"
        );

        assert_eq!(with("architekt", ""), Err(PromptError::Unknown("architekt".to_owned())));
        let error = with("architect", "{{files}}").unwrap_err().to_string();
        let wanted = "the prompt `architect` has no variable `files`; it has max_files, project_root, user_input";
        assert_eq!(error, wanted);
    }

    #[test]
    fn only_names_in_two_braces_are_variables() {
        let text = "{{a}} {b} {{c d}} {{}} {{{e}} {{f_g}} {{h";
        assert_eq!(variables(text).collect::<Vec<_>>(), ["a", "f_g"]);
    }

    #[test]
    fn unclosed_braces_take_no_longer_than_plain_text() {
        let open = "{{a".repeat(200_000);
        let set = Prompts::from_record(&json!({ "intent": open }).to_string()).unwrap();
        assert_eq!(set.render(Prompt::Intent, &[]), open);
    }

    proptest! {
        #[test]
        fn splitting_a_text_loses_nothing(text in r"(\{|\}|a|_|B| |\n){0,40}") {
            let put_together: String = pieces(&text)
                .map(|piece| match piece {
                    Piece::Text(text) => text.to_owned(),
                    Piece::Variable(name) => format!("{{{{{name}}}}}"),
                })
                .collect();
            prop_assert_eq!(put_together, text);
        }
    }
}
