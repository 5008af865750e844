//! Recognizes which kind of project a command tests, by the commands in the table of kinds. Pure.

use config::{ProjectKind, TestCommand};

use crate::derive::Kinds;

/// Returns the name of the kind of project whose tests a command runs, if it is a known test command. Options do not
/// matter, and further words may follow.
pub fn kind_of<'k>(command: &str, kinds: &'k Kinds) -> Option<&'k str> {
    let words = plain_words(command);
    let runs = |kind: &ProjectKind| forms(kind).any(|form| words.starts_with(&plain_words(&form)));
    kinds.iter().find(|(_, kind)| runs(kind)).map(|(name, _)| name.as_str())
}

/// Returns the kind of project whose tests a command runs in a directory below its own, and that directory.
pub(super) fn kind_below<'k, 'c>(
    words: &'c [String],
    kinds: &'k Kinds,
) -> Option<(&'k str, &'c str)> {
    let of_test = |test: &TestCommand| {
        let form = test.below.as_deref()?;
        let forms = if test.scripts.is_empty() {
            vec![form.to_owned()]
        } else {
            test.scripts.iter().map(|script| form.replace("{script}", script)).collect()
        };
        forms.iter().find_map(|form| dir_in(words, form))
    };
    let mut kinds = kinds.iter();
    kinds.find_map(|(name, kind)| Some((name.as_str(), tests(kind).find_map(of_test)?)))
}

/// Returns the directory that stands for `{}` in a form that the words begin with.
fn dir_in<'c>(words: &'c [String], form: &str) -> Option<&'c str> {
    let form: Vec<&str> = form.split_whitespace().collect();
    let mut found = None;
    for (word, form) in words.iter().zip(&form) {
        match form.split_once("{}") {
            Some((before, after)) => {
                found = Some(word.strip_prefix(before)?.strip_suffix(after)?);
            }
            None if word != form => return None,
            None => {}
        }
    }
    found.filter(|_| words.len() >= form.len())
}

/// Returns the commands that test a kind of project; of several joined ones, the last tests.
fn forms(kind: &ProjectKind) -> impl Iterator<Item = String> {
    let of_test = |test: &TestCommand| {
        let run = test.run.as_deref().unwrap_or_default();
        let last = run.rsplit(" && ").next().unwrap_or(run).to_owned();
        let named = test.scripts.iter().map(|script| last.replace("{script}", script)).collect();
        if test.scripts.is_empty() { vec![last] } else { named }
    };
    let forms = tests(kind).flat_map(of_test).chain(kind.also.iter().cloned());
    forms.filter(|form| !form.is_empty())
}

/// Returns the commands of a kind of project that do nothing but test.
fn tests(kind: &ProjectKind) -> impl Iterator<Item = &TestCommand> {
    kind.tests.iter().filter(|test| !test.is_build)
}

/// Returns the words of a command that are no options.
fn plain_words(command: &str) -> Vec<&str> {
    command.split_whitespace().filter(|word| !word.starts_with('-')).collect()
}
