//! Detects a closing quote, comment end or tag at the end of a hunk that the file never opened: it belongs to the text
//! around the diff. Pure.

use super::body::HunkLine;
use super::damaged_line::Damage;
use super::file_style::FileStyle;
use super::lines::show;
use super::refuse::Reason;

/// Pairs of opening and closing marks; a mark that ends with another one comes first.
const PAIRS: [[&[u8]; 2]; 7] = [
    [b"\"\"\"", b"\"\"\""],
    [b"'''", b"'''"],
    [b"/*", b"*/"],
    [b"<!--", b"-->"],
    [b"<![CDATA[", b"]]>"],
    [b"`", b"`"],
    [b"\"", b"\""],
];
/// The number of these pairs that texts for people also always use in pairs.
const IN_TEXTS: usize = 2;

/// Finds a line at the end of a hunk with a closing mark glued to it. The marks must be balanced in the file `before`,
/// and the file `after` must have one too many. `last` are the added lines that end hunks.
pub(super) fn glued(
    style: &FileStyle<'_>,
    [before, after]: [&[u8]; 2],
    last: &[(usize, HunkLine<'_>)],
) -> Option<(usize, Damage)> {
    if style.is_of(&["diff", "patch", "snap", "vim"]) {
        return None;
    }
    let end_in = |line: &HunkLine<'_>, mark: &str| {
        let has = format!("ends in `{mark}`, which closes nothing in the file");
        Damage::at(Reason::DamagedLine, line, &has)
    };
    if let Some((hunk, line, tag)) = glued_tag([before, after], last) {
        return Some((hunk, end_in(line, &tag)));
    }
    let pairs = if style.is_prose() { PAIRS.get(..IN_TEXTS) } else { Some(&PAIRS[..]) };
    pairs.unwrap_or_default().iter().find_map(|pair| {
        let [_, close] = pair;
        let is_it = |line: &HunkLine<'_>| {
            let text = line.text.trim_ascii_end();
            let rest = text.strip_suffix(*close).unwrap_or_default().trim_ascii();
            let is_fence = text.ends_with(b"``");
            let is_longest = PAIRS.iter().find(|[_, other]| text.ends_with(other)) == Some(pair);
            !rest.is_empty() && !is_fence && is_longest && excess(text, *pair) % 2 != 0
        };
        let (hunk, line) = last.iter().find(|(_, line)| is_it(line))?;
        if excess(before, *pair) != 0 || excess(after, *pair) != 1 {
            return None;
        }
        Some((*hunk, end_in(line, &show(close))))
    })
}

/// Finds a line at the end of a hunk with a glued closing tag, if the file had as many closing as opening tags and has
/// one more `after`.
fn glued_tag<'l, 'a>(
    [before, after]: [&[u8]; 2],
    last: &'l [(usize, HunkLine<'a>)],
) -> Option<(usize, &'l HunkLine<'a>, String)> {
    last.iter().find_map(|(hunk, line)| {
        let text = line.text.trim_ascii_end();
        let tag = text.get(memchr::memrchr(b'<', text)?..)?;
        let name = tag.strip_prefix(b"</")?.strip_suffix(b">")?;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
        let open = [b"<", name].concat();
        let is_lone = excess(before, [&open, tag]) == 0 && excess(after, [&open, tag]) == 1;
        let is_glued = text.len() > tag.len() && !name.is_empty() && name.iter().all(is_name);
        (is_glued && is_lone).then(|| (*hunk, line, show(tag)))
    })
}

/// Returns how many closing marks of a pair are left over in `text`; for identical marks, 0 or 1.
fn excess(text: &[u8], [open, close]: [&[u8]; 2]) -> isize {
    let count = |mark: &[u8]| memchr::memmem::find_iter(text, mark).count().cast_signed();
    if open == close { count(close) % 2 } else { count(close) - count(open) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if damage is found in the last line of `after`, which is added to `before`.
    fn is_found(name: &str, before: &str, after: &str) -> bool {
        let raw = format!("+{}", after.lines().last().unwrap());
        let last = [(0, HunkLine::read(raw.as_bytes(), 1))];
        let style = FileStyle::of(before.as_bytes(), name);
        glued(&style, [before.as_bytes(), after.as_bytes()], &last).is_some()
    }

    #[test]
    fn a_mark_that_closes_nothing_is_found() {
        for (name, before, after) in [
            ("a.py", "x = 1\n", "x = 2\"\"\"\n"),
            ("a.py", "\"\"\"Doc.\"\"\"\n", "\"\"\"Doc.\"\"\"\nx = 2'''\n"),
            ("a.md", "", "Some text.\"\"\"\n"),
            ("a.c", "/* a */\n", "/* a */\nint x; */\n"),
            ("a.html", "<!-- a -->\n", "<!-- a -->\n<p></p>-->\n"),
            ("a.py", "x = 1\n", "x = 2</answer>\n"),
            ("a.html", "<p>a</p>\n", "<p>a</p>\n<p>b</p></file>\n"),
            ("a.py", "", "x = 2]]>\n"),
            ("a.js", "f(`a`)\n", "f(`a`)\ng()`\n"),
            ("a.rs", "let a = \"b\";\n", "let a = \"b\";\nlet c = 1;\"\n"),
        ] {
            assert!(is_found(name, before, after), "{after}");
        }
    }

    #[test]
    fn a_mark_that_closes_something_is_left() {
        for (name, before, after) in [
            ("a.py", "", "def f():\n    \"\"\"Do it.\n\n    All of it.\"\"\"\n"),
            ("a.py", "x = 1\n", "x = 1\n\"\"\"\n"),
            ("a.py", "\"\"\"\nopen\n", "\"\"\"\nopen\"\"\"\n"),
            ("a.py", "x = 1\n", "x = 'say \"\"\" twice \"\"\"'\n"),
            ("a.c", "", "/* a\n   b */\n"),
            ("a.ts", "x\n", "x\nlet all = \"src/**/*.ts, lib/**/\"\n"),
            ("a.md", "", "A quote \"\nA `\n"),
            ("a.rs", "", "/// ```\n/// x\n/// ```\n"),
            ("a.rs", "let a = '\"';\n", "let a = '\"';\nlet b = \"c\"\n"),
            ("a.html", "", "<ul>\n<li>a</li></ul>\n"),
            ("a.html", "<p>\n", "<p>\na</p>\n"),
            ("a.tsx", "", "</>\n"),
            ("a.vim", "", "\" a remark, and a quote\"\n"),
            ("a.rs", "", "let a = '\"';\n"),
        ] {
            assert!(!is_found(name, before, after), "{after}");
        }
    }
}
