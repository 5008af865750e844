//! The common part of the plan contracts: a block of lines between a header and a footer, and the errors of an answer
//! that breaks one. Pure.
//!
//! Tolerated and recorded is what leaves the meaning certain: a Markdown fence around the block, prose around it, marks of a
//! list or of bold text, and `./` before a path. Each grammar defines the lines inside the block.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Maximum number of characters that an error quotes from a line.
const QUOTED_CHARS: usize = 200;

/// Tells a model that has no looks left.
pub const NO_LOOK_LEFT: &str = "no looks are left: answer now, in text, with what you know";

/// A deviation from the grammar that was tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leniency {
    /// The block was in a Markdown fence.
    Fence,
    /// There was prose before, between or after the lines.
    Preamble,
    /// A text went on in the next line.
    Continued,
    /// A path began with `./`.
    DotSlash,
    /// A path looked like that of a file, but was not the same.
    Alike,
}

/// How an answer breaks its contract.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("line {line}: `{text}`: {rule}")]
pub struct ContractError {
    /// Line number in the answer, from one.
    pub line: usize,
    /// The line, shortened.
    pub text: String,
    /// The rule that it breaks.
    pub rule: String,
}

impl ContractError {
    /// The error of a line, counted from one.
    pub fn at(line: usize, text: &str, rule: String) -> Self {
        Self { line, text: quoted_line(text), rule }
    }

    /// The error of an answer that was cut off at its limit.
    pub fn cut(max_tokens: u32) -> Self {
        let rule = format!(
            "the answer was cut at {max_tokens} tokens: reason less and answer more briefly"
        );
        Self { line: 1, text: String::new(), rule }
    }

    /// The error of an answer without text.
    pub fn empty() -> Self {
        let rule = "the answer has no text, only reasoning or calls of tools that were not offered, if anything";
        Self { line: 1, text: String::new(), rule: rule.to_owned() }
    }

    /// The error of a look when none is left.
    pub fn no_look_left(line: &str) -> Self {
        Self::at(1, line, NO_LOOK_LEFT.to_owned())
    }
}

/// The lines that delimit a plan.
#[derive(Debug, Clone, Copy)]
pub struct Contract {
    /// The first line of the block.
    pub header: &'static str,
    /// The last line of the block.
    pub footer: &'static str,
}

/// An answer whose block was parsed completely.
#[derive(Debug)]
pub struct ContractBlock<'a> {
    lines: Vec<&'a str>,
    end: usize,
    /// The deviations that were tolerated.
    pub tolerances: Vec<Leniency>,
}

impl Contract {
    /// Returns true if an answer has the block's header.
    pub fn is_begun(&self, answer: &str) -> bool {
        answer.lines().any(|line| unmarked(line) == self.header)
    }

    /// Finds the block in an answer and passes each non-empty line to `read`, trimmed, with its index in the answer.
    /// Stops at the first error.
    pub fn read<'a>(
        &self,
        answer: &'a str,
        mut read: impl FnMut(usize, &'a str) -> Result<(), String>,
    ) -> Result<ContractBlock<'a>, ContractError> {
        let Self { header, footer } = *self;
        let lines: Vec<&str> = answer.lines().map(unmarked).collect();
        // Leaked reasoning is not part of the answer.
        let thought = lines.iter().rposition(|line| *line == "</think>").map_or(0, |at| at + 1);
        let rest = lines.get(thought..).unwrap_or_default();
        let Some(begin) = rest.iter().position(|line| *line == header).map(|at| thought + at)
        else {
            let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
            return Err(error(&lines, first, format!("the answer must have the line {header}")));
        };
        let above = || lines.iter().enumerate().take(begin).skip(thought);
        if let Some((at, _)) = above().find(|(_, line)| is_of_an_answer(line)) {
            let rule = format!(
                "this is not part of the block: answer only with the lines from {header} to {footer}"
            );
            return Err(error(&lines, at, rule));
        }
        let (fenced, mut tolerances) = before(lines.iter().copied().take(begin));
        let mut ended = None;
        for (at, line) in lines.iter().enumerate().skip(begin + 1) {
            match *line {
                "" => {}
                line if line == footer && ended.is_none() => ended = Some(at),
                "```" if ended.is_some() && fenced => {}
                text if ended.is_some() && is_of_an_answer(text) => {
                    return Err(error(&lines, at, format!("nothing may follow {footer}")));
                }
                _ if ended.is_some() => note(&mut tolerances, Leniency::Preamble),
                text => read(at, text).map_err(|rule| error(&lines, at, rule))?,
            }
        }
        let last = lines.len().saturating_sub(1);
        match ended {
            Some(end) => Ok(ContractBlock { lines, end, tolerances }),
            None => Err(error(&lines, last, format!("the plan must end with {footer}"))),
        }
    }
}

impl ContractBlock<'_> {
    /// Returns the error of the line at an index.
    pub fn error(&self, at: usize, rule: String) -> ContractError {
        error(&self.lines, at, rule)
    }

    /// Returns the error of the block as a whole.
    pub fn error_at_end(&self, rule: String) -> ContractError {
        self.error(self.end, rule)
    }
}

/// Returns true if a line belongs to an answer and must not be skipped as prose: a line of a plan or a look, or the
/// start of a block or diff.
pub fn is_of_an_answer(line: &str) -> bool {
    const KEYS: [&str; 17] = [
        "PLAN", "FILE", "SHOW", "VERIFY", "ACCEPT", "ASSUME", "RISK", "MORE", "NO_EDIT",
        "QUESTION", "LANE", "OWN", "AFTER", "DONE", "DELETE", "MOVE", "MODE",
    ];
    const BEGINNINGS: [&str; 8] = [
        "ARCHITECT_PLAN_",
        "TEAM_PLAN_",
        "diff --git ",
        "@@ ",
        "--- a/",
        "+++ b/",
        "*** Begin Patch",
        "<<<<<<< SEARCH",
    ];
    let key = line.split_once('|').map_or("", |(key, _)| key);
    KEYS.contains(&key)
        || key.starts_with("NEED_")
        || BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

/// Returns a line of an answer without the blanks around it, and without the marks of a list item, of bold text or of code.
pub fn unmarked(line: &str) -> &str {
    let line = line.trim();
    let item = line
        .strip_prefix(['-', '*', '•', '+'])
        .or_else(|| line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')']));
    let item = item.filter(|item| item.starts_with(' ')).unwrap_or(line).trim();
    let within = |mark: &str| item.strip_prefix(mark)?.strip_suffix(mark);
    let bare = within("**").or_else(|| within("`")).unwrap_or(item).trim();
    if bare != line && is_line(bare) { bare } else { line }
}

/// Notes a deviation once.
pub fn note(tolerances: &mut Vec<Leniency>, leniency: Leniency) {
    if !tolerances.contains(&leniency) {
        tolerances.push(leniency);
    }
}

/// Returns true if a line has the form of one of a plan or a look: a word in capital letters, and a `|` after it. The lines
/// around a plan are such words too.
pub fn is_line(line: &str) -> bool {
    let is_word = |word: &str| {
        word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            && word.contains(|c: char| c.is_ascii_uppercase())
    };
    match line.split_once('|') {
        Some((key, _)) => is_word(key),
        None => is_word(line) && line.contains("_PLAN_"),
    }
}

/// Returns whether the block is in a fence, and the deviations above its header.
fn before<'a>(lines: impl Iterator<Item = &'a str>) -> (bool, Vec<Leniency>) {
    let said: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let fenced = said.last().is_some_and(|line| line.starts_with("```"));
    let mut tolerances = Vec::new();
    if fenced {
        tolerances.push(Leniency::Fence);
    }
    if said.len() > usize::from(fenced) {
        tolerances.push(Leniency::Preamble);
    }
    (fenced, tolerances)
}

/// Returns `text`, or an error with the expected form of the line if it is empty.
pub fn text_of_line(text: &str, form: &str) -> Result<String, String> {
    if text.is_empty() { Err(format!("the line must read {form}")) } else { Ok(text.to_owned()) }
}

/// Strips the `./` before a path, which is tolerated, and the blanks around it.
pub fn without_dot_slash<'a>(path: &'a str, tolerances: &mut Vec<Leniency>) -> &'a str {
    let mut bare = path.trim_start();
    while let Some(rest) = bare.strip_prefix("./") {
        bare = rest.trim_start();
    }
    if bare.len() != path.len() {
        note(tolerances, Leniency::DotSlash);
    }
    bare
}

/// Returns the part of a line that an error quotes, trimmed.
pub fn quoted_line(line: &str) -> String {
    line.trim().chars().take(QUOTED_CHARS).collect()
}

fn error(lines: &[&str], at: usize, rule: String) -> ContractError {
    ContractError {
        line: at + 1,
        text: quoted_line(lines.get(at).copied().unwrap_or_default()),
        rule,
    }
}
