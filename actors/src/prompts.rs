//! The set of texts that a run says to models. A run records the set it begins with and keeps to it, so that it replays, and is
//! resumed, with the same texts whatever a later version is built with. Pure.
//!
//! A text names its variables as `{{name}}`. A value is inserted as it is, and what it contains is not looked into.
//! A trusted workspace may have texts of its own in place of those of the program.

mod prompt;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use thiserror::Error;

pub use self::prompt::Prompt;

/// A set of texts: those that are recorded or the workspace's own, and those of this version where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    own: BTreeMap<Prompt, String>,
    /// What the user asked for, which every text may name.
    user_input: Option<String>,
}

/// Variables that every text may name: the workspace's directory, and what the user asked for.
const EVERYWHERE: [&str; 2] = ["project_root", "user_input"];
/// Other names of variables, which a text may use where it has the second: what tools showed, and what came of the last step.
const ALSO: [(&str, &str); 2] = [("tool_summary", "shown"), ("last_step_outcome", "report")];

/// Why a text cannot take the place of the program's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PromptError {
    /// There is none of this name.
    #[error("there is no prompt `{0}`")]
    Unknown(String),
    /// Nothing could be inserted for a variable.
    #[error("the prompt `{name}` has no variable `{variable}`; it has {known}")]
    Variable {
        /// The prompt.
        name: String,
        /// The variable.
        variable: String,
        /// Those that it may name.
        known: String,
    },
}

impl Prompts {
    /// The texts of this version, with these of the workspace at `root` in the place of some, by name. Where that is goes into
    /// them at once, since it is another place when a run is driven again.
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

    /// The same for a request.
    #[must_use]
    pub fn for_request(&self, request: &str) -> Self {
        Self { own: self.own.clone(), user_input: Some(request.to_owned()) }
    }

    /// Whether a text is not that of this version.
    pub fn is_own(&self, prompt: Prompt) -> bool {
        self.own.contains_key(&prompt)
    }

    /// Reads a set of [`Self::to_record`]; `None` when it is not one.
    ///
    /// A text is not taken if it names a variable that this version does not know: nothing could be inserted for it.
    pub fn recorded(json: &str) -> Option<Self> {
        let mut texts: BTreeMap<String, String> = serde_json::from_str(json).ok()?;
        let taken = Prompt::ALL.into_iter().filter_map(|prompt| {
            let text = texts.remove(prompt.name())?;
            let known = may_name(prompt);
            let fits = variables(&text).all(|name| known.contains(&name));
            fits.then_some((prompt, text))
        });
        Some(Self { own: taken.collect(), user_input: None })
    }

    /// The whole set as JSON: names and texts.
    pub fn to_record(&self) -> String {
        let texts: BTreeMap<&str, &str> =
            Prompt::ALL.iter().map(|prompt| (prompt.name(), self.text(*prompt))).collect();
        // A map of texts has no form that could not be written.
        serde_json::to_string(&texts).unwrap_or_default()
    }

    /// A text with its variables filled in. One that no value is given for stays as it is.
    pub fn render(&self, prompt: Prompt, values: &[(&str, &dyn fmt::Display)]) -> String {
        let mut rendered = String::new();
        for piece in pieces(self.text(prompt)) {
            match piece {
                Piece::Text(text) => rendered.push_str(text),
                Piece::Variable(name) => {
                    let also = ALSO.iter().find(|(other, _)| *other == name).map(|(_, name)| *name);
                    let is_it = |given: &str| given == name || Some(given) == also;
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

    /// A text, its variables not filled in.
    pub fn text(&self, prompt: Prompt) -> &str {
        self.own.get(&prompt).map_or_else(|| prompt.built_in(), String::as_str)
    }
}

/// The variables that a text in the place of the program's may name.
pub fn may_name(prompt: Prompt) -> Vec<&'static str> {
    let mut known: Vec<&str> = variables(prompt.built_in()).collect();
    known.sort_unstable();
    known.dedup();
    let also = ALSO.iter().filter(|(_, name)| known.contains(name)).map(|(also, _)| *also);
    let also: Vec<&str> = also.chain(EVERYWHERE).collect();
    known.extend(also);
    known
}

/// The variables that a text names, in order.
pub fn variables(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Variable(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// A part of a text.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Cuts a text at its variables. Braces around anything but a name are text.
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
    fn values_are_inserted_as_they_are() {
        let rendered = Prompts::default()
            .render(Prompt::NeededFile, &[("path", &"{{why}} }} {{"), ("why", &"{{path}}")]);
        let text = "- {{why}} }} {{: {{path}}";
        assert_eq!(rendered, text);
    }

    #[test]
    fn a_set_is_read_as_it_was_recorded() {
        let other = json!({ "intent": "Say EDIT.", "no_longer_there": "{{x}}" }).to_string();
        let set = Prompts::recorded(&other).unwrap();
        assert_eq!(set.render(Prompt::Intent, &[]), "Say EDIT.");
        // What it lacks is that of this version.
        assert_eq!(set.render(Prompt::Analysis, &[]), Prompt::Analysis.built_in());
        let again = Prompts::recorded(&set.to_record()).unwrap();
        assert!(Prompt::ALL.iter().all(|prompt| again.text(*prompt) == set.text(*prompt)));
        assert_ne!(again.to_record(), Prompts::default().to_record());
        assert_eq!(Prompts::recorded("not a set"), None);
    }

    #[test]
    fn a_recorded_text_that_could_not_be_filled_in_is_not_taken() {
        let [fits, does_not] = ["At most {{max_files}}.", "At most {{files}}."].map(|text| {
            let set = Prompts::recorded(&json!({ "architect": text }).to_string()).unwrap();
            set.render(Prompt::Architect, &[("max_files", &7)])
        });
        assert_eq!(fits, "At most 7.");
        assert!(does_not.contains("At most 7 files") && !does_not.contains("{{"), "{does_not}");
    }

    #[test]
    fn texts_of_a_workspace_take_the_place_of_the_programs() {
        let with =
            |name: &str, text: &str| Prompts::with("/w", [(name.to_owned(), text.to_owned())]);
        let text = "In {{project_root}}, {{max_files}} files at most, for: {{user_input}}";
        let set = with("architect", text).unwrap().for_request("mend it");
        let rendered = set.render(Prompt::Architect, &[("max_files", &3)]);
        assert_eq!(rendered, "In /w, 3 files at most, for: mend it");
        assert!(set.is_own(Prompt::Architect) && !set.is_own(Prompt::Editor));
        // A request that looks like a variable is none.
        let set = with("intent", "{{user_input}}").unwrap().for_request("{{project_root}}");
        assert_eq!(set.render(Prompt::Intent, &[]), "{{project_root}}");
        let set = with("looked", "Seen: {{tool_summary}}").unwrap();
        assert_eq!(set.render(Prompt::Looked, &[("shown", &"all"), ("left", &1)]), "Seen: all");

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
    fn braces_without_end_take_no_longer_than_text() {
        let open = "{{a".repeat(200_000);
        let set = Prompts::recorded(&json!({ "intent": open }).to_string()).unwrap();
        assert_eq!(set.render(Prompt::Intent, &[]), open);
    }

    proptest! {
        #[test]
        fn nothing_of_a_text_is_lost(text in r"(\{|\}|a|_|B| |\n){0,40}") {
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
