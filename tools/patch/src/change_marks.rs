//! Detects marks that were put around code to show that it is new and were copied with it: the same mark on every added
//! line. Pure.

use super::body::{HunkLine, Kind};
use super::file_style::FileStyle;

/// Tags that mark text as changed, or colour it.
const TAGS: [&str; 5] = ["ins", "del", "mark", "font", "span"];
/// Extensions of files that contain only strings and other values.
const DATA: [&str; 4] = ["csv", "tsv", "json", "po"];
/// Marks before quoted, entered or new lines.
const PREFIXES: [&str; 3] = [">>> ", "> ", "+ "];

/// Returns a line of a hunk whose added lines all have the same mark, and a description of the mark.
pub(super) fn found<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    if !style.is_code() {
        return None;
    }
    let mut added = Vec::new();
    for line in body.iter().filter(|line| line.kind == Kind::Added) {
        let text = std::str::from_utf8(line.text).ok()?;
        if !text.trim().is_empty() {
            added.push((line, text));
        }
    }
    let every = |is_marked: &dyn Fn(&str) -> bool| added.iter().all(|(_, text)| is_marked(text));
    if let [(first, _), ..] = added[..]
        && every(&|it| it.starts_with("\u{1b}["))
        && !style.has_char('\u{1b}')
    {
        return Some((first, "begins with the escape code of a colour"));
    }
    let [(first, text), _, ..] = added[..] else { return None };
    let has = if wrapper_of(text).is_some_and(|mark| every(&|it| wrapper_of(it) == Some(mark))) {
        "is enclosed in Markdown marks"
    } else if !style.is_markup()
        && tag_of(text).is_some_and(|tag| every(&|it| tag_of(it) == Some(tag)))
    {
        "is enclosed in tags that mark a change"
    } else if PREFIXES.iter().any(|prefix| {
        let is_indented = |it: &str| it.starts_with(&format!("{prefix} "));
        every(&|it| it.starts_with(prefix)) && added.iter().any(|(_, it)| is_indented(it))
    }) {
        "has a mark before its text, as all added lines do"
    } else if every(&|it| it.ends_with("^M")) {
        "has a carriage return written as `^M`"
    } else if !style.is_of(&DATA)
        && is_list(&added.iter().map(|(_, text)| *text).collect::<Vec<_>>())
    {
        "is a string of a JSON list, as all added lines are"
    } else if every(&is_coloured) {
        "has the escape code of a colour"
    } else if has_arrow(&added.iter().map(|(_, text)| *text).collect::<Vec<_>>()) {
        "ends in an arrow and a remark, as all added lines do"
    } else if has_sign(style, &added.iter().map(|(_, text)| *text).collect::<Vec<_>>()) {
        "has a sign that all added lines have and the file does not"
    } else {
        return None;
    };
    Some((first, has))
}

/// Returns the Markdown mark that encloses a line: two stars, tildes or equal signs, or a backquote.
fn wrapper_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let mark = ["**", "==", "~~", "`"].into_iter().find(|mark| text.starts_with(mark))?;
    let inner = text.strip_prefix(mark)?.strip_suffix(mark)?;
    let is_text = !inner.trim_matches(|c| mark.contains(c)).is_empty();
    let is_text = is_text && (mark != "`" || !inner.contains(mark));
    is_text.then_some(mark)
}

/// Returns the tag that encloses a line.
fn tag_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let rest = text.strip_prefix('<')?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let is_closed = text.strip_suffix('>')?.strip_suffix(name)?.ends_with("</");
    (is_closed && TAGS.contains(&name)).then_some(name)
}

/// Returns true if all lines are the strings of a list, with commas and without indentation, and some strings contain
/// the indentation instead.
fn is_list(lines: &[&str]) -> bool {
    let string = |(at, text): (usize, &&str)| {
        let is_last = at + 1 == lines.len();
        let text = text.strip_prefix('"')?;
        text.strip_suffix("\",")
            .or_else(|| text.strip_suffix('"').filter(|_| is_last))
            .map(str::to_owned)
    };
    let strings: Option<Vec<String>> = lines.iter().enumerate().map(string).collect();
    strings.is_some_and(|strings| {
        strings.iter().any(|text| text.starts_with("  ") || text.starts_with('\t'))
    })
}

/// Returns true if a line begins and ends with colour codes that lost their escape character.
fn is_coloured(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('[') else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    rest.len() + 1 < text.len()
        && rest.starts_with('m')
        && (text.ends_with("[0m") || text.ends_with("[m"))
}

/// Returns true if all lines end in the same remark after an arrow, outside of a comment.
fn has_arrow(lines: &[&str]) -> bool {
    const ARROWS: [&str; 4] = ["<--", "\u{2190}", "\u{1f448}", "\u{21d0}"];
    let remark = |text: &str| {
        let at = ARROWS.iter().filter_map(|arrow| text.rfind(arrow)).min()?;
        let (code, remark) = text.split_at_checked(at)?;
        let is_comment = ["//", "#", "/*"].iter().any(|mark| code.contains(mark));
        (!is_comment && !code.trim().is_empty()).then(|| remark.to_owned())
    };
    let remarks: Vec<Option<String>> = lines.iter().map(|text| remark(text.trim_end())).collect();
    remarks.first().is_some_and(|first| first.is_some() && remarks.iter().all(|it| it == first))
}

/// Returns true if all lines begin, or end, with the same non-letter sign that the file does not have. Comments may.
fn has_sign(style: &FileStyle<'_>, lines: &[&str]) -> bool {
    let is_sign = |c: char| {
        let is_punctuation =
            matches!(u32::from(c), 0x2010..=0x2027 | 0x3000..=0x303f | 0xff00..=0xffef);
        let is_visible = !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
        is_visible && !is_punctuation || c == '\u{b}'
    };
    let is_comment =
        |text: &str| ["//", "#", "*", "/*", "--", ";"].iter().any(|mark| text.starts_with(mark));
    let of_all = |sign: fn(&str) -> Option<char>| {
        let signs: Vec<Option<char>> =
            lines.iter().map(|text| sign(text.trim_matches([' ', '\t', '\r']))).collect();
        let first = signs.first().copied().flatten();
        first.filter(|c| is_sign(*c) && signs.iter().all(|sign| *sign == first))
    };
    let found =
        of_all(|text| text.chars().next()).or_else(|| of_all(|text| text.chars().next_back()));
    found.is_some_and(|c| !style.has_char(c)) && !lines.iter().any(|text| is_comment(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_marked(name: &str, file: &str, added: &[&str]) -> bool {
        let lines: Vec<String> = added.iter().map(|line| format!("+{line}")).collect();
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        found(&FileStyle::of(file.as_bytes(), name), &read_all(&lines, 1)).is_some()
    }

    #[test]
    fn marks_on_every_added_line_are_found() {
        for added in [
            ["**x = 1**", "**y = 2**"],
            ["`x = 1`", "    `y = 2`"],
            ["<ins>x = 1</ins>", "<ins>y = 2</ins>"],
            ["<span style=\"c\">x</span>", "<span>y</span>"],
            ["> if x:", ">     y()"],
            [">>> if x:", ">>>     y()"],
            ["x = 1^M", "y = 2^M"],
            ["[32mx = 1[0m", "[32my = 2[0m"],
            ["x = 1 \u{1f448}", "y = 2 \u{1f448}"],
            ["x = 1\u{21b5}", "y = 2\u{21b5}"],
            ["x = 1  <--- added", "y = 2  <--- added"],
            ["x = 1 \u{1f448} this line", "y = 2 \u{1f448} this line"],
            ["**f(**a)**", "**}**"],
            ["x = 1\u{b}", "y = 2\u{b}"],
            ["\"if x:\",", "\"    y()\""],
        ] {
            assert!(is_marked("a.py", "z = 0\n", &added), "{added:?}");
            assert!(!is_marked("a.md", "z = 0\n", &added), "{added:?}");
            assert!(!is_marked("a.py", "z = 0\n", &added[..1]), "{added:?}");
        }
    }

    #[test]
    fn marks_that_may_be_code_are_left() {
        for added in [
            ["**kwargs,", "**options"],
            ["======", "======"],
            ["x = `a`", "y = `b`"],
            ["<li>a</li>", "<li>b</li>"],
            ["<ins>a</ins>", "x"],
            [">>> f(1)", ">>> g(1)"],
            ["+ a", "+ b"],
            ["x = 1  # <-- new", "y = 2  # <-- new"],
            ["x <-- y", "z <-- w"],
            ["\"if x:\",", "\"y()\","],
            ["    \"if x:\",", "    \"    y()\","],
            ["# eins \u{2713}", "# zwei \u{2713}"],
            ["# \u{8fd9}\u{3002}", "# \u{90a3}\u{3002}"],
            ["a\u{e9}", "b\u{e9}"],
            ["[1m]", "[2m]"],
        ] {
            assert!(!is_marked("a.py", "z = 0\n", &added), "{added:?}");
        }
        assert!(is_marked("a.py", "z = 0\n", &["\u{1b}[32mx = 1\u{1b}[0m"]));
        assert!(!is_marked("a.py", "# \u{1b}\n", &["\u{1b}[32mx = 1\u{1b}[0m"]), "the file has it");
        let listed = ["\u{2713} a", "\u{2713} b"];
        assert!(!is_marked("a.py", "\u{2713} z\n", &listed), "the file has it");
    }
}
