//! Detects marks that were put around code to show that it is new and were copied with it: the same mark on every added
//! line. Pure.

use super::body::HunkLine;
use super::elision;
use super::file_style::FileStyle;

/// Tags that mark text as changed, or colour it.
const TAGS: [&str; 5] = ["ins", "del", "mark", "font", "span"];
/// Extensions of files that contain only strings and other values.
const DATA: [&str; 4] = ["csv", "tsv", "json", "po"];
/// Extensions of files in which no line of code ends in dots, but for a list of parameters.
const WITHOUT_DOTS: [&str; 13] =
    ["rs", "c", "h", "json", "toml", "java", "go", "js", "ts", "css", "kt", "cs", "sql"];
/// The ways in which a line end is written as text.
const ENDS: [&str; 3] = ["^M", "\\r", "\\n"];
/// Marks before quoted, entered or new lines.
const PREFIXES: [&str; 3] = [">>> ", "> ", "+ "];

/// Returns the first of the added lines of a hunk or a file if all of them have the same mark, and a description of the
/// mark.
pub(super) fn found<'h, 'a: 'h>(
    style: &FileStyle<'_>,
    added: impl Iterator<Item = &'h HunkLine<'a>> + Clone,
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    if !style.is_code() {
        return None;
    }
    // Bytes that are not text have none of the marks.
    let added = added.map(|line| (line, std::str::from_utf8(line.text).unwrap_or("?")));
    let mut added = added.filter(|(_, text)| !text.trim().is_empty());
    let texts = added.clone().map(|(_, text)| text);
    let every = |is_marked: &dyn Fn(&str) -> bool| texts.clone().all(is_marked);
    let (first, text) = added.next()?;
    if every(&|it| it.starts_with("\u{1b}[")) && !style.has_char('\u{1b}') {
        return Some((first, "begins with the escape code of a colour"));
    }
    added.next()?;
    let has = if wrapper_of(text).is_some_and(|mark| every(&|it| wrapper_of(it) == Some(mark))) {
        "is enclosed in Markdown marks"
    } else if tag_of(text).is_some_and(|tag| every(&|it| tag_of(it) == Some(tag)))
        && !style.is_markup()
    {
        "is enclosed in tags that mark a change"
    } else if PREFIXES.iter().any(|prefix| {
        let is_indented =
            |it: &str| it.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(' '));
        every(&|it| it.starts_with(prefix)) && texts.clone().any(is_indented)
    }) {
        "has a mark before its text, as all added lines do"
    } else if every(&|it| ENDS.iter().any(|end| it.ends_with(end)) && !it.ends_with("\\\\n")) {
        "ends in a line end written as text"
    } else if style.is_of(&WITHOUT_DOTS)
        && every(&|it| elision::ends_in_dots(it.as_bytes()))
        && texts.clone().any(|it| elision::is_code(it.as_bytes()))
    {
        "ends in dots, as all added lines do"
    } else if is_list(texts.clone()) && !style.is_of(&DATA) {
        "is a string of a JSON list, as all added lines are"
    } else if every(&is_coloured) {
        "has the escape code of a colour"
    } else if have_arrow(text, texts.clone()) {
        "ends in an arrow and a remark, as all added lines do"
    } else if have_sign(style, text, &texts) {
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
fn is_list<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let mut texts = texts.peekable();
    let mut has_indented = false;
    while let Some(text) = texts.next() {
        let is_last = texts.peek().is_none();
        let string = text.strip_prefix('"').and_then(|text| {
            text.strip_suffix("\",").or_else(|| text.strip_suffix('"').filter(|_| is_last))
        });
        let Some(string) = string else { return false };
        has_indented |= string.starts_with("  ") || string.starts_with('\t');
    }
    has_indented
}

/// Returns true if a line begins and ends with colour codes that lost their escape character.
fn is_coloured(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('[') else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    rest.len() + 1 < text.len()
        && rest.starts_with('m')
        && (text.ends_with("[0m") || text.ends_with("[m"))
}

/// Returns true if all lines end in the same remark after an arrow as the first, outside of a comment.
fn have_arrow<'t>(first: &str, mut texts: impl Iterator<Item = &'t str>) -> bool {
    remark_of(first).is_some_and(|remark| texts.all(|text| remark_of(text) == Some(remark)))
}

/// Returns the arrow that ends the code of a line, and the remark after it.
pub(super) fn remark_of(text: &str) -> Option<&str> {
    const ARROWS: [&str; 4] = ["<--", "\u{2190}", "\u{1f448}", "\u{21d0}"];
    let text = text.trim_end();
    let at = ARROWS.iter().filter_map(|arrow| text.rfind(arrow)).min()?;
    let (code, remark) = text.split_at_checked(at)?;
    let is_comment = ["//", "#", "/*"].iter().any(|mark| code.contains(mark));
    (!is_comment && !code.trim().is_empty()).then_some(remark)
}

/// Returns true if all lines begin, or end, with the same non-letter sign as the first, and the file does not have it.
/// Comments may.
fn have_sign<'t>(
    style: &FileStyle<'_>,
    first: &str,
    texts: &(impl Iterator<Item = &'t str> + Clone),
) -> bool {
    let is_sign = |c: &char| {
        let is_punctuation =
            matches!(u32::from(*c), 0x2010..=0x2027 | 0x3000..=0x303f | 0xff00..=0xffef);
        let is_visible = !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
        is_visible && !is_punctuation || *c == '\u{b}'
    };
    let is_comment =
        |text: &str| ["//", "#", "*", "/*", "--", ";"].iter().any(|mark| text.starts_with(mark));
    let of_all = |sign: fn(&str) -> Option<char>| {
        let sign = |text: &str| sign(text.trim_matches([' ', '\t', '\r']));
        let of_first = sign(first).filter(is_sign);
        of_first.filter(|c| texts.clone().all(|text| sign(text) == Some(*c)))
    };
    let found =
        of_all(|text| text.chars().next()).or_else(|| of_all(|text| text.chars().next_back()));
    found.is_some_and(|c| !style.has_char(c)) && !texts.clone().any(|text| is_comment(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_marked(name: &str, file: &str, added: &[&str]) -> bool {
        let lines: Vec<String> = added.iter().map(|line| format!("+{line}")).collect();
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        found(&FileStyle::of(file.as_bytes(), name), read_all(&lines, 1).iter()).is_some()
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
            ["x = 1\\r", "y = 2\\r"],
            ["x = 1\\r\\n", "y = 2\\r\\n"],
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
        assert!(is_marked("a.c", "x\n", &["    if (!r->...", "        re..."]));
        assert!(!is_marked("a.c", "x\n", &["// one...", "// two..."]), "comments");
        assert!(!is_marked("a.py", "x\n", &["def f(): ...", "def g(): ..."]));
        let listed = ["\u{2713} a", "\u{2713} b"];
        assert!(!is_marked("a.py", "\u{2713} z\n", &listed), "the file has it");
    }
}
