//! Finds the command with which a README says that the project is tested. Pure.

use super::Kinds;
use super::site::Site;
use crate::project_kinds::kind_of;
use crate::proves_nothing::proves_nothing;

/// Documents that name it, best first.
const DOCUMENTS: &str = "{README.md,README.rst,README.txt,README,CONTRIBUTING.md}";

/// Returns the first test command that a document names, with its kind of project.
pub(super) fn named_in_readme<'k>(site: &Site<'_>, kinds: &'k Kinds) -> Option<(&'k str, String)> {
    let mut texts = site.texts(&[DOCUMENTS.to_owned()]).collect::<Vec<_>>().into_iter();
    texts.find_map(|text| {
        let known = |command: &str| Some((kind_of(command, kinds)?, command.to_owned()));
        let (kind, command) = code(&text).filter(|it| is_whole(it)).find_map(known)?;
        proves_nothing(&command).is_none().then_some((kind, command))
    })
}

/// Returns false for a command with placeholders or shell syntax, which cannot be used unchanged.
fn is_whole(command: &str) -> bool {
    !command.contains(['<', '[', '…', '{', '|', ';', '>', '&']) && !command.contains("...  ")
}

/// Returns the code in a Markdown text: inline code, and the lines of code blocks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let mut is_block = false;
    text.lines().flat_map(move |line| {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
            return Vec::new();
        }
        let indented = line.strip_prefix("    ").or_else(|| line.strip_prefix('\t'));
        if let Some(line) = indented.or(is_block.then_some(line)) {
            return vec![line.trim().trim_start_matches("$ ").trim_end_matches('\\')];
        }
        line.split('`').skip(1).step_by(2).map(str::trim).collect()
    })
}
