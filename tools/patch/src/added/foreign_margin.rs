//! Finds a mark that stands before, behind or around all lines that are added to a file, and belongs to none of them. Pure.

use super::file_habits::FileHabits;
use crate::answer::fence::Fence;
use crate::diff::gutter;
use crate::diff::hunk_lines::{HunkLine, added_lines};
use crate::diff::lines::lossy_text;
use crate::place::compare::indentation;

/// Marks that make a line a comment wherever it is: code behind them is switched off.
const COMMENTS: [&[u8]; 6] = [b"#", b"//", b"--", b";", b"%", b"'"];

/// Returns the first added line, if all of them have the same mark, with its description.
pub(super) fn found<'h, 'a>(
    habits: &FileHabits<'_>,
    bodies: &[&'h [HunkLine<'a>]],
) -> Option<(&'h HunkLine<'a>, String)> {
    let is_text = |line: &&HunkLine<'_>| !line.is_blank();
    let lines = || bodies.iter().flat_map(|body| body.iter());
    let added = || bodies.iter().flat_map(|body| added_lines(body)).filter(is_text);
    let first = added().next()?;
    if added().nth(1).is_none() || habits.is_prose() {
        return None;
    }
    let texts: Vec<&[u8]> = added().map(|line| line.text).collect();
    if is_numbered(&texts)
        && !lines().any(|line| line.is_old() && gutter::read(line.text).is_some())
    {
        return Some((first, "has a line number".to_owned()));
    }
    if habits.is_empty() && is_fenced(&texts) {
        return Some((first, "opens a fence around the whole file".to_owned()));
    }
    if texts.iter().all(|text| text.ends_with(b"\\n") && !text.ends_with(b"\\\\n")) {
        return Some((first, "ends in `\\n` written as text".to_owned()));
    }
    let mark = common_mark(&texts);
    let bare = COMMENTS.iter().any(|comment| mark.starts_with(comment));
    if mark.is_empty() || bare || habits.has_line_that_begins_with(mark) {
        return None;
    }
    // Behind the mark stands the indentation that the lines around have, or in a new file any.
    let indentations: Vec<&[u8]> =
        lines().filter(|line| line.is_old()).map(|line| indentation(line.text)).collect();
    let is_indented = |text: &&[u8]| {
        let behind = indentation(text.get(mark.len()..).unwrap_or_default());
        behind.len() > 1 && habits.is_empty()
            || !behind.is_empty() && indentations.contains(&behind)
    };
    let has =
        format!("begins with `{}`, like all added lines and no line of the file", lossy_text(mark));
    texts.iter().any(is_indented).then_some((first, has))
}

/// Returns what all lines begin with that is neither a word nor white space, with a space after it if all have one and
/// some line is not indented behind it.
fn common_mark<'t>(texts: &[&'t [u8]]) -> &'t [u8] {
    let Some((first, rest)) = texts.split_first() else { return b"" };
    let is_sign =
        |byte: &u8| !byte.is_ascii_alphanumeric() && !byte.is_ascii_whitespace() && *byte != b'_';
    let signs = first.iter().take_while(|byte| is_sign(byte)).count();
    let common = |text: &[u8]| first.iter().zip(text).take_while(|(a, b)| a == b).count();
    let len = rest.iter().map(|text| common(text)).min().unwrap_or(0).min(signs);
    let behind = |text: &&[u8]| text.get(len..).unwrap_or_default().to_vec();
    let has_space = |text: &&[u8]| behind(text).starts_with(b" ");
    let is_odd = |text: &&[u8]| indentation(&behind(text)).len() % 2 == 1;
    let space = len > 0 && texts.iter().all(has_space) && texts.iter().any(is_odd);
    first.get(..len + usize::from(space)).unwrap_or_default()
}

/// Returns true if all lines have ascending numbers before them, in the form in which files are shown.
fn is_numbered(texts: &[&[u8]]) -> bool {
    let numbers = || texts.iter().map(|text| gutter::read(text).map(|(number, _)| number));
    numbers().all(|number| number.is_some())
        && numbers().zip(numbers().skip(1)).all(|(number, next)| number < next)
}

/// Returns true if the lines are a single code block.
fn is_fenced(texts: &[&[u8]]) -> bool {
    let fence = texts.first().and_then(|line| Fence::opening(line));
    fence.zip(texts.last()).is_some_and(|(fence, line)| fence.is_closed_by(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::hunk_of;

    fn is_marked(name: &str, file: &str, hunk: &[&str]) -> bool {
        found(&FileHabits::of(file.as_bytes(), name), &[&hunk_of(hunk)]).is_some()
    }

    #[test]
    fn a_mark_before_the_indentation_of_all_added_lines_is_found() {
        let file = "def f():\n    x = 1\n";
        for mark in ["+", "+ ", "> ", "**", "\u{2022} ", "\u{2192} ", "| ", "- "] {
            let hunk = |mark: &str| {
                let added = [format!("+{mark}    y = 1"), format!("+{mark}z = f()")];
                is_marked("a.py", file, &[" def f():", "     x = 1", &added[0], &added[1]])
            };
            assert!(hunk(mark), "{mark}");
        }
        for added in [
            ["+    # one", "+    # two"],
            ["+# one", "+# two"],
            ["+#    y = 1", "+#    z = 1"],
            ["+- a", "+- b"],
            ["+.x,", "+.y {"],
            ["+    (a,", "+    (b,"],
        ] {
            assert!(
                !is_marked("a.py", file, &[" def f():", "     x = 1", added[0], added[1]]),
                "{added:?}"
            );
        }
        assert!(!is_marked("a.txt", file, &["     x = 1", "+>     y", "+> z"]), "a text");
        assert!(
            !is_marked("a.py", ">     x\n", &["     x = 1", "+>     y", "+> z"]),
            "the file has it"
        );
    }

    #[test]
    fn marks_throughout_a_new_file_are_found() {
        for added in [
            &["+   1| import os", "+   2| X = 1"][..],
            &["++def f():", "++    return 1"],
            &["+```python", "+import os", "+```"],
            &["+import os\\n", "+X = 1\\n"],
        ] {
            assert!(is_marked("a.py", "", added), "{added:?}");
        }
        for (name, added) in [
            ("a.md", &["+   1| import os", "+   2| X = 1"][..]),
            ("a.yml", &["+- a", "+- b"]),
            ("a.csv", &["+\"a\",1", "+\"b\",2"]),
            ("a.sh", &["+printf a\\\\n", "+printf b\\\\n"]),
        ] {
            assert!(!is_marked(name, "", added), "{added:?}");
        }
    }
}
