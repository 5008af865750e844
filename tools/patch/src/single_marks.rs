//! Detects a mark on a single added line that other lines show to be foreign: it stands before the indentation that
//! they have, or around a text that otherwise resembles the line it replaces. Pure.

use super::body::{HunkLine, Kind};
use super::change_marks;
use super::file_style::FileStyle;
use super::leaked_marks;

/// Tags that emphasize text or mark it as changed.
const TAGS: [&[u8]; 10] =
    [b"ins", b"del", b"mark", b"font", b"span", b"b", b"u", b"em", b"strong", b"code"];
/// Marks that enclose a line.
const WRAPPERS: [&[u8]; 4] = [b"**", b"==", b"~~", b"`"];
/// Marks before quoted, entered or new lines.
const PREFIXES: [&[u8]; 5] = [b">>> ", b"> ", b"+", "→ ".as_bytes(), "» ".as_bytes()];
/// What separates a line from its number; the longest first.
const SEPARATORS: [&[u8]; 11] =
    [b" | ", b" |", b"| ", b"|", b": ", b":", b". ", b") ", b"\t", "→".as_bytes(), b" "];
/// The ways in which models write a line end as text.
const ENDS: [&[u8]; 4] = [b"\\r\\n", b"\\n", b"\\r", b"^M"];
/// Extensions of files whose lines may begin with a number.
const DATA: [&str; 7] = ["tsv", "tab", "csv", "out", "log", "dat", "bas"];
/// The maximum number of old lines of a hunk that are searched for a mark.
const LOOKED_AT: usize = 50;
/// The maximum number of lines between a line and those that it is compared with.
const NEARBY: usize = 200;
/// The minimum length of a text that can resemble another.
const MIN_LENGTH: usize = 4;

/// A mark, and the rest of its line.
struct Marked<'t> {
    inner: &'t [u8],
    has: &'static str,
    /// Returns true if another line has the mark as well.
    is_on: fn(&[u8]) -> bool,
    /// True if a replaced line alone tells that the mark is foreign.
    is_told_by_pair: bool,
}

/// Returns an added line with a mark that only it has, and a description of the mark.
pub(super) fn found<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    if !style.is_code() {
        return None;
    }
    let added = body.iter().enumerate().filter(|(_, line)| line.kind == Kind::Added);
    added.into_iter().find_map(|(at, line)| {
        let is_foreign = |mark: &Marked<'_>| {
            let nearby = body.iter().skip(at.saturating_sub(NEARBY)).take(2 * NEARBY);
            let mut old = nearby.filter(|line| line.is_old()).take(LOOKED_AT);
            let is_told = is_indented_alike(body, at, mark.inner)
                || mark.is_told_by_pair && replaces_alike(body, at, mark.inner);
            is_told && !old.any(|old| (mark.is_on)(old.text))
        };
        let mark = marks(style, line.text).find(is_foreign);
        let has = mark.map(|mark| mark.has).or_else(|| {
            let inner = before_end(line.text)?;
            replaces_alike(body, at, inner).then_some("ends in a line end written as text")
        });
        let has = has.or_else(|| {
            let is_remark = has_remark(line.text);
            is_remark.then_some("ends in an arrow and a remark that it is new")
        });
        has.map(|has| (line, has))
    })
}

/// Yields the marks that a line may begin with; most lines have none.
fn marks<'t>(style: &FileStyle<'_>, text: &'t [u8]) -> impl Iterator<Item = Marked<'t>> {
    let first = text.first().copied().unwrap_or_default();
    let enclosing = if b"*=~`<\"".contains(&first) { enclosed(style, text) } else { None };
    let leading = if first == b'>' || first == b'+' || first == b'\xe2' || first == b'\xc2' {
        prefixed(text)
    } else {
        None
    };
    enclosing.into_iter().chain(leading).chain(numbered(style, text))
}

fn enclosed<'t>(style: &FileStyle<'_>, text: &'t [u8]) -> Option<Marked<'t>> {
    let end = text.trim_ascii_end();
    if let Some(inner) = end.strip_prefix(b"\"") {
        let inner = inner.strip_suffix(b",").unwrap_or(inner).strip_suffix(b"\"")?;
        let (is_on, has): (fn(&[u8]) -> bool, _) =
            (|line| line.starts_with(b"\""), "is quoted together with its indentation");
        // Without escaped quotes, it may have become a string.
        let is_told_by_pair = memchr::memmem::find(inner, b"\\\"").is_some();
        let mut inner = inner;
        while let Some(rest) = inner.strip_prefix(b"\\t") {
            inner = rest;
        }
        return Some(Marked { inner, has, is_on, is_told_by_pair });
    }
    if let Some(inner) = WRAPPERS.iter().find_map(|mark| within(end, mark)) {
        let is_on: fn(&[u8]) -> bool = |line| WRAPPERS.iter().any(|mark| line.starts_with(mark));
        let is_told_by_pair = inner.iter().any(|byte| b"=;{}()".contains(byte));
        return Some(Marked {
            inner,
            has: "is enclosed in Markdown marks",
            is_on,
            is_told_by_pair,
        });
    }
    let rest = end.strip_prefix(b"<")?;
    let name = rest.get(..rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count())?;
    let inner = rest.get(memchr::memchr(b'>', rest)? + 1..)?;
    let inner = inner.strip_suffix(b">")?.strip_suffix(name)?.strip_suffix(b"</")?;
    let is_on: fn(&[u8]) -> bool = |line| line.starts_with(b"<");
    let has = "is enclosed in tags that mark a change";
    let is_told_by_pair = !style.is_markup();
    TAGS.contains(&name).then_some(Marked { inner, has, is_on, is_told_by_pair })
}

fn within<'t>(text: &'t [u8], mark: &[u8]) -> Option<&'t [u8]> {
    text.strip_prefix(mark)?.strip_suffix(mark)
}

fn prefixed(text: &[u8]) -> Option<Marked<'_>> {
    let inner = PREFIXES.iter().find_map(|mark| text.strip_prefix(*mark))?;
    // A diff in a text has other markers as well.
    let is_on: fn(&[u8]) -> bool = |line| {
        let is_marker = line.first().is_some_and(|byte| b"-+@>".contains(byte));
        is_marker || PREFIXES.iter().any(|mark| line.starts_with(mark))
    };
    Some(Marked { inner, has: "has a mark before its text", is_on, is_told_by_pair: true })
}

/// Yields the ways to read a line as a number, a separator and a text.
fn numbered<'t>(style: &FileStyle<'_>, text: &'t [u8]) -> impl Iterator<Item = Marked<'t>> {
    let trimmed = text.trim_ascii_start();
    let digits = trimmed.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = (1..7).contains(&digits) && !trimmed.starts_with(b"0");
    let rest = trimmed.get(digits..).filter(|_| is_number && !style.is_of(&DATA));
    let is_on: fn(&[u8]) -> bool =
        |line| line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    let inner = SEPARATORS.iter().filter_map(move |mark| rest?.strip_prefix(*mark));
    let has = "has a line number";
    // A value may begin with a number.
    let is_told_by_pair = !style.is_of(&["yaml", "yml", "json"]);
    inner.map(move |inner| Marked { inner, has, is_on, is_told_by_pair })
}

/// Returns what precedes a line end that is written as text.
fn before_end(text: &[u8]) -> Option<&[u8]> {
    if !matches!(text, [.., b'\\' | b'^', b'n' | b'r' | b'M']) {
        return None;
    }
    ENDS.iter().find_map(|end| text.strip_suffix(*end)).filter(|inner| !inner.ends_with(b"\\"))
}

/// Returns true if a line ends in an arrow and a word for a change.
fn has_remark(text: &[u8]) -> bool {
    const WORDS: [&str; 7] =
        ["new", "added", "changed", "modified", "updated", "new line", "this line"];
    let has_arrow =
        || memchr::memchr(b'<', text).is_some() && memchr::memmem::find(text, b"<--").is_some();
    if text.is_ascii() && !has_arrow() {
        return false;
    }
    let text = std::str::from_utf8(text).unwrap_or_default();
    let remark = change_marks::remark_of(text).unwrap_or_default();
    let code = text.trim_end().strip_suffix(remark).unwrap_or_default();
    let is_of_arrow = |c: char| !c.is_alphanumeric();
    let remark = remark.trim_start_matches(is_of_arrow).to_lowercase();
    WORDS.contains(&remark.as_str()) && !leaked_marks::is_quoted(code.as_bytes())
}

/// Returns the white space at the start of a line.
fn indentation(text: &[u8]) -> &[u8] {
    text.get(..text.len() - text.trim_ascii_start().len()).unwrap_or_default()
}

/// Returns true if `inner`, of line `at`, is indented exactly as an old line next to it or one that it replaces.
fn is_indented_alike(body: &[HunkLine<'_>], at: usize, inner: &[u8]) -> bool {
    let own = indentation(inner);
    if own.len() == inner.len() || !(own.len() > 1 || own.starts_with(b"\t")) {
        return false;
    }
    let Some((above, below)) = body.split_at_checked(at) else { return false };
    let is_text = |line: &&HunkLine<'_>| line.is_old() && !line.text.trim_ascii().is_empty();
    let neighbours =
        [above.iter().rev().take(NEARBY).find(is_text), below.iter().take(NEARBY).find(is_text)];
    let mut neighbours = neighbours.into_iter().flatten().chain(replaced(body, at));
    neighbours.any(|line| indentation(line.text) == own)
}

/// Returns true if `inner`, of line `at`, resembles a line that it replaces: they begin alike, and half of the longer
/// one is the same, at its start and its end.
fn replaces_alike(body: &[HunkLine<'_>], at: usize, inner: &[u8]) -> bool {
    let new = inner.trim_ascii_end();
    replaced(body, at).any(|line| {
        let old = line.text.trim_ascii_end();
        let old = if indentation(new).is_empty() { old.trim_ascii_start() } else { old };
        let start = same_start(old, new);
        let rest = old.len().min(new.len()) - start;
        let ends = old.iter().rev().zip(new.iter().rev()).take(rest);
        let end = ends.take_while(|(a, b)| a == b).count();
        let is_begun_alike = start > indentation(new).len() + 1;
        let longer = old.len().max(new.len());
        // White space alone, or the mark on an unchanged line, is no difference to judge by.
        is_begun_alike && longer >= MIN_LENGTH && 2 * (start + end) >= longer
    })
}

/// Returns the length of the common start of two texts.
pub(super) fn same_start(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Yields the removed lines of the change that line `at` is part of.
pub(super) fn replaced<'h, 'a>(
    body: &'h [HunkLine<'a>],
    at: usize,
) -> impl Iterator<Item = &'h HunkLine<'a>> {
    let (above, below) = body.split_at_checked(at).unwrap_or_default();
    let is_change = |line: &&HunkLine<'_>| line.kind != Kind::Context;
    let above = above.iter().rev().take(NEARBY).take_while(is_change);
    let run = above.chain(below.iter().take(NEARBY).take_while(is_change));
    run.filter(|line| line.kind == Kind::Removed).take(LOOKED_AT)
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_marked(name: &str, hunk: &str) -> bool {
        let lines: Vec<&[u8]> = hunk.lines().map(str::as_bytes).collect();
        found(&FileStyle::of(b"x\n", name), &read_all(&lines, 1)).is_some()
    }

    #[test]
    fn a_mark_before_the_indentation_of_its_neighbours_is_found() {
        for marked in [
            "**    y()**",
            "`    y()`",
            "<ins>    y()</ins>",
            "<mark>    y()</mark>",
            "\"    y()\",",
            "\"    y()\"",
            ">     y()",
            ">>>     y()",
            "+    y()",
            "→     y()",
            "12     y()",
            "12.     y()",
            "  12\t    y()",
            "  12 |     y()",
            "12|     y()",
            "12:     y()",
        ] {
            assert!(is_marked("a.py", &format!("     x()\n+{marked}\n     z()")), "{marked}");
            assert!(is_marked("a.py", &format!(" if a:\n-    x()\n+{marked}")), "{marked}");
            assert!(!is_marked("a.md", &format!("     x()\n+{marked}")), "{marked}");
            assert!(!is_marked("a.py", &format!(" x()\n+{marked}")), "{marked}");
        }
    }

    #[test]
    fn a_mark_around_what_replaces_a_line_is_found() {
        for marked in [
            "**x = f(2)**",
            "`x = f(2)`",
            "<ins>x = f(2)</ins>",
            "> x = f(2)",
            "+x = f(2)",
            "→ x = f(2)",
            "12 x = f(2)",
            "12. x = f(2)",
            "12| x = f(2)",
            "x = f(2)\\n",
            "x = f(2)\\r\\n",
            "x = f(2)\\r",
            "x = f(2)^M",
            "\"\\tx = f(\\\"b\\\")\",",
            "x = f(2)  <-- new",
            "x = f(2)   \u{2190} changed",
        ] {
            assert!(is_marked("a.py", &format!("-x = f(1)\n+{marked}")), "{marked}");
            let is_told = marked.ends_with('w') || marked.ends_with("ed");
            assert_eq!(is_marked("a.py", &format!("-call()\n+{marked}")), is_told, "{marked}");
        }
    }

    #[test]
    fn marks_that_may_be_meant_are_left() {
        for (name, hunk) in [
            ("a.py", "-Note well.\n+**Note well.**"),
            ("a.js", "-foo,\n-bar,\n+\"foo\",\n+\"bar\","),
            ("a.py", " -    a\n+    -    b\n++    c"),
            ("a.html", " <p>\n+<b>x</b>\n </p>"),
            ("a.html", "-x = f(1)\n+<b>x = f(1)</b>"),
            ("a.py", " 1    a\n+2    b\n 3    c"),
            ("a.csv", "-x,y\n+1 x,y"),
            ("a.yml", "-x: f\n+1: x: f"),
            ("a.js", "-say(a)\n+\"say(a)\","),
            ("a.c", "     x();\n+out:\n+    y();"),
            ("a.c", "-    x();\n+//    x();"),
            ("a.vim", " \"    a\n+\"    b\""),
            ("a.py", "     x = [\n+    \"    y\",\n     ]"),
            ("a.js", "     x(\n+    `y`,\n     )"),
            ("a.py", "-    **a,\n+    **b,"),
            ("a.sh", "-printf 'a'\n+printf a\\\\n"),
            ("a.sh", "-tr a b\n+tr -d \\\\n"),
            ("a.js", "-a + b\n++a"),
            ("a.c", "+while (x <-- y)"),
            ("a.py", "+x = 1  # <-- new"),
            ("a.py", "+f(\"x = 1  <-- new\", 2)"),
            ("a.py", "+f(\"x = 1  <-- new"),
        ] {
            assert!(!is_marked(name, hunk), "{hunk}");
        }
    }
}
