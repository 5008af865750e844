//! Added lines that no file is meant to have: what got into them on the way from the model. Nothing in a file contradicts an added line,
//! so they are judged by themselves. Pure.

use super::elision::stands_for_code;
use super::fence::Fence;
use super::gutter;
use super::lines::pieces;
use super::refuse::Reason;

/// Files in which text for people stands, and may show whatever else is damage.
const PROSE: [&str; 9] = ["md", "markdown", "rst", "adoc", "org", "txt", "diff", "patch", "snap"];
/// Files in which characters are escaped as in HTML, besides those.
const MARKUP: [&str; 16] = [
    "html", "htm", "xhtml", "xml", "svg", "vue", "svelte", "astro", "jsx", "tsx", "php", "erb",
    "hbs", "j2", "rss", "plist",
];
/// Files of which no line is three dots.
const WITHOUT_DOTS: [&str; 12] =
    ["rs", "json", "toml", "java", "go", "js", "ts", "css", "kt", "swift", "cs", "sql"];

/// What is wrong with lines that are added to `file`, or make it up where it is empty. `name` says what kind of file it is.
pub(super) fn found(added: &[&[u8]], file: &[u8], name: &str) -> Option<Reason> {
    let ending = name.rsplit('/').next().unwrap_or_default().rsplit_once('.');
    let ending = ending.map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase());
    let is_of = |kinds: &[&str]| kinds.contains(&ending.as_str());
    let is_new = |line: &&[u8]| {
        let text = line.trim_ascii();
        !pieces(file).any(|old| old.trim_ascii() == text)
    };
    let is_dots = |line: &[u8]| matches!(line.trim_ascii(), b"..." | b"\xe2\x80\xa6");
    let elides = |line: &&&[u8]| {
        stands_for_code(line)
            || (is_of(&WITHOUT_DOTS) || is_of(&["yml", "yaml"]) && line.starts_with(b" "))
                && is_dots(line)
    };
    if added.iter().filter(elides).any(is_new) {
        return Some(Reason::ElidedCode);
    }
    if is_of(&PROSE) {
        return None;
    }
    let has_not = |text: &[u8]| memchr::memmem::find(file, text).is_none();
    let texts = || added.iter().copied().filter(|line| !line.trim_ascii().is_empty());
    let is_every =
        |is_damaged: &dyn Fn(&[u8]) -> bool| texts().count() > 1 && texts().all(is_damaged);
    let is_escaped = !is_of(&MARKUP)
        && added.iter().any(|line| has_entity(line))
        && has_not(b"&lt;")
        && has_not(b"&amp;");
    let is_numbered = || {
        let numbers = texts().map(number);
        numbers.clone().all(|number| number.is_some())
            && texts().count() > 1
            && numbers.clone().zip(numbers.skip(1)).all(|(number, next)| number < next)
    };
    let is_damaged = is_escaped
        || added.iter().any(|line| is_word_diff(line) || is_tab_in_letters(line))
        || has_conflict(added) && has_not(b"<<<<<<<")
        || is_numbered()
        || file.is_empty() && is_every(&|line| line.starts_with(b"+"))
        || is_every(&|line| line.ends_with(b"\\n"))
        || !is_of(&MARKUP) && is_every(&|line| line.ends_with(b"<br>"))
        || file.is_empty() && is_every(&|line| line.starts_with(b" "))
        || file.is_empty() && is_fenced(added);
    is_damaged.then_some(Reason::DamagedLine)
}

/// Whether characters are escaped that stand outside of quotes and comments.
fn has_entity(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let is_comment = [&b"//"[..], b"#", b"*", b"/*", b"--", b";", b"%", b"\"\"\""]
        .iter()
        .any(|mark| text.starts_with(mark));
    let entities: [&[u8]; 4] = [b"&lt;", b"&gt;", b"&amp;", b"&quot;"];
    let before_quotes = text.split(|byte| b"\"'`".contains(byte)).next().unwrap_or_default();
    !is_comment && entities.iter().any(|it| memchr::memmem::find(before_quotes, it).is_some())
}

/// Whether a line shows a change of words: `[-old-]{+new+}`.
fn is_word_diff(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"-]{+").is_some() && memchr::memmem::find(line, b"+}").is_some()
}

/// Whether a tab before a line was written in letters.
fn is_tab_in_letters(line: &[u8]) -> bool {
    line.starts_with(b"\\t") || line.starts_with(b"^I")
}

/// Whether lines have the marks of a conflict, in order.
fn has_conflict(lines: &[&[u8]]) -> bool {
    let mut rest = lines.iter();
    let marks: [&[u8]; 3] = [b"<<<<<<<", b"=======", b">>>>>>>"];
    marks.iter().all(|mark| rest.any(|line| line.starts_with(mark)))
}

/// Whether lines are a block of code, and nothing else.
fn is_fenced(lines: &[&[u8]]) -> bool {
    let mut texts = lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let Some(fence) = texts.next().and_then(|line| Fence::opening(line)) else { return false };
    texts.next_back().is_some_and(|line| fence.is_closed_by(line))
}

/// The number before a line, as our listings have it, or others: `12: x`, `12\tx`, `12→x`.
fn number(line: &[u8]) -> Option<usize> {
    let other = || {
        let line = std::str::from_utf8(line).ok()?.trim_start();
        let end = line.find(|c: char| !c.is_ascii_digit())?;
        let (number, rest) = line.split_at_checked(end)?;
        let is_mark = rest.starts_with(['\t', '→', '│']) || rest.starts_with(": ") || rest == ":";
        number.parse().ok().filter(|_| is_mark)
    };
    gutter::read(line).map(|(number, _)| number).or_else(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_file(name: &str, file: &str, added: &[&str]) -> Option<Reason> {
        let added: Vec<&[u8]> = added.iter().map(|line| line.as_bytes()).collect();
        found(&added, file.as_bytes(), name)
    }

    #[test]
    fn what_got_into_lines_is_found() {
        for (name, added) in [
            ("a.py", &["   1| import os", "", "   2| X = 1"][..]),
            ("a.c", &["1: int x;", "2: int y;"]),
            ("a.rs", &["1\u{2192}fn x() {", "2\u{2192}}"]),
            ("a.c", &["if (n &lt; 2 &amp;&amp; m) {"]),
            ("a.rs", &["fn f() -&gt; Vec&lt;u8&gt; {"]),
            ("a.py", &["import os\\n", "X = 1\\n"]),
            ("a.py", &["import os<br>", "X = 1<br>"]),
            ("a.py", &["+import os", "+X = 1"]),
            ("a.py", &[" import os", "", " def f():", "     return 1"]),
            ("a.py", &["```python", "import os", "```"]),
            ("a.py", &["<<<<<<< ours", "a", "=======", "b", ">>>>>>> theirs"]),
            ("a.py", &["X = [-1-]{+2+}"]),
            ("Makefile", &["all:", "\\tcc x.c"]),
            ("Makefile", &["all:", "^Icc x.c"]),
        ] {
            assert_eq!(in_file(name, "", added), Some(Reason::DamagedLine), "{added:?}");
        }
        assert_eq!(in_file("a.rs", "x\n", &["    ..."]), Some(Reason::ElidedCode));
        assert_eq!(in_file("a.yml", "x: 1\n", &["  ..."]), Some(Reason::ElidedCode));
    }

    #[test]
    fn what_a_file_may_have_is_left() {
        for (name, added) in [
            ("a.md", &["   1| import os", "   2| X = 1"][..]),
            ("a.html", &["a &lt; b"]),
            ("a.py", &["x = s.replace(\"<\", \"&lt;\")"]),
            ("a.rs", &["/// a &lt; b"]),
            ("a.py", &["..."]),
            ("a.csv", &["1,apple", "2,pear"]),
            ("a.yml", &["1: one", "x: two"]),
            ("a.rs", &["+ 1", "x"]),
            ("a.rs", &["<<<<<<< x"]),
            ("a.md", &["```diff", "-a", "```"]),
            ("a.patch", &["+a", "+b"]),
            ("a.py", &[" x"]),
        ] {
            assert_eq!(in_file(name, "", added), None, "{added:?}");
        }
        assert_eq!(in_file("a.c", "x(&lt;);\n", &["y(&lt;);"]), None, "the file has them");
        assert_eq!(in_file("a.py", "x\n", &["    a", "    b"]), None, "lines further in");
        assert_eq!(in_file("a.rs", "...\n", &["..."]), None, "the file has it");
    }
}
