//! What the contracts for plans have in common: a block of lines between a header and a footer, and what is wrong with an
//! answer that breaks one. Pure.
//!
//! Three things are tolerated and recorded: one Markdown fence around the block, text before the header, and `./` before a
//! path. What the lines between may say is the business of each grammar.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::prompts::{Prompt, Prompts};

/// Characters of a line that an error quotes.
const QUOTED_CHARS: usize = 200;

/// What whoever wants to look once too often is told.
pub(crate) const NO_LOOK_LEFT: &str =
    "you cannot look again: answer now, in text, with what you know";

/// A departure from the grammar that was read all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leniency {
    /// The block stood in a Markdown fence.
    Fence,
    /// There was text before the header.
    Preamble,
    /// A path began with `./`.
    DotSlash,
}

/// What is wrong with an answer that breaks its contract.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("line {line}: `{text}`: {rule}")]
pub struct ContractError {
    /// One-based line of the answer.
    pub line: usize,
    /// The line, shortened.
    pub text: String,
    /// The rule it breaks.
    pub rule: String,
}

impl ContractError {
    /// A line, from one, that breaks a rule.
    pub fn at(line: usize, text: &str, rule: String) -> Self {
        Self { line, text: quoted(text), rule }
    }

    /// What an answer that was cut at its limit breaks.
    pub fn cut(max_tokens: u32) -> Self {
        let rule =
            format!("the answer was cut at {max_tokens} tokens: reason less and answer shorter");
        Self { line: 1, text: String::new(), rule }
    }

    /// What an answer without text breaks.
    pub fn empty() -> Self {
        let rule = "the answer was empty: no text came, at most reasoning or calls of tools that were not offered";
        Self { line: 1, text: String::new(), rule: rule.to_owned() }
    }

    /// What one look too many breaks.
    pub fn no_look_left(line: &str) -> Self {
        Self::at(1, line, NO_LOOK_LEFT.to_owned())
    }

    /// What the author of a plan is told.
    pub fn for_planner(&self, prompts: &Prompts) -> String {
        let Self { line, text, rule } = self;
        prompts.render(Prompt::PlanRefused, &[("line", line), ("text", text), ("rule", rule)])
    }
}

/// The two lines that a plan stands between.
#[derive(Debug, Clone, Copy)]
pub struct Contract {
    /// The line above it.
    pub header: &'static str,
    /// The line below it.
    pub footer: &'static str,
}

/// An answer whose block was read to its end.
#[derive(Debug)]
pub struct Block<'a> {
    lines: Vec<&'a str>,
    end: usize,
    /// How its form departed from the contract.
    pub tolerances: Vec<Leniency>,
}

impl Contract {
    /// Whether an answer has the block's header.
    pub fn is_begun(&self, answer: &str) -> bool {
        answer.lines().any(|line| line.trim() == self.header)
    }

    /// Finds the block in an answer and gives each of its lines to `read`, trimmed and with its index in the answer; empty
    /// lines are passed over. The first error ends it.
    pub fn read<'a>(
        &self,
        answer: &'a str,
        mut read: impl FnMut(usize, &'a str) -> Result<(), String>,
    ) -> Result<Block<'a>, ContractError> {
        let Self { header, footer } = *self;
        let lines: Vec<&str> = answer.lines().map(str::trim).collect();
        // What leaked of the reasoning is no part of the answer.
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
                "an answer is one thing, and this is not part of the block: nothing but the lines from {header} to {footer}"
            );
            return Err(error(&lines, at, rule));
        }
        let (fenced, tolerances) = before(lines.iter().copied().take(begin));
        let mut ended = None;
        for (at, line) in lines.iter().enumerate().skip(begin + 1) {
            match *line {
                "" => {}
                line if line == footer && ended.is_none() => ended = Some(at),
                "```" if ended.is_some() && fenced => {}
                _ if ended.is_some() => {
                    return Err(error(&lines, at, format!("nothing may follow {footer}")));
                }
                text => read(at, text).map_err(|rule| error(&lines, at, rule))?,
            }
        }
        let last = lines.len().saturating_sub(1);
        match ended {
            Some(end) => Ok(Block { lines, end, tolerances }),
            None => Err(error(&lines, last, format!("the plan must end with {footer}"))),
        }
    }
}

impl Block<'_> {
    /// What is wrong with the line at an index.
    pub fn error(&self, at: usize, rule: String) -> ContractError {
        error(&self.lines, at, rule)
    }

    /// What is wrong with the block as a whole.
    pub fn error_at_end(&self, rule: String) -> ContractError {
        self.error(self.end, rule)
    }
}

/// Whether a line belongs to an answer, so that it cannot be passed over as talk: a line of a plan, one that asks to see something,
/// the head of a block or of a diff.
pub fn is_of_an_answer(line: &str) -> bool {
    const KEYS: [&str; 10] =
        ["PLAN", "FILE", "SHOW", "VERIFY", "ACCEPT", "NO_EDIT", "LANE", "OWN", "AFTER", "DONE"];
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

/// Whether the block is in a fence, and what is tolerated of the lines above its header.
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

/// `text`, or the form its line should have had.
pub fn filled(text: &str, form: &str) -> Result<String, String> {
    if text.is_empty() { Err(format!("the line must read {form}")) } else { Ok(text.to_owned()) }
}

/// A path without the `./` before it, which is tolerated. As everywhere in a line, blanks around it are none of it.
pub fn without_dot_slash<'a>(path: &'a str, tolerances: &mut Vec<Leniency>) -> &'a str {
    let mut bare = path.trim_start();
    while let Some(rest) = bare.strip_prefix("./") {
        bare = rest.trim_start();
    }
    if bare.len() != path.len() && !tolerances.contains(&Leniency::DotSlash) {
        tolerances.push(Leniency::DotSlash);
    }
    bare
}

/// As much of a line as an error quotes, without the blanks around it.
pub fn quoted(line: &str) -> String {
    line.trim().chars().take(QUOTED_CHARS).collect()
}

fn error(lines: &[&str], at: usize, rule: String) -> ContractError {
    ContractError { line: at + 1, text: quoted(lines.get(at).copied().unwrap_or_default()), rule }
}
