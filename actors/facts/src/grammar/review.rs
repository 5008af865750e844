//! The review of a change: parses a model's findings, sorted by severity, and prepares the diff that the model reads.
//! Pure.

use std::fmt;

use index::is_generated;
use serde::{Deserialize, Serialize};
use tools::count::counted;
use tree::RepoPath;

use crate::grammar::contract::{
    Contract, ContractError, Leniency, text_of_line, without_dot_slash,
};

const CONTRACT: Contract = Contract { header: "REVIEW_V1", footer: "REVIEW_END" };

/// What is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewed {
    /// Uncommitted changes, including new files.
    Uncommitted,
    /// Changes staged in git's index.
    Staged,
    /// The output of `git diff` for these arguments.
    Range(String),
    /// The changes of the last request, as this diff.
    Made(String),
}

impl Reviewed {
    /// Parses the arguments of the review command; `None` if git would take them for an option.
    pub fn read(words: &str) -> Option<Self> {
        match words.trim() {
            "" => Some(Self::Uncommitted),
            "--staged" | "--cached" => Some(Self::Staged),
            range if range.starts_with('-') => None,
            range => Some(Self::Range(range.to_owned())),
        }
    }
}

impl fmt::Display for Reviewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncommitted => f.write_str("uncommitted changes"),
            Self::Staged => f.write_str("staged changes"),
            Self::Range(range) => f.write_str(range),
            Self::Made(_) => f.write_str("the changes of the last request"),
        }
    }
}

/// The severity of a finding, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Data loss, or a security hole.
    Critical,
    /// It does not do what it should.
    High,
    /// It fails in cases that occur now and then.
    Medium,
    /// It could be better.
    Low,
}

impl Severity {
    /// Returns the severity as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    fn read(word: &str) -> Option<Self> {
        let all = [Self::Critical, Self::High, Self::Medium, Self::Low];
        all.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(word))
    }
}

/// A problem with a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The file.
    pub path: RepoPath,
    /// Line number after the change, from one.
    pub line: usize,
    /// What is wrong, and how to fix it.
    pub text: String,
}

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// A sentence or two on the change, and whether it can be merged.
    pub summary: String,
    /// The findings, most severe first, then by path and line.
    pub findings: Vec<Finding>,
}

impl fmt::Display for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { severity, path, line, text } in &self.findings {
            writeln!(f, "{path}:{line}: {}: {text}", severity.name())?;
        }
        if !self.findings.is_empty() {
            writeln!(f)?;
        }
        f.write_str(&self.summary)
    }
}

impl Review {
    /// Returns true if an answer has the form of a review.
    pub fn is_formed(answer: &str) -> bool {
        CONTRACT.is_begun(answer)
    }

    /// Parses an answer. `lines_of` returns the number of lines in a file, or `None` if it does not exist.
    pub fn parse(
        answer: &str,
        lines_of: impl Fn(&RepoPath) -> Option<usize>,
    ) -> Result<(Self, Vec<Leniency>), ContractError> {
        let (mut findings, mut summary, mut tolerances) = (Vec::new(), Vec::new(), Vec::new());
        let block = CONTRACT.read(answer, |_, line| {
            let (word, rest) = line.split_once('|').unwrap_or((line, ""));
            match word {
                "FINDING" => findings.push(finding(rest, &lines_of, &mut tolerances)?),
                "SUMMARY" => summary.push(text_of_line(rest.trim(), "SUMMARY|<text>")?),
                _ => return Err("the block may have FINDING| and SUMMARY| lines only".to_owned()),
            }
            Ok(())
        })?;
        if summary.is_empty() {
            return Err(block.error_at_end("the review needs a SUMMARY| line".to_owned()));
        }
        findings.sort_by(|a: &Finding, b| {
            (a.severity, &a.path, a.line).cmp(&(b.severity, &b.path, b.line))
        });
        tolerances.extend(block.tolerances);
        Ok((Self { summary: summary.join(" "), findings }, tolerances))
    }
}

fn finding(
    rest: &str,
    lines_of: impl Fn(&RepoPath) -> Option<usize>,
    tolerances: &mut Vec<Leniency>,
) -> Result<Finding, String> {
    const FORM: &str = "FINDING|<severity>|<path>:<line>|<what is wrong>";
    let mut parts = rest.splitn(3, '|').map(str::trim);
    let mut next = || text_of_line(parts.next().unwrap_or_default(), FORM);
    let (severity, place, text) = (next()?, next()?, next()?);
    let severity = Severity::read(&severity)
        .ok_or("the severity is one of critical, high, medium, low".to_owned())?;
    let (path, line) = place.rsplit_once(':').ok_or(format!("the line must read {FORM}"))?;
    let path =
        RepoPath::parse(without_dot_slash(path, tolerances)).map_err(|error| error.to_string())?;
    // Of a range `3-7`, the first line counts.
    let line = line.split('-').next().unwrap_or_default();
    let line: usize = line.parse().map_err(|_| format!("the line must read {FORM}"))?;
    match lines_of(&path) {
        None => Err(format!("there is no file {path}")),
        Some(count) if line == 0 || line > count.max(1) => {
            Err(format!("{path} has {count} lines; name one of them as it is after the change"))
        }
        Some(_) => Ok(Finding { severity, path, line, text }),
    }
}

/// A diff as it is shown to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownDiff {
    /// The shown sections, with the new line number on each line of a hunk.
    pub text: String,
    /// The files that are shown.
    pub paths: Vec<String>,
    /// The files that are left out, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// Formats a diff for a model, file by file within `max_bytes`, leaving out files that may not be read and generated
/// files.
pub fn shown_diff(
    diff: &str,
    max_bytes: usize,
    may_read: impl Fn(&str) -> Result<(), String>,
) -> ShownDiff {
    let mut shown = ShownDiff::default();
    let mut readable = Vec::new();
    for section in sections(diff) {
        let path = path_of(section);
        match may_read(&path) {
            Ok(()) if is_generated(&path) => {
                shown.left_out.push((path, "generated file".to_owned()));
            }
            Ok(()) => readable.push((path, numbered(section))),
            Err(why) => shown.left_out.push((path, why)),
        }
    }
    // Fit as many files as possible, smallest first.
    let mut sizes: Vec<usize> = readable.iter().map(|(_, text)| text.len()).collect();
    sizes.sort_unstable();
    let mut left = max_bytes;
    let fits = |size: &&usize| left.checked_sub(**size).map(|rest| left = rest).is_some();
    let largest = sizes.iter().take_while(fits).last().copied().unwrap_or_default();
    for (path, text) in readable {
        if text.len() > largest || shown.text.len() + text.len() > max_bytes {
            let why = format!(
                "{} of diff, for which there is no room beside the others",
                counted(text.len(), "byte")
            );
            shown.left_out.push((path, why));
        } else {
            shown.text.push_str(&text);
            shown.paths.push(path);
        }
    }
    shown
}

/// Start of a file's section.
pub const FILE: &str = "diff --git ";

/// Splits a diff into sections, one per file.
fn sections(diff: &str) -> Vec<&str> {
    let mut begins: Vec<usize> = diff.match_indices(FILE).map(|(at, _)| at).collect();
    begins.retain(|at| *at == 0 || diff.as_bytes().get(at - 1) == Some(&b'\n'));
    let ends = begins.iter().skip(1).copied().chain([diff.len()]);
    begins.iter().zip(ends).filter_map(|(begin, end)| diff.get(*begin..end)).collect()
}

/// Returns the paths of the files in a diff, after the change.
pub fn paths_of(diff: &str) -> Vec<String> {
    sections(diff).into_iter().map(path_of).collect()
}

/// Returns the path of a section's file after the change.
fn path_of(section: &str) -> String {
    let head = section.lines().take_while(|line| !line.starts_with("@@"));
    let mut named = None;
    for line in head {
        let name = |prefix: &str| {
            let name = unquoted(line.strip_prefix(prefix)?);
            (name != "/dev/null").then(|| name.get(2..).unwrap_or(&name).to_owned())
        };
        named = name("+++ ").or_else(|| name("--- ")).or(named);
        if let Some(to) = line.strip_prefix("rename to ").or(line.strip_prefix("copy to ")) {
            return unquoted(to);
        }
    }
    let head = section.lines().next().unwrap_or_default();
    // Without another line that names the file, both names are the same.
    let both = head.strip_prefix(FILE).unwrap_or(head);
    named.unwrap_or_else(|| {
        let second = both.get(both.len() / 2 + 1..).unwrap_or_default();
        unquoted(second).get(2..).unwrap_or_default().to_owned()
    })
}

/// Returns a name as it is on the disk: git quotes a name with special characters, and ends one with a space by a tab.
fn unquoted(name: &str) -> String {
    let name = name.strip_suffix('\t').unwrap_or(name);
    let bytes = patch::unquote(name.as_bytes()).map(|(bytes, _)| bytes);
    bytes.map_or_else(|| name.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds the new line number to each line that exists after the change.
fn numbered(section: &str) -> String {
    let (mut text, mut number) = (String::new(), None);
    for line in section.lines() {
        if let Some(header) = line.strip_prefix("@@ ") {
            number = first_new_line(header);
        }
        match (&mut number, line.as_bytes().first()) {
            (Some(number), Some(b' ' | b'+')) => {
                text.push_str(&format!("{number:>5}| {line}\n"));
                *number += 1;
            }
            (Some(_), Some(b'-')) => text.push_str(&format!("     | {line}\n")),
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Returns the 3 of `-1,2 +3,4 @@ …`.
fn first_new_line(header: &str) -> Option<usize> {
    let new = header.split_whitespace().find_map(|word| word.strip_prefix('+'))?;
    new.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -8,2 +8,3 @@ fn f\n x\n-y\n+z\n+w\n@@ -20 +21,0 @@\n-gone\ndiff --git a/old.txt b/new name.txt\nsimilarity index 100%\nrename from old.txt\nrename to new name.txt\ndiff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -0,0 +1 @@\n+KEY=1\ndiff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";

    fn read(answer: &str) -> Result<Review, String> {
        let lines_of = |path: &RepoPath| (path.as_str() == "a.rs").then_some(9);
        let read = Review::parse(answer, lines_of);
        read.map(|(review, _)| review).map_err(|error| error.to_string())
    }

    #[test]
    fn findings_are_read_and_sorted_by_how_much_they_matter() {
        let answer = "REVIEW_V1\nFINDING|low|a.rs:9|name\nFINDING|High|./a.rs:3-4|off by one | at the end\nSUMMARY|Nearly.\nREVIEW_END";
        let review = read(answer).unwrap();
        let text = "a.rs:3: high: off by one | at the end\na.rs:9: low: name\n\nNearly.";
        assert_eq!(review.to_string(), text);
        assert_eq!(read("REVIEW_V1\nSUMMARY|Fine.\nREVIEW_END").unwrap().to_string(), "Fine.");
    }

    #[test]
    fn every_broken_rule_is_reported() {
        for (line, rule) in [
            ("FINDING|urgent|a.rs:1|x", "one of critical"),
            ("FINDING|low|a.rs|x", "must read FINDING|"),
            ("FINDING|low|a.rs:1|", "must read FINDING|"),
            ("FINDING|low|b.rs:1|x", "no file b.rs"),
            ("FINDING|low|a.rs:10|x", "has 9 lines"),
            ("FINDING|low|a.rs:0|x", "has 9 lines"),
            ("FINDING|low|../a.rs:1|x", "out of the workspace"),
            ("PLAN|x", "FINDING| and SUMMARY|"),
            ("FINDING|low|a.rs:1|x", "needs a SUMMARY|"),
        ] {
            let error = read(&format!("REVIEW_V1\n{line}\nREVIEW_END")).unwrap_err();
            assert!(error.contains(rule), "{line}: {error}");
        }
    }

    #[test]
    fn a_diff_is_shown_with_numbers_and_without_what_may_not_be_read() {
        let may_read = |path: &str| if path == ".env" { Err("secret".to_owned()) } else { Ok(()) };
        let all = shown_diff(DIFF, 10_000, may_read);
        assert_eq!(all.paths, ["a.rs", "new name.txt", "gone"]);
        assert_eq!(all.left_out, [(".env".to_owned(), "secret".to_owned())]);
        let hunk = "@@ -8,2 +8,3 @@ fn f\n    8|  x\n     | -y\n    9| +z\n   10| +w\n";
        assert!(all.text.contains(hunk), "{}", all.text);
        let lock = DIFF.replace("a.rs", "web/package-lock.json");
        let lock = shown_diff(&lock, 10_000, may_read).left_out;
        assert_eq!(lock[0], ("web/package-lock.json".to_owned(), "generated file".to_owned()));
        let some = shown_diff(DIFF, 200, may_read);
        assert_eq!(some.paths, ["new name.txt", "gone"], "as many files as fit");
        assert!(some.left_out.len() > 1);
    }

    #[test]
    fn names_are_read_as_git_quotes_them() {
        for (head, name) in [
            ("diff --git a/x b/y b/x b/y\nold mode 100644\nnew mode 100755\n", "x b/y"),
            ("diff --git \"a/t\\tb\" \"b/t\\tb\"\nnew file mode 100644\n", "t\tb"),
            ("diff --git a/a b/a\n--- a/a\n+++ \"b/\\\"q\\\" \\303\\251\"\n", "\"q\" é"),
            ("diff --git a/end b/end\n--- a/end \t\n+++ b/end \t\n", "end "),
            ("diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n", "b"),
        ] {
            assert_eq!(paths_of(head), [name], "{head}");
        }
    }

    #[test]
    fn a_range_that_looks_like_a_git_option_is_refused() {
        assert_eq!(Reviewed::read(" main..HEAD "), Some(Reviewed::Range("main..HEAD".to_owned())));
        assert_eq!(Reviewed::read("--staged"), Some(Reviewed::Staged));
        assert_eq!(Reviewed::read(""), Some(Reviewed::Uncommitted));
        assert_eq!(Reviewed::read("--output=/tmp/x"), None);
    }
}
