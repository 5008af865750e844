//! What a model asks to see before it answers: parses `NEED_…` lines. Pure.
//!
//! They are the same for every role. The looks themselves are carried out elsewhere.

pub use toolbox::Look;
use toolbox::look_of;
pub(crate) use toolbox::ranged;
use tree::RepoPath;

use crate::grammar::contract::{
    ContractError, Leniency, is_of_an_answer, note, text_of_line, unmarked, without_dot_slash,
};

/// The looks of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks {
    /// In the order of the answer.
    pub looks: Vec<Look>,
    /// The deviations that were tolerated.
    pub tolerances: Vec<Leniency>,
}

/// Parses the looks of an answer; `None` if it does not end with one. Text before them is tolerated.
pub fn read_looks(answer: &str) -> Option<Result<Looks, ContractError>> {
    let is_look = |line: &str| line.starts_with("NEED_") && line.contains('|');
    // In a diff a line may begin with the mark of a list.
    let is_plain = answer.lines().any(|line| is_look(line.trim()) || is_of_an_answer(line.trim()));
    let bare = |line| if is_plain { str::trim(line) } else { unmarked(line) };
    let mut said = (1..).zip(answer.lines().map(bare)).filter(|(_, line)| is_said(line));
    let last = said.clone().last();
    if !last.is_some_and(|(_, line)| is_look(line)) {
        return None;
    }
    let mut tolerances = Vec::new();
    let mut looks = Vec::new();
    let is_fenced = answer.lines().any(|line| line.trim_start().starts_with("```"));
    tolerances.extend(is_fenced.then_some(Leniency::Fence));
    let read = said.try_for_each(|(number, line)| {
        if is_look(line) {
            let read = one(line, &mut tolerances);
            looks.extend(read.map_err(|rule| ContractError::at(number, line, rule))?);
        } else if is_of_an_answer(line) {
            let rule = "NEED_ lines stand alone: ask first, and answer when you have seen it";
            return Err(ContractError::at(number, line, rule.to_owned()));
        } else {
            note(&mut tolerances, Leniency::Preamble);
        }
        Ok(())
    });
    Some(read.map(|()| Looks { looks, tolerances }))
}

/// Returns true if a line has content.
fn is_said(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("```")
}

/// Parses the looks of one line; the error is the rule it breaks.
fn one(line: &str, tolerances: &mut Vec<Leniency>) -> Result<Vec<Look>, String> {
    let (word, rest) = line.split_once('|').unwrap_or((line, ""));
    let rest = rest.trim();
    let look = match word {
        "NEED_CONTEXT" => {
            return context(rest, "NEED_CONTEXT|<path>[:<first>-<last>]", tolerances);
        }
        "NEED_SEARCH" => {
            let (pattern, glob) = search(rest);
            let pattern = text_of_line(pattern, "NEED_SEARCH|<regular expression>[|<glob>]")?;
            Look::Search { pattern, glob: glob.map(str::to_owned) }
        }
        "NEED_SYMBOL" => Look::Symbol { name: text_of_line(rest, "NEED_SYMBOL|<name>")? },
        "NEED_LIST" => {
            let directory = match bare(rest, tolerances) {
                "" | "." => None,
                bare => Some(path(bare)?),
            };
            Look::List { directory }
        }
        "NEED_RUN" => Look::Run { command: text_of_line(rest, "NEED_RUN|<command>")? },
        "NEED_ANSWER" => {
            Look::Ask { question: text_of_line(rest, "NEED_ANSWER|<question to the user>")? }
        }
        "NEED_TOOL" => {
            let (name, arguments) = rest.split_once('|').unwrap_or((rest, ""));
            look_of(name.trim(), arguments).map_err(|bad| bad.to_string())?
        }
        _ => {
            let rule = "you may ask with NEED_CONTEXT|, NEED_SEARCH|, NEED_SYMBOL|, NEED_LIST|, NEED_RUN|, NEED_ANSWER| and NEED_TOOL| only";
            return Err(rule.to_owned());
        }
    };
    Ok(vec![look])
}

/// Parses a file, or several parts of it, from a line of the given form.
pub(crate) fn context(
    rest: &str,
    form: &str,
    tolerances: &mut Vec<Leniency>,
) -> Result<Vec<Look>, String> {
    let (target, ranges) = ranged(rest.trim().trim_end_matches('/'));
    if ranges.iter().any(|(first, last)| *first == 0 || last < first) {
        return Err("a range is one-based and reads first-last".to_owned());
    }
    let target = text_of_line(target.trim(), form)?;
    let path = path(bare(&target, tolerances))?;
    if ranges.is_empty() {
        return Ok(vec![Look::Context { path, lines: None }]);
    }
    let part = |lines| Look::Context { path: path.clone(), lines: Some(lines) };
    Ok(ranges.into_iter().map(part).collect())
}

/// A pattern may contain `|`: the text after the last one is a glob only if it looks like a path pattern. After a
/// backslash it is a character to find.
fn search(rest: &str) -> (&str, Option<&str>) {
    let is_glob = |glob: &str| {
        let is_word = |c: char| c.is_alphanumeric() || "._-/*?[]{},!".contains(c);
        glob.chars().all(is_word) && glob.contains(['.', '/', '*'])
    };
    match rest.rsplit_once('|') {
        Some((pattern, _)) if pattern.ends_with('\\') => (rest, None),
        Some((pattern, glob)) if is_glob(glob.trim()) && !glob.trim().is_empty() => {
            (pattern.trim(), Some(glob.trim()))
        }
        Some((pattern, "")) => (pattern.trim(), None),
        Some(_) | None => (rest, None),
    }
}

/// Strips the `./` before a path and the `/` after a directory.
fn bare<'a>(path: &'a str, tolerances: &mut Vec<Leniency>) -> &'a str {
    without_dot_slash(path, tolerances).trim_end_matches(|c: char| c == '/' || c.is_whitespace())
}

/// Parses a path in an answer. White space at its end is no part of it in the grammar, and `a /.` would end in it.
pub(crate) fn path(text: &str) -> Result<RepoPath, String> {
    let path = RepoPath::parse(text).map_err(|error| error.to_string())?;
    if path.as_str().ends_with(char::is_whitespace) {
        return Err("the path ends in white space".to_owned());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answer: &str) -> Vec<String> {
        read_looks(answer).unwrap().unwrap().looks.iter().map(ToString::to_string).collect()
    }

    fn rule(answer: &str) -> String {
        read_looks(answer).unwrap().unwrap_err().to_string()
    }

    #[test]
    fn files_with_and_without_ranges() {
        let answer = "NEED_CONTEXT|src/a.rs\n\nNEED_CONTEXT|./b.rs:3-400\nNEED_CONTEXT|odd:name\nNEED_CONTEXT|c:7\nNEED_CONTEXT|d:L1-L9, 20-30\nNEED_CONTEXT|e /:2-3";
        let expected = ["src/a.rs", "b.rs:3-400", "odd:name", "c:7-7", "d:1-9", "d:20-30", "e:2-3"];
        assert_eq!(asked(answer), expected);
    }

    #[test]
    fn searches_symbols_and_directories() {
        let answer = "NEED_SEARCH|fn (a|b)\nNEED_SEARCH|is_drained|crates/**/*.rs\nNEED_SEARCH|a|b\nNEED_SEARCH|a \\|\nNEED_SYMBOL|Cart::total\nNEED_LIST|src/\nNEED_LIST|.\nNEED_LIST|\nNEED_RUN|cargo test -- a | tail -3\nNEED_ANSWER|Which one?\nNEED_TOOL|git.show|{\"revision\":\"a|b\"}\nNEED_TOOL|git.status";
        let expected = [
            "`fn (a|b)`",
            "`is_drained` in crates/**/*.rs",
            "`a|b`",
            "`a \\|`",
            "symbol Cart::total",
            "src/",
            "./",
            "./",
            "`cargo test -- a | tail -3`",
            "question \"Which one?\"",
            "git show a|b",
            "git status",
        ];
        assert_eq!(asked(answer), expected);
    }

    #[test]
    fn text_before_and_fences_are_tolerated_and_noted() {
        let tolerances = |answer: &str| read_looks(answer).unwrap().unwrap().tolerances;
        assert_eq!(tolerances("```\nNEED_CONTEXT|a\n```"), [Leniency::Fence]);
        assert_eq!(tolerances("Let me look.\n\nNEED_CONTEXT|a"), [Leniency::Preamble]);
        assert!(tolerances("NEED_CONTEXT|a").is_empty());
        assert_eq!(tolerances("NEED_SYMBOL|a\nand\nNEED_SYMBOL|b"), [Leniency::Preamble]);
        let marked = "I need:\n- NEED_CONTEXT|a\n2. `NEED_CONTEXT|b`\n* **NEED_CONTEXT|c**";
        assert_eq!(asked(marked), ["a", "b", "c"]);
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n x\n- NEED_CONTEXT|a\n";
        assert_eq!(read_looks(diff), None);
    }

    #[test]
    fn looks_next_to_another_answer_are_refused() {
        for other in ["PLAN|add it", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", "DONE|it works"] {
            let mixed = rule(&format!("Let me see.\n{other}\nNEED_CONTEXT|a"));
            assert!(mixed.starts_with("line 2: ") && mixed.contains("ask first"), "{mixed}");
        }
    }

    #[test]
    fn an_answer_that_does_not_end_with_a_look_asks_for_nothing() {
        assert_eq!(read_looks("NEED_CONTEXT|a\nThat is all."), None);
        assert_eq!(read_looks(""), None);
        assert_eq!(read_looks("You could answer NEED_CONTEXT."), None);
    }

    #[test]
    fn every_broken_rule_quotes_its_line() {
        let zero = rule("NEED_CONTEXT|a\nNEED_CONTEXT|a:0-3");
        assert!(zero.starts_with("line 2: `NEED_CONTEXT|a:0-3`: ") && zero.contains("one-based"));
        assert!(rule("NEED_CONTEXT|a:9-3").contains("one-based"));
        assert!(rule("NEED_CONTEXT|../a").contains("out of the workspace"));
        assert!(rule("NEED_CONTEXT|a  /.").contains("ends in white space"));
        assert!(rule("NEED_CONTEXT|").contains("NEED_CONTEXT|<path>"));
        assert!(rule("NEED_SEARCH|").contains("NEED_SEARCH|<regular"));
        assert!(rule("NEED_WEB|deepseek").contains("only"));
        assert!(rule("NEED_RUN|").contains("NEED_RUN|<command>"));
        assert!(rule("NEED_TOOL|fs.write|{}").contains("no tool `fs.write`"));
        assert!(rule("NEED_TOOL|fs.read|{}").contains("it takes path"));
    }
}
