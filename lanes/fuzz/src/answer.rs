//! Generates model answers from bytes: ASCII is kept, and every other byte becomes a piece that answers are made of.

use facts::grammar::contract::{ContractError, unmarked};

/// The pieces that answers are made of.
const PIECES: [&str; 51] = [
    "ARCHITECT_PLAN_V1\n",
    "ARCHITECT_PLAN_END\n",
    "TEAM_PLAN_V1\n",
    "TEAM_PLAN_END\n",
    "PLAN|",
    "FILE|",
    "SHOW|",
    "VERIFY|",
    "ACCEPT|",
    "NO_EDIT|true|",
    "LANE|",
    "OWN|",
    "AFTER|",
    "DELETE|",
    "MOVE|",
    "MODE|",
    "NEED_CONTEXT|",
    "NEED_SEARCH|",
    "NEED_SYMBOL|",
    "NEED_LIST|",
    "NEED_FILE|",
    "NEED_RUN|",
    "DONE|",
    "|",
    "\n",
    "```\n",
    "```text\n",
    "<think>\n",
    "</think>\n",
    "./",
    "../",
    ".git/",
    "src/lib.rs",
    "src/**",
    "*.rs",
    "a/",
    ":1-9",
    ":0-3",
    ":7,9-12",
    "01",
    "02",
    "03",
    "99",
    "cargo test",
    " && ",
    " || true",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
    "diff --git a/x b/x\n",
    "Sure, here it is.\n",
    "é\u{202e}",
    "\r\n",
];

/// Returns the answer that these bytes encode.
pub(crate) fn written(input: &[u8]) -> String {
    let mut text = String::new();
    for byte in input {
        match byte.checked_sub(0x80) {
            None => text.push(char::from(*byte)),
            Some(piece) => text.extend(PIECES.iter().cycle().nth(piece.into()).copied()),
        }
    }
    text
}

/// Checks that a refusal names a line of the answer and quotes it.
pub(crate) fn is_of(error: &ContractError, answer: &str) {
    assert!(!error.rule.is_empty(), "{error:?}");
    let line = answer.lines().nth(error.line - 1).unwrap_or_default().trim();
    assert!(line.contains(&error.text), "{error:?} does not quote {line:?}");
}

/// Returns the lines between the first `header` line after any reasoning and the `footer` line, and the lines above
/// them.
pub(crate) fn parts<'a>(
    answer: &'a str,
    header: &str,
    footer: &str,
) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut lines: Vec<&str> = answer.lines().map(unmarked).collect();
    let thought = lines.iter().rposition(|line| *line == "</think>").map_or(0, |at| at + 1);
    let rest = lines.split_off(thought);
    let said = || rest.iter().copied().filter(|line| !line.is_empty());
    let above = said().take_while(|line| *line != header).collect();
    let block = said().skip_while(|line| *line != header).skip(1);
    (above, block.take_while(|line| *line != footer).collect())
}

/// Counts the lines with this word before their first bar.
pub(crate) fn count(lines: &[&str], key: &str) -> usize {
    let has_it = |line: &&&str| line.split_once('|').is_some_and(|(before, _)| before == key);
    lines.iter().filter(has_it).count()
}
