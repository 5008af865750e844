//! Recognizes which kind of project a command tests, by the commands in the table of kinds. Pure.

use config::{ProjectKind, TestCommand};

use super::derive::Kinds;

/// Returns the name of the kind of project whose tests a command runs, if it is a known test command. Options do not
/// matter, and further words may follow.
pub fn kind_of<'k>(command: &str, kinds: &'k Kinds) -> Option<&'k str> {
    let words = plain_words(command);
    let runs = |kind: &ProjectKind| forms(kind).any(|form| words.starts_with(&plain_words(&form)));
    kinds.iter().find(|(_, kind)| runs(kind)).map(|(name, _)| name.as_str())
}

/// Returns the commands that test a kind of project; of several joined ones, the last tests.
fn forms(kind: &ProjectKind) -> impl Iterator<Item = String> {
    let of_test = |test: &TestCommand| {
        let run = test.run.as_deref().unwrap_or_default();
        let last = run.rsplit(" && ").next().unwrap_or(run).to_owned();
        let named = test.scripts.iter().map(|script| last.replace("{script}", script)).collect();
        if test.scripts.is_empty() { vec![last] } else { named }
    };
    let forms = kind.tests.iter().flat_map(of_test).chain(kind.also.iter().cloned());
    forms.filter(|form| !form.is_empty())
}

/// Returns the words of a command that are no options.
fn plain_words(command: &str) -> Vec<&str> {
    command.split_whitespace().filter(|word| !word.starts_with('-')).collect()
}
