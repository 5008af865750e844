//! What is said to models is in prompt files, with exactly the variables that the code gives.

use std::collections::BTreeSet;

use actors::talk::prompts::{Prompt, variables};

use super::sources::sources;

#[test]
fn text_for_models_is_in_prompt_files() {
    for (path, code) in sources_of_roles() {
        for opening in [".say(", "Dialogue::new("] {
            for argument in code.split(opening).skip(1) {
                let argument = argument.trim_start_matches(|c: char| c.is_whitespace() || c == '&');
                let text =
                    ["\"", "r\"", "r#", "format!", "concat!", "include_str!", "String::from("];
                let literal = text.iter().any(|start| argument.starts_with(start));
                let line = argument.lines().next().unwrap_or_default();
                assert!(!literal, "{path} sends a literal instead of a prompt: {opening}{line}");
            }
        }
    }
}

#[test]
fn prompts_are_rendered_with_exactly_their_variables() {
    let mut used = BTreeSet::new();
    for (path, code) in sources_of_roles() {
        let mut before = "";
        for part in code.split("Prompt::") {
            let name = part.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let prompt = Prompt::ALL.into_iter().find(|prompt| format!("{prompt:?}") == name);
            if let Some(prompt) = prompt {
                let rendered = before.trim_end().ends_with(".render(");
                assert!(rendered, "{path} uses the prompt {name} without rendering it");
                let wants: BTreeSet<&str> = variables(prompt.built_in()).collect();
                assert_eq!(given(part), wants, "{path}: variables of the prompt {name}");
                used.insert(prompt);
            }
            before = part;
        }
    }
    let unused: Vec<_> = Prompt::ALL.iter().filter(|prompt| !used.contains(prompt)).collect();
    assert!(unused.is_empty(), "unused prompts: {unused:?}");
}

/// Returns the names of the variables in the code after a prompt's name: `, &[("name", …), …])`.
fn given(code: &str) -> BTreeSet<&str> {
    let values = code.split(']').next().unwrap_or_default();
    let strings = values.split("(\"").skip(1).filter_map(|rest| rest.split('"').next());
    strings.filter(|text| text.chars().all(|c| c.is_ascii_lowercase() || c == '_')).collect()
}

/// Returns the sources of the crates that send messages to models, without the prompts themselves.
fn sources_of_roles() -> Vec<(String, String)> {
    let crates = ["actors/", "lanes/", "orchestrator/"];
    let mut sources = sources();
    sources.retain(|(path, _)| {
        crates.iter().any(|krate| path.starts_with(krate))
            && !path.starts_with("actors/src/talk/prompts")
    });
    sources
}
