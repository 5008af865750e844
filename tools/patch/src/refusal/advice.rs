//! Advice on names that cannot be meant as they are written. Texts only: nothing is decided here.

use std::collections::BTreeSet;

use crate::diff::headers::{self, Name};
use crate::diff::lines::lossy_text;
use crate::diff::sections::Section;
use crate::names::resolve::{Known, candidates};
use crate::refusal::difference;
use tree::RepoPath;

/// Explains how to write two different names: as the only file that they can mean, or as a rename of the old one.
pub(crate) fn on_two_names(section: &Section<'_>, known: &Known<'_>) -> Option<String> {
    let [old, new] = [section.old.as_ref()?, section.new.as_ref()?];
    let [old, new] = [candidates(old).ok()?, candidates(new).ok()?];
    let meant = old.iter().chain(&new).flat_map(|path| [without_first(path), Some(path.clone())]);
    let meant: BTreeSet<RepoPath> = meant.flatten().filter(|path| known.has(path)).collect();
    let same = meant
        .first()
        .filter(|_| meant.len() == 1)
        .map(|path| format!("To change `{path}`, write `--- a/{path}` and `+++ b/{path}`."));
    let from = old.iter().find(|path| known.has(path));
    let to = new.first().filter(|path| known.may_change(path) && !new.iter().any(known.exists));
    let moved = from.zip(to).map(|(from, to)| {
        format!("To rename the file, write `diff --git a/{from} b/{to}`, `rename from {from}`, `rename to {to}`, and then the names and hunks.")
    });
    let told: Vec<String> = same.into_iter().chain(moved).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Explains how to write names with extra text around them: the only declared file that both contain is meant.
pub(crate) fn on_odd_names(section: &Section<'_>, known: &Known<'_>) -> Option<String> {
    let text = |name: &Option<Name>| match name {
        Some(Name::Path(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    };
    let names = [text(&section.old)?, text(&section.new)?];
    let has = |name: &str, path: &str| {
        let before = name.split(path).next().filter(|before| before.len() < name.len());
        before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let mut meant =
        known.declared?.iter().filter(|path| names.iter().all(|name| has(name, path.as_str())));
    let path = meant.next().filter(|_| meant.next().is_none())?;
    Some(format!(
        "A file header has nothing but the path: write `--- a/{path}` and `+++ b/{path}`."
    ))
}

/// Explains how to write the side that does not exist, if a name only resembles `/dev/null`.
pub(crate) fn on_null(section: &Section<'_>) -> Option<String> {
    let is_null = |name: &Option<Name>| match name {
        Some(Name::Path(bytes)) => {
            let bare = bytes.strip_prefix(b"a/").or(bytes.strip_prefix(b"b/")).unwrap_or(bytes);
            bare == b"dev/null" || bare.eq_ignore_ascii_case(b"nul")
        }
        _ => false,
    };
    let is_one = is_null(&section.old) || is_null(&section.new);
    is_one.then(|| "For a file that does not exist on one side, the name there is `/dev/null`, with nothing before it.".to_owned())
}

/// Explains why the names of a file were not found although the answer has them: there is no space in them, or something
/// between them.
pub(crate) fn on_lost_names(lines: &[&[u8]]) -> Option<String> {
    let name = |line: &[u8], sign: &[u8]| {
        let rest = line.strip_prefix(sign)?.trim_ascii_start();
        rest.first().filter(|byte| byte.is_ascii_alphanumeric() || **byte == b'/').copied()
    };
    let at = lines.iter().position(|line| name(line, b"---").is_some())?;
    let mut below = (at + 1..).zip(lines.iter().skip(at + 1));
    let (end, line) = below.find(|(_, line)| !line.trim_ascii().is_empty())?;
    name(line, b"+++")?;
    Some(format!(
        "Lines {} and {} have the names of a file: write `--- a/path` and directly below it `+++ b/path`, with a space after each sign.",
        at + 1,
        end + 1
    ))
}

/// Explains why an answer has no diff although it has a hunk header: something is before it.
pub(crate) fn on_gutter(lines: &[&[u8]]) -> Option<String> {
    lines.iter().enumerate().find_map(|(at, line)| {
        let start = memchr::memmem::find(line, b"@@ -").filter(|start| *start > 0)?;
        let is_header = headers::numbers(line.get(start..)?).is_some();
        let before = difference::cut(&lossy_text(line.get(..start)?), 1);
        is_header.then(|| format!(
            "In line {}, `{before}` is before `@@`: write nothing before the lines of a diff, and every line from its first column on.",
            at + 1
        ))
    })
}

/// Returns the path without its first directory.
fn without_first(path: &RepoPath) -> Option<RepoPath> {
    RepoPath::parse(path.as_str().split_once('/')?.1).ok()
}

#[cfg(test)]
mod tests {
    use crate::tests::testing::{Files, plan_of};

    /// Returns the note of the refusal of `answer`.
    fn note(answer: &str) -> String {
        let files = Files::default().file("f", "a\nb\nc\n");
        let refusal = plan_of(&files, &["f", "n"], answer).unwrap_err();
        refusal.mismatches[0].note.clone().unwrap_or_default()
    }

    const HUNK: &str = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";

    #[test]
    fn names_that_are_not_read_are_explained() {
        let blank = note(&format!("--- a/f\n\n+++ b/f\n\n{HUNK}--- a/n\n+++ b/n\n{HUNK}"));
        assert!(blank.starts_with("Lines 1 and 3 have the names"), "{blank:?}");
        let close = note(&format!("---a/f\n+++b/f\n{HUNK}"));
        assert!(close.starts_with("Lines 1 and 2 have the names"), "{close:?}");
        for name in ["a/dev/null", "dev/null", "NUL"] {
            let said = note(&format!("--- {name}\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"));
            assert!(said.contains("the name there is `/dev/null`"), "{name}: {said:?}");
        }
    }

    #[test]
    fn an_answer_behind_a_gutter_is_explained() {
        for gutter in ["  12 | ", "| ", "[12:00:00] INFO "] {
            let lines = format!("--- a/f\n+++ b/f\n{HUNK}");
            let answer: Vec<String> = lines.lines().map(|line| format!("{gutter}{line}")).collect();
            let said = note(&(answer.join("\n") + "\n"));
            assert!(said.contains(&format!("`{gutter}` is before `@@`")), "{gutter}: {said}");
        }
        assert_eq!(note("There is nothing to do.\n"), "");
    }

    #[test]
    fn what_is_never_closed_is_named() {
        let think = note(&format!("<think>\nHm.\n\n--- a/f\n+++ b/f\n{HUNK}"));
        assert!(think.contains("is never closed"), "{think}");
        let fence = note(&format!("```diff\n--- a/f\n+++ b/f\n{HUNK}```diff\n"));
        assert!(fence.contains("Line 8 opens a fence"), "{fence}");
        let hidden = note(&format!("\u{200b}--- a/f\n+++ b/f\n{HUNK}"));
        assert!(hidden.contains("U+200B"), "{hidden}");
    }
}
