//! Detects added lines in wrong columns, in languages where the column has a meaning: Python and YAML. Pure.

use super::body::{HunkLine, Kind};
use super::file_style::FileStyle;

/// Extensions of files in which the indentation of a line has a meaning.
const KINDS: [&str; 4] = ["py", "pyi", "yaml", "yml"];
/// The quotes of multi-line strings, in which it has no meaning.
const QUOTES: [&[u8]; 2] = [b"\"\"\"", b"'''"];

/// Returns an added line in a wrong column, and a description of what is wrong.
pub(super) fn found<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    if !style.is_of(&KINDS) || style.is_empty() {
        return None;
    }
    let odd = odd(style, body).map(|line| {
        (line, "is indented by an odd number of spaces, unlike every line of the file")
    });
    let outside = || {
        let line = if style.is_of(&["py", "pyi"]) { outside_of_block(body) } else { None };
        line.map(|line| (line, "is not indented, but the line above opens a block"))
    };
    odd.or_else(outside).or_else(|| {
        let child = if style.is_of(&["yaml", "yml"]) { child_of_scalar(style, body) } else { None };
        child.map(|line| (line, "is in a column where it, or the line below, is not valid YAML"))
    })
}

/// Returns the first added line if all of them are indented by an odd number of spaces and no line of the file is.
fn odd<'h, 'a>(style: &FileStyle<'_>, body: &'h [HunkLine<'a>]) -> Option<&'h HunkLine<'a>> {
    let is_text = |line: &&HunkLine<'_>| !line.text.trim_ascii().is_empty();
    let mut added = body.iter().filter(|line| line.kind == Kind::Added).filter(is_text);
    let first = added.clone().next()?;
    let may_be_string = |line: &HunkLine<'_>| {
        QUOTES.iter().any(|quotes| memchr::memmem::find(line.text, quotes).is_some())
    };
    if !added.all(|line| column(line.text) % 2 == 1 && !is_remark(line.text))
        || body.iter().any(may_be_string)
    {
        return None;
    }
    let at = body.iter().position(|line| std::ptr::eq(line, first))?;
    let above = body.get(..at)?.iter().rev().filter(|line| line.is_new()).find(is_text);
    let behind = || body.get(at..)?.iter().filter(|line| line.kind == Kind::Context).find(is_text);
    let is_statement =
        above.is_some_and(|line| !goes_on(line.text)) || above.is_none() && behind().is_some();
    (is_statement && style.habits().odd == 0 && style.habits().spaced > 1).then_some(first)
}

/// Returns an added line of Python at the start of its column, directly below an indented line that opens a block.
fn outside_of_block<'h, 'a>(body: &'h [HunkLine<'a>]) -> Option<&'h HunkLine<'a>> {
    const OPENERS: [&[u8]; 9] =
        [b"if ", b"for ", b"while ", b"def ", b"class ", b"else:", b"elif ", b"try:", b"except "];
    let opens = |line: &HunkLine<'_>| {
        let text = line.text.trim_ascii();
        line.is_old()
            && column(line.text) > 0
            && text.ends_with(b":")
            && OPENERS.iter().any(|opener| text.starts_with(opener))
            && !goes_on(line.text)
    };
    let is_outside = |line: &HunkLine<'_>| {
        let is_text = line.text.first().is_some_and(u8::is_ascii_alphabetic);
        line.kind == Kind::Added && is_text && !QUOTES.iter().any(|it| line.text.starts_with(it))
    };
    let new: Vec<&HunkLine<'_>> = if body.iter().any(is_outside) {
        body.iter().filter(|it| it.is_new()).collect()
    } else {
        Vec::new()
    };
    let mut pairs = new.iter().zip(new.iter().skip(1));
    pairs.find(|(above, below)| opens(above) && is_outside(below)).map(|(_, below)| *below)
}

/// Returns an added line of YAML that is a key in a deeper column than the key with a value above it, or such a key
/// above a deeper one. A line of the file counts only if the answer has it in its column.
fn child_of_scalar<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    let is_text =
        |line: &&HunkLine<'_>| !line.text.trim_ascii().is_empty() && !is_remark(line.text);
    let new = || body.iter().filter(|line| line.is_new()).filter(is_text);
    let pairs = new().zip(new().skip(1));
    let mut added = pairs.filter(|(above, below)| [above.kind, below.kind].contains(&Kind::Added));
    let (above, below) = added.find(|(above, below)| {
        let parent = key_of(above.text).filter(|(_, value)| is_plain(value));
        let child = key_of(below.text);
        let is_deeper = parent.zip(child).is_some_and(|((parent, _), (child, _))| parent < child);
        let is_exact =
            |line: &HunkLine<'_>| line.kind == Kind::Added || style.has_exactly(line.text);
        is_deeper && is_exact(above) && is_exact(below)
    })?;
    Some(if below.kind == Kind::Added { below } else { above })
}

/// Returns the column of the key of a YAML line, behind any `- `, and its value.
fn key_of(line: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = line.trim_ascii_start();
    while let Some(item) = rest.strip_prefix(b"- ") {
        rest = item.trim_ascii_start();
    }
    let (key, value) = rest.split_at_checked(memchr::memchr(b':', rest)?)?;
    let is_key = !key.is_empty()
        && key.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(byte));
    let value = value.get(1..)?;
    let is_spaced = value.is_empty() || value.starts_with(b" ");
    (is_key && is_spaced).then_some((line.len() - rest.len(), value.trim_ascii()))
}

/// Returns true if the value of a key is a scalar that ends on its line, or a plain one.
fn is_plain(value: &[u8]) -> bool {
    value.first().is_some_and(|byte| !b"\"'|>&!{[*#".contains(byte))
}

fn column(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

fn is_remark(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
}

/// Returns true if the statement or value of a line may go on below, in any column.
fn goes_on(line: &[u8]) -> bool {
    let count = |bytes: &[u8]| line.iter().filter(|byte| bytes.contains(byte)).count();
    let text = line.trim_ascii_end();
    let is_open = text.last().is_some_and(|byte| b",\\|>-+".contains(byte));
    is_open || count(b"([{") > count(b")]}")
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    const PY: &str = "def f():\n    a()\n    b()\n    return 1\n";
    const YAML: &str = "a:\n  b: 1\n  c:\n    d: 2\n    e: 3\n";

    fn is_found(name: &str, file: &str, hunk: &str) -> bool {
        let lines: Vec<&[u8]> = hunk.lines().map(str::as_bytes).collect();
        found(&FileStyle::of(file.as_bytes(), name), &read_all(&lines, 1)).is_some()
    }

    #[test]
    fn lines_in_a_wrong_column_are_found() {
        for (name, file, hunk) in [
            ("a.py", PY, "     a()\n+     c()\n     b()"),
            ("a.py", PY, "     a()\n-    b()\n+   b(2)\n     return 1"),
            ("a.py", PY, "-    a()\n+     a(1)\n     b()"),
            ("a.py", PY, "     a()\n     if c:\n+d()\n     b()"),
            ("a.py", PY, "     a()\n+     if c:\n+         d()\n     b()"),
            ("a.yml", YAML, "     d: 2\n-    e: 3\n+   e: 4"),
            ("a.yml", YAML, "   c:\n-    d: 2\n+  d: 5\n     e: 3"),
            ("a.yaml", YAML, "   b: 1\n+    x: 2\n   c:"),
        ] {
            assert!(is_found(name, file, hunk), "{hunk}");
        }
    }

    #[test]
    fn lines_that_may_be_in_any_column_are_left() {
        for (name, file, hunk) in [
            ("a.py", PY, "     a()\n+    c()\n     b()"),
            ("a.py", PY, "-    a()\n+    a(1,\n+      2)\n     b()"),
            ("a.py", "x = f(1,\n    2)\n    # y\n", " x = f(1,\n+      3,\n     2)"),
            ("a.py", PY, "     a()\n+     # a remark\n     b()"),
            ("a.py", "def f():\n   a()\n   b()\n", "    a()\n+   c()\n    b()"),
            ("a.py", PY, "     a()\n+    t = \"\"\"\n+     x\n+    \"\"\"\n     b()"),
            ("a.py", PY, "     For example:\n+d()\n     b()"),
            ("a.py", PY, " if c:\n+    d()\n     b()"),
            ("a.py", PY, "     if (a,\n+b):\n     b()"),
            ("a.py", PY, "     if c:\n+# d()\n     b()"),
            ("a.rs", PY, "     a()\n+     c()\n     b()"),
            ("a.yml", YAML, "   c:\n+    x: 1\n     d: 2"),
            ("a.yml", YAML, "  b: 1\n+  x: 1\n c:"),
            ("a.yml", YAML, "    d: 2\n+    x: 1\n   e: 3"),
            ("a.yml", YAML, "   b: 1\n-  c:\n+  c: |\n+    x: 1\n     d: 2\n     e: 3"),
            ("a.yml", "- a: 1\n  b: 2\n- a: 3\n  b: 4\n", "   b: 2\n+- a: 5\n+  b: 6\n - a: 3"),
            ("a.yml", YAML, "   b: 1\n+  k: some text\n+    that goes on\n   c:"),
        ] {
            assert!(!is_found(name, file, hunk), "{hunk}");
        }
    }
}
