//! Detects damage in added lines: text that got into them on the way from the model. Old lines are compared with the
//! file; added lines are judged by themselves and by the style of the file. Pure.

use std::collections::HashSet;

use super::added_whitespace;
use super::body::{HunkLine, Kind};
use super::change_marks;
use super::damaged_line::Damage;
use super::elision::{self, Mention, Stand};
use super::escapes;
use super::fence::Fence;
use super::file_style::FileStyle;
use super::foreign_bytes;
use super::gutter;
use super::leaked_marks;
use super::refuse::Reason;
use super::respelled;
use super::shortened;
use super::single_marks;

/// Extensions of files in which no line consists of three dots.
const WITHOUT_DOTS: [&str; 12] =
    ["rs", "json", "toml", "java", "go", "js", "ts", "css", "kt", "swift", "cs", "sql"];

/// How many times more code a comment about the rest must replace than is added next to it.
const FEWER: usize = 4;
/// The maximum number of old lines of a hunk that an added line is compared with.
const LOOKED_AT: usize = 50;
/// The description of a line that lost a letter.
const LOST_LETTERS: &str = "has characters of another encoding, or U+FFFD for a lost one";
/// Extensions of files whose lines may begin with a number.
const DATA: [&str; 7] = ["tsv", "tab", "yaml", "yml", "out", "log", "dat"];
/// Extensions of files in which words begin with a backslash.
const TEX: [&str; 5] = ["tex", "sty", "cls", "ltx", "bib"];

/// Returns what is wrong with the lines that `body` adds to a file, or creates it from.
pub(super) fn found(style: &FileStyle<'_>, body: &[HunkLine<'_>]) -> Option<Damage> {
    let added = || body.iter().filter(|line| line.kind == Kind::Added);
    added().next()?;
    if let Some(line) = placeholder(style, body).or_else(|| shortened::found(style, body)) {
        return Some(Damage::at(Reason::ElidedCode, line, "replaces code that it does not show"));
    }
    let garbled = if style.is_prose() { garbled_text(style, body) } else { garbled(style, body) };
    let garbled = garbled
        .or_else(|| foreign_bytes::found(style, body))
        .or_else(|| change_marks::found(style, added()))
        .or_else(|| single_marks::found(style, body))
        .or_else(|| {
            respelled::found(style, body).filter(|_| !style.is_of(&["diff", "patch", "snap"]))
        });
    let damage = garbled.map(|(line, has)| Damage::at(Reason::DamagedLine, line, has));
    damage
        .or_else(|| leaked_marks::found(style, body))
        .or_else(|| added_whitespace::found(style, body))
        .or_else(|| escapes::found(style, body))
}

/// Returns what is wrong with a line, if all lines that the hunks of a file add have the same mark.
pub(super) fn in_all<'h, 'a: 'h>(
    style: &FileStyle<'_>,
    added: impl Iterator<Item = &'h HunkLine<'a>> + Clone,
) -> Option<Damage> {
    let (line, has) = change_marks::found(style, added)?;
    Some(Damage::at(Reason::DamagedLine, line, has))
}

/// Finds a line that stands for code: by its words, or because it replaces code and says next to nothing.
fn placeholder<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    let has_no_dots = |text: &[u8]| {
        style.is_of(&WITHOUT_DOTS) || style.is_of(&["yml", "yaml"]) && text.starts_with(b" ")
    };
    let is_dots = |text: &[u8]| matches!(text.trim_ascii(), b"..." | b"\xe2\x80\xa6");
    // Quotations use the same marks for omitted words; that is accepted if nothing is removed.
    let is_quoting = !style.is_code() && body.iter().all(|line| line.kind != Kind::Removed);
    let is_omission = |text: &[u8]| {
        matches!(text.trim_ascii(), b"[...]" | b"(...)" | b"[\xe2\x80\xa6]" | b"(\xe2\x80\xa6)")
    };
    // Where data is elided, a few lines stand for many.
    let count = |kind| body.iter().filter(|line| line.kind == kind).count();
    if style.is_data() && count(Kind::Removed) <= count(Kind::Added) {
        return None;
    }
    let ends_so = || body.iter().any(|line| line.is_old() && elision::ends_in_dots(line.text));
    let elides = |line: &HunkLine<'_>| {
        elision::stands_for_code(line.text) && !(is_quoting && is_omission(line.text))
            || is_dots(line.text) && has_no_dots(line.text)
            || style.is_code() && elision::breaks_off(line.text) && !ends_so()
    };
    let is_new = |line: &&HunkLine<'_>| line.kind == Kind::Added && !style.has_line(line.text);
    let told = body.iter().enumerate().find_map(|(at, line)| {
        let is_told = line.kind == Kind::Added && elides(line) && is_new(&line);
        (is_told && !is_said_of_code_below(body, at)).then_some(line)
    });
    let runs = || body.split(|line| line.kind == Kind::Context);
    let in_place = || runs().find_map(|run| in_place_of_code(run).filter(is_new));
    told.or_else(|| if style.is_prose() { None } else { in_place() })
}

/// Returns true if a comment about the rest of something has no dots, and the hunk only inserts it above other code:
/// then nothing is missing.
fn is_said_of_code_below(body: &[HunkLine<'_>], at: usize) -> bool {
    let has = |kind| body.iter().any(|line| line.kind == kind);
    has(Kind::Context)
        && !has(Kind::Removed)
        && body.get(at).is_some_and(|line| !elision::has_dots(line.text))
        && body.get(at + 1).is_some_and(|below| elision::is_code(below.text))
}

/// Finds a comment that may stand for code, in a run of changes that removes code; if the comment has words, more than
/// the run adds.
fn in_place_of_code<'h, 'a>(run: &'h [HunkLine<'a>]) -> Option<&'h HunkLine<'a>> {
    let of = |kind| run.iter().filter(move |line| line.kind == kind);
    of(Kind::Removed).find(|line| elision::is_code(line.text))?;
    let may_stand = |line: &&HunkLine<'_>| {
        elision::may_stand_for_code(line.text).is_some()
            || elision::mentions_unchanged(line.text).is_some()
    };
    of(Kind::Added).find(may_stand)?;
    // The code of one side that the other side does not have.
    let code = |kind, other| {
        let there: HashSet<&[u8]> = of(other).map(|line| line.text.trim_ascii()).collect();
        let code = of(kind).filter(|line| elision::is_code(line.text));
        code.filter(|line| !there.contains(line.text.trim_ascii())).count()
    };
    let (removed, added) = (code(Kind::Removed, Kind::Added), code(Kind::Added, Kind::Removed));
    of(Kind::Added).find(|line| match elision::may_stand_for_code(line.text) {
        Some(Stand::Dots) => removed > 0,
        Some(Stand::Words) => removed > added,
        None => {
            removed > 2
                && match elision::mentions_unchanged(line.text) {
                    Some(Mention::Plain) => removed >= FEWER * added,
                    Some(Mention::Loose) => added == 0,
                    None => false,
                }
        }
    })
}

/// Finds a line that cannot be intended even in a text for people, with its description.
fn garbled_text<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    if style.is_of(&["diff", "patch", "snap"]) {
        return None;
    }
    let added = || body.iter().filter(|line| line.kind == Kind::Added);
    let lost = added().find(|line| has_lost_letters(style, body, line.text));
    if let Some(line) = lost {
        return Some((line, LOST_LETTERS));
    }
    // A text that quotes such lines also has other lines.
    let in_new = style.is_empty() && added().count() > 2;
    let first = added().next().filter(|_| in_new)?;
    if added().all(|line| line.text.ends_with(b"\\n")) {
        return Some((first, "ends in `\\n` written as text"));
    }
    is_listing(added().map(|line| line.text)).then_some((first, "has a line number"))
}

/// Finds a line with marks, numbers or letters that do not belong in a file of this kind, with its description.
fn garbled<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    let added = || body.iter().filter(|line| line.kind == Kind::Added);
    let texts = || added().filter(|line| !line.text.trim_ascii().is_empty());
    let any = |is_damaged: &dyn Fn(&[u8]) -> bool| added().find(|line| is_damaged(line.text));
    let every = |is_damaged: &dyn Fn(&[u8]) -> bool| {
        let is_every = texts().count() > 1 && texts().all(|line| is_damaged(line.text));
        texts().next().filter(|_| is_every)
    };
    let all = || added().map(|line| line.text).collect::<Vec<_>>();
    let in_new = style.is_empty();
    // Data may be numbered, but a listing of a part of a file does not begin with 1.
    let is_counted = || {
        style.is_of(&DATA)
            && (in_new || texts().next().and_then(|line| number(line.text)) == Some(1))
    };
    // If the file is numbered here, added lines are numbered as well.
    let has_numbers = || body.iter().any(|line| line.is_old() && number(line.text).is_some());
    // Next to tags, special characters are escaped on purpose.
    let in_markup = || style.is_markup() || body.iter().any(|line| is_tagged(line.text));
    let found = [
        any(&has_entity)
            .filter(|_| !style.habits().has_entities && !in_markup())
            .map(|line| (line, "has a character that is escaped as in HTML")),
        texts()
            .next()
            .filter(|_| is_escaped_markup(body))
            .map(|line| (line, "is escaped as in HTML, unlike the tags around it")),
        any(&|line| has_lost_letters(style, body, line)).map(|line| (line, LOST_LETTERS)),
        any(&is_word_diff).map(|line| (line, "shows a word diff")),
        any(&|line| is_tab_in_letters(line) && !style.is_of(&TEX))
            .map(|line| (line, "begins with a tab written as text")),
        any(&|line| line.starts_with(b"<<<<<<<"))
            .filter(|_| has_conflict(&all()) && !style.habits().has_conflicts)
            .map(|line| (line, "has a merge conflict marker")),
        texts()
            .next()
            .filter(|_| is_numbered(&all()) && !has_numbers() && !is_counted())
            .map(|line| (line, "has a line number")),
        texts()
            .next()
            .filter(|_| in_new && is_listing(added().map(|line| line.text)))
            .map(|line| (line, "has a line number")),
        every(&|line| in_new && line.starts_with(b"+")).map(|line| (line, "has a second `+`")),
        every(&|line| line.ends_with(b"\\n") && !line.ends_with(b"\\\\n"))
            .map(|line| (line, "ends in `\\n` written as text")),
        every(&|line| line.ends_with(b"<br>") && !style.is_markup())
            .map(|line| (line, "has a `<br>` where a newline is meant")),
        every(&|line| in_new && !style.is_markup() && line.starts_with(b" "))
            .filter(|_| style.is_of(&["py"]) || texts().any(|line| !line.text.starts_with(b"  ")))
            .map(|line| (line, "is indented, like every line of the new file")),
        texts()
            .next()
            .filter(|_| in_new && is_fenced(&all()))
            .map(|line| (line, "opens a fence around the whole file")),
    ];
    found.into_iter().flatten().next()
}

/// Returns true if all lines are prefixed with their numbers, counted from 1. At least one must be blank, unlike in a
/// list, but fewer than half.
fn is_listing<'l>(lines: impl Iterator<Item = &'l [u8]>) -> bool {
    let texts = (1..).zip(lines).map(|(number, line)| after_number(line, number));
    let Some(texts) = texts.collect::<Option<Vec<&[u8]>>>() else { return false };
    let blank = texts.iter().filter(|text| text.trim_ascii().is_empty()).count();
    blank > 0 && 2 * blank < texts.len()
}

/// Returns the text after `number`, if the line begins with it as in a listing.
fn after_number(line: &[u8], number: usize) -> Option<&[u8]> {
    let rest = line.trim_ascii_start().strip_prefix(number.to_string().as_bytes())?;
    let marks: [&[u8]; 4] = [b"|", b":", b"\t", b"  "];
    let text = marks.iter().find_map(|mark| rest.strip_prefix(*mark));
    text.or_else(|| Some(rest).filter(|rest| rest.is_empty()))
}

/// Returns true if all lines that are not blank are prefixed with ascending numbers.
fn is_numbered(added: &[&[u8]]) -> bool {
    let numbers =
        || added.iter().filter(|line| !line.trim_ascii().is_empty()).map(|line| number(line));
    let mut pairs = numbers().zip(numbers().skip(1)).peekable();
    pairs.peek().is_some() && pairs.all(|(number, next)| number.is_some() && number < next)
}

/// Returns true if a line is or begins a comment.
fn is_comment(text: &[u8]) -> bool {
    let marks: [&[u8]; 8] = [b"//", b"#", b"*", b"/*", b"--", b";", b"%", b"\"\"\""];
    marks.iter().any(|mark| text.starts_with(mark))
}

/// Returns true if a line is markup: outside of quotes and comments, it begins and ends with tags, or closes one.
fn is_tagged(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let before_quotes = text.split(|byte| b"\"'`".contains(byte)).next().unwrap_or_default();
    let closes = |part: &[u8]| matches!(part, [b'<', b'/', name] if name.is_ascii_alphabetic());
    let is_element = matches!(text, [b'<', name, .., b'>'] if name.is_ascii_lowercase());
    !is_comment(text) && (is_element || before_quotes.windows(3).any(closes))
}

/// Returns true if a line has escaped characters outside of quotes and comments.
fn has_entity(line: &[u8]) -> bool {
    if memchr::memchr(b'&', line).is_none() {
        return false;
    }
    let text = line.trim_ascii_start();
    // A line with a tag of its own was not escaped.
    let is_tag = |part: &[u8]| matches!(part, [b'<', next] if next.is_ascii_lowercase() || b"/!".contains(next));
    if text.windows(2).any(is_tag) && memchr::memchr(b'>', text).is_some() {
        return false;
    }
    let entities: [&[u8]; 4] = [b"&lt;", b"&gt;", b"&amp;", b"&quot;"];
    let before_quotes = text.split(|byte| b"\"'`".contains(byte)).next().unwrap_or_default();
    !is_comment(text) && entities.iter().any(|it| memchr::memmem::find(before_quotes, it).is_some())
}

/// Returns true if every added line is a tag, or begins and ends with one, whose brackets are all escaped, while old
/// lines of the hunk have tags and none of them is escaped.
fn is_escaped_markup(body: &[HunkLine<'_>]) -> bool {
    let texts = |is_wanted: fn(&HunkLine<'_>) -> bool| {
        let lines = body.iter().filter(move |line| is_wanted(line));
        lines.map(|line| line.text.trim_ascii()).filter(|text| !text.is_empty())
    };
    let mut added = texts(|line| line.kind == Kind::Added);
    let old = texts(|line| line.kind != Kind::Added).take(LOOKED_AT);
    let is_escaped = |text: &[u8]| {
        text.starts_with(b"&lt;")
            && text.ends_with(b"&gt;")
            && memchr::memchr2(b'<', b'>', text).is_none()
    };
    let is_tag = |text: &[u8]| text.starts_with(b"<") && text.ends_with(b">");
    let is_first = added.next().is_some_and(is_escaped);
    let old: Vec<&[u8]> = if is_first { old.collect() } else { Vec::new() };
    is_first
        && added.all(is_escaped)
        && old.iter().any(|text| is_tag(text))
        && !old.iter().any(|text| text.starts_with(b"&lt;"))
}

/// Returns true if a letter of a line was lost, or arrived as bytes of another encoding: old lines have the letter
/// itself.
fn has_lost_letters(style: &FileStyle<'_>, body: &[HunkLine<'_>], line: &[u8]) -> bool {
    if line.is_ascii() {
        return false;
    }
    let Ok(text) = std::str::from_utf8(line) else { return false };
    // A lost letter is inside a word; text about U+FFFD has it alone.
    let is_lost = |(at, lost): (usize, &str)| {
        let [before, behind] =
            [text.get(..at), text.get(at + lost.len()..)].map(Option::unwrap_or_default);
        let is_in_word =
            before.ends_with(char::is_alphanumeric) || behind.starts_with(char::is_alphanumeric);
        is_in_word || before.ends_with(' ') && behind.trim().is_empty()
    };
    let has_lost = text.match_indices('\u{fffd}').any(is_lost) && !style.has_char('\u{fffd}');
    // Data may be about it, unless a letter was there before.
    let had_letters = || body.iter().any(|line| line.is_old() && !line.text.is_ascii());
    if has_lost && (!style.is_data() || had_letters()) {
        return true;
    }
    let latin = |c: char| c.encode_utf8(&mut [0; 4]).bytes().map(char::from).collect::<String>();
    let old = body.iter().filter(|line| line.is_old()).take(LOOKED_AT);
    old.filter(|line| !line.text.is_ascii()).any(|old| {
        let old = String::from_utf8_lossy(old.text);
        let mut letters = old.chars().filter(|c| !c.is_ascii() && *c != '\u{fffd}');
        letters.any(|c| text.contains(&latin(c)) && !old.contains(&latin(c)))
    })
}

/// Returns true if a line shows a word diff: `[-old-]{+new+}`.
fn is_word_diff(line: &[u8]) -> bool {
    memchr::memchr_iter(b']', line).any(|at| {
        let [before, behind] = [line.get(..at), line.get(at..)].map(Option::unwrap_or_default);
        before.ends_with(b"-")
            && behind.starts_with(b"]{+")
            && memchr::memmem::find(line, b"+}").is_some()
    })
}

/// Returns true if a line begins with a tab that is written as text.
fn is_tab_in_letters(line: &[u8]) -> bool {
    [&b"\\t"[..], b"^I", b"<TAB>"].iter().any(|tab| line.starts_with(tab))
}

/// Returns true if the lines contain conflict markers, in order.
fn has_conflict(lines: &[&[u8]]) -> bool {
    let mut rest = lines.iter();
    let marks: [&[u8]; 3] = [b"<<<<<<<", b"=======", b">>>>>>>"];
    marks.iter().all(|mark| rest.any(|line| line.starts_with(mark)))
}

/// Returns true if the lines are a single code block.
fn is_fenced(lines: &[&[u8]]) -> bool {
    let mut texts = lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let (first, last) = (texts.next(), texts.next_back());
    let is_tagged = first.is_some_and(|line| line.trim_ascii() == b"<code>")
        && last.is_some_and(|line| line.trim_ascii() == b"</code>");
    let fence = first.and_then(|line| Fence::opening(line));
    is_tagged || fence.zip(last).is_some_and(|(fence, line)| fence.is_closed_by(line))
}

/// Returns the number before a line, in the format that models are shown or in others: `12: x`, `12\tx`, `12→x`.
fn number(line: &[u8]) -> Option<usize> {
    if !line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
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
    use super::super::body::read_all;
    use super::*;

    /// Returns what is wrong with the added lines of a hunk; lines include their markers.
    fn in_hunk(name: &str, file: &str, hunk: &[&str]) -> Option<Reason> {
        let lines: Vec<&[u8]> = hunk.iter().map(|line| line.as_bytes()).collect();
        let style = FileStyle::of(file.as_bytes(), name);
        found(&style, &read_all(&lines, 1)).map(|damage| damage.reason)
    }

    fn in_file(name: &str, file: &str, added: &[&str]) -> Option<Reason> {
        let hunk: Vec<String> = added.iter().map(|line| format!("+{line}")).collect();
        in_hunk(name, file, &hunk.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn damage_in_added_lines_is_found() {
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
            ("a.py", &["<code>", "import os", "</code>"]),
            ("a.py", &["**x = 1**", "**y = 2**"]),
            ("a.py", &["caf\u{fffd} = 1"]),
            ("Makefile", &["all:", "<TAB>cc x.c"]),
        ] {
            assert_eq!(in_file(name, "", added), Some(Reason::DamagedLine), "{added:?}");
        }
        assert_eq!(in_file("a.rs", "x\n", &["    ..."]), Some(Reason::ElidedCode));
        assert_eq!(in_file("a.yml", "x: 1\n", &["  ..."]), Some(Reason::ElidedCode));
    }

    #[test]
    fn tags_that_are_escaped_among_tags_are_found() {
        let hunk = |lines: &[&str]| in_hunk("a.html", "<a>x</a>\n<b>y</b>\n", lines);
        let added = "+  &lt;a href=&quot;/help&quot;&gt;Help&lt;/a&gt;";
        for lines in [&[" <a>x</a>", added][..], &["-<b>y</b>", added, "+", added, " <p>"]] {
            assert_eq!(hunk(lines), Some(Reason::DamagedLine), "{lines:?}");
        }
        for lines in [
            &[" <a>x</a>", added, "+<br>"][..],
            &[" text", added],
            &[" <a>x</a>", " &lt;b&gt;", added],
            &[" <a>x</a>", "+a &lt; b"],
            &[" <pre>", "+&lt;b&gt; makes text bold"],
        ] {
            assert_eq!(hunk(lines), None, "{lines:?}");
        }
    }

    #[test]
    fn a_call_that_breaks_off_is_found() {
        for (name, lines) in [
            ("a.rs", &[" x();", "+assert_eq!(c..."][..]),
            ("a.ts", &["-if (a) {", "+if (this.users.h\u{2026}"]),
            ("a.py", &[" x()", "+    return total(item..."]),
        ] {
            assert_eq!(in_hunk(name, "x\n", lines), Some(Reason::ElidedCode), "{lines:?}");
        }
        for (name, lines) in [
            ("a.rs", &[" x();", "+// and f(c..."][..]),
            ("a.py", &[" x()", "+print(\"loading..."]),
            ("a.ts", &[" x(", "+f(a, ..."]),
            ("a.go", &[" x()", "+xs := append(a, b...)"]),
            ("a.cc", &[" f(Ts...", "+g(Us..."]),
            ("a.md", &[" x", "+f(c..."]),
            ("a.ts", &[" x()", "+[...a, ...b]"]),
        ] {
            assert_eq!(in_hunk(name, "x\n", lines), None, "{lines:?}");
        }
    }

    #[test]
    fn a_comment_in_place_of_code_is_found() {
        for (name, hunk) in [
            ("a.py", &["-x = 1", "-y = 2", "+# ..."][..]),
            ("a.py", &["-x = 1", "+x = 2", "+# ..."]),
            ("a.c", &[" f();", "-g();", "+/* existing code */", " h();"]),
            (
                "a.rs",
                &["-fn f() {", "-    a();", "-}", "+fn f(x: u8) {", "+    // rest unchanged", "+}"],
            ),
            ("a.html", &["-<p>a</p>", "+<!-- unchanged -->"]),
            ("a.html", &["-<p>a</p>", "-<p>b</p>", "+<p>A</p>", "+<!-- existing links -->"]),
            ("a.tsx", &["-<p>a</p>", "-<p>b</p>", "+<p>A</p>", "+{/* ... existing JSX ... */}"]),
            ("a.sql", &["-a int,", "-b int", "+a text,", "+    -- ... other columns"]),
            ("a.c", &["-a();", "-b();", "-c();", "+// остальной код без изменений"]),
            ("a.c", &["-a();", "-b();", "-c();", "+// the same logic as in the old one"]),
            ("a.c", &["-a();", "+…"]),
            ("a.c", &["-a();", "-b();", "-c();", "-d();", "+x();", "+// code existant inchangé"]),
        ] {
            assert_eq!(in_hunk(name, "x\n", hunk), Some(Reason::ElidedCode), "{hunk:?}");
        }
        for (name, hunk) in [
            ("a.py", &[" x = 1", "+# ...", " y = 2"][..]),
            ("a.py", &[" x = 1", "+# the rest of it is passed unchanged", "+z = 3", " y = 2"]),
            ("a.py", &["-x = 1", " y = 2", "+# ..."]),
            ("a.py", &["-# a remark", "+# ..."]),
            ("a.py", &["-x = 1", "+# existing code", "+x = 2"]),
            ("a.py", &["-x = 1", "+# ...", "+x = 1"]),
            ("a.py", &["-x = 1", "+# existing users stay as they are"]),
            ("a.md", &["-x = 1", "+# ..."]),
            ("a.html", &["-<p>a</p>", "+<p>A</p>", "+<!-- existing links -->"]),
            ("a.sql", &["-a int", "+a text", "+-- other columns follow"]),
            ("a.c", &["-a();", "-b();", "-c();", "+// keep this", "+d();"]),
            ("a.c", &["-a();", "-b();", "-c();", "+// not needed any more"]),
            ("a.c", &["-a();", "-b();", "-c();", "-d();", "+x();", "+// keep track of it"]),
            ("a.py", &["-x = 1", "+y = 2  # ..."]),
        ] {
            assert_eq!(in_hunk(name, "x\n", hunk), None, "{hunk:?}");
        }
        let hunk = &["-x = 1", "-y = 2", "+# ..."];
        assert_eq!(in_hunk("a.py", "x = 1\ny = 2\n  # ...\n", hunk), None, "the file has the line");
    }

    #[test]
    fn a_file_is_read_once_per_question_however_many_hunks_need_it() {
        let file = "fn line() {}\n".repeat(2_000);
        let style = FileStyle::of(file.as_bytes(), "a.rs");
        let bodies: [&[&[u8]]; 5] = [
            &[b" fn line() {}", b"+if a &lt; b {"],
            &[b"-fn line() {}", b"+// ..."],
            &[b" fn line() {}", "+\u{a0}x".as_bytes()],
            &[b" fn line() {}", b"+let x = my\\_var;"],
            &[b" fn line() {}", b"+  \\tx", "+\u{2192}y".as_bytes()],
        ];
        for _ in 0..1_000 {
            for body in bodies {
                assert!(found(&style, &read_all(body, 1)).is_some() || body.len() > 2);
            }
        }
        assert!(style.passes.get() <= 4, "the file was read {} times", style.passes.get());
    }

    #[test]
    fn letters_of_another_encoding_are_found_by_comparison_with_old_lines() {
        let hunk = |added: &str| in_hunk("a.csv", "caf\u{e9}\n", &["-caf\u{e9}", added]);
        assert_eq!(hunk("+caf\u{c3}\u{a9} one"), Some(Reason::DamagedLine));
        assert_eq!(hunk("+caf\u{fffd}"), Some(Reason::DamagedLine));
        for added in ["+caf\u{e9} one", "+\u{c3}tude", "+is '\u{fffd}'"] {
            assert_eq!(hunk(added), None, "{added}");
        }
        assert_eq!(in_hunk("a.csv", "\u{fffd}\n", &["+a\u{fffd}"]), None, "the file has it");
        assert_eq!(in_hunk("a.csv", "a\n", &[" a", "+b\u{fffd}"]), None, "no letter was there");
        assert_eq!(in_hunk("a.py", "a\n", &[" a", "+b\u{fffd}"]), Some(Reason::DamagedLine));
    }

    #[test]
    fn dots_in_data_are_data_unless_they_stand_for_many_lines() {
        for dots in ["[...]", "..."] {
            let one = format!("+{dots}");
            assert_eq!(in_hunk("a.json", "a\nb\n", &[" a", &one]), None, "{dots}");
            assert_eq!(in_hunk("a.json", "a\nb\n", &["-a", &one]), None, "{dots}");
            let many = in_hunk("a.json", "a\nb\nc\n", &["-a", "-b", "-c", &one]);
            assert_eq!(many, Some(Reason::ElidedCode), "{dots}");
        }
    }

    #[test]
    fn damage_is_found_in_a_new_text() {
        for added in [
            &["# T\\n", "\\n", "End.\\n"][..],
            &["  1  # T", "  2  ", "  3  End."],
            &["   1| # T", "   2|", "   3| End."],
            &["a", "caf\u{fffd}"],
        ] {
            assert_eq!(in_file("a.md", "", added), Some(Reason::DamagedLine), "{added:?}");
        }
        for added in [
            &["Write `\\n`:", "a\\n", "b\\n"][..],
            &["1: a", "2: b", "3: c"],
            &["1  a", "2  b", "3  c"],
            &["2  a", "3", "4  c"],
            &["1", "2", "3"],
            &["The sign is '\u{fffd}'."],
        ] {
            assert_eq!(in_file("a.md", "", added), None, "{added:?}");
        }
        assert_eq!(in_file("a.md", "x\n", &["a\\n", "\\n", "b\\n"]), None, "a part of a text");
        let listing = &["  1  a:", "  2", "  3    b: c"];
        assert_eq!(in_file("a.yml", "", listing), Some(Reason::DamagedLine));
        assert_eq!(in_file("a.yml", "", &["  1  a", "  2  b", "  3  c"]), None);
        assert_eq!(in_file("a.patch", "", &["a\\n", "\\n", "b\\n"]), None);
    }

    #[test]
    fn an_omission_in_a_quotation_is_text() {
        for name in ["README", "a.md"] {
            assert_eq!(in_file(name, "", &["ucg 0.3.3", "[...]", "Build info"]), None, "{name}");
            let replaced = &["-a", "-b", "+[...]"];
            assert_eq!(in_hunk(name, "a\nb\n", replaced), Some(Reason::ElidedCode), "{name}");
            let told = &["[... the rest of it is omitted ...]"];
            assert_eq!(in_file(name, "", told), Some(Reason::ElidedCode), "{name}");
        }
        assert_eq!(in_file("a.py", "", &["x = 1", "[...]"]), Some(Reason::ElidedCode));
    }

    #[test]
    fn data_numbered_from_one_is_not_a_listing() {
        assert_eq!(in_file("a.log", "x\n", &["1: start", "2: go"]), None);
        assert_eq!(in_file("a.log", "x\n", &["91: start", "92: go"]), Some(Reason::DamagedLine));
        assert_eq!(in_file("a.c", "x\n", &["1: start", "2: go"]), Some(Reason::DamagedLine));
    }

    #[test]
    fn entities_next_to_tags_are_left() {
        let near = |line: &str| in_hunk("a.xyz", "x\n", &[line, "+a &lt; b"]);
        for line in [" <p>x</p>", "+<div>", " x</p>", " <br/>"] {
            assert_eq!(near(line), None, "{line}");
        }
        for line in
            [" Vec<u8>", " if a < b && c > d {", " x(\"</p>\")", " // <p>x</p>", "-<T> void f()"]
        {
            assert_eq!(near(line), Some(Reason::DamagedLine), "{line}");
        }
    }

    #[test]
    fn a_new_partial_may_be_indented() {
        for name in ["a.sql", "a.yaml", "a.css"] {
            assert_eq!(in_file(name, "", &["  a", "    b"]), None, "{name}");
            assert_eq!(in_file(name, "", &[" a", "   b"]), Some(Reason::DamagedLine), "{name}");
        }
        assert_eq!(in_file("a.py", "", &["    a", "    b"]), Some(Reason::DamagedLine));
    }

    #[test]
    fn lines_that_a_file_may_have_are_left() {
        for (name, added) in [
            ("a.md", &["   1| import os", "   2| X = 1"][..]),
            ("a.html", &["a &lt; b"]),
            ("a.py", &["<p>a &lt; b</p>"]),
            ("a.jinja2", &["a &lt; b"]),
            ("a.tex", &["\\tableofcontents"]),
            ("seq.tsv", &["1\tone", "2\ttwo"]),
            ("a.sh", &["printf a\\\\n", "printf b\\\\n"]),
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
        let dict = &[" 412: 'a',", "+413: 'b',", "+414: 'c',"];
        assert_eq!(in_hunk("a.py", "x\n", dict), None, "its neighbours are numbered");
        assert_eq!(in_file("a.html", "", &["  <p>", "  </p>"]), None, "a part of a page");
    }
}
