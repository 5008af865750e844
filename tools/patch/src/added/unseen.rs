//! Finds what nobody sees in an added line: control, zero-width and directional characters, hard spaces, bytes of another
//! encoding, lost letters; and the marks of a conflict. What the file has already is left alone. Pure.

use super::file_habits::FileHabits;
use crate::diff::hunk_lines::{HunkLine, added_lines};
use crate::diff::lines::Eol;

/// The maximum number of old lines of a hunk that an added line is compared with.
const LOOKED_AT: usize = 50;

/// Returns an added line with something that nobody sees, and its description.
pub(super) fn found<'h, 'a>(
    habits: &FileHabits<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<(&'h HunkLine<'a>, &'static str)> {
    let added = || added_lines(body);
    let has_conflict = has_conflict(added()) && !habits.has(b"<<<<<<<") && !habits.is_prose();
    if let Some(line) = added().find(|line| has_conflict && line.text.starts_with(b"<<<<<<<")) {
        return Some((line, "has a merge conflict marker"));
    }
    added().find_map(|line| Some((line, unseen_in(habits, body, line)?)))
}

fn unseen_in(
    habits: &FileHabits<'_>,
    body: &[HunkLine<'_>],
    line: &HunkLine<'_>,
) -> Option<&'static str> {
    let ends_twice = |line: &HunkLine<'_>| line.eol == Eol::CrLf && line.text.ends_with(b"\r");
    if ends_twice(line) && !body.iter().any(|line| line.is_old() && line.text.ends_with(b"\r")) {
        return Some("ends in two carriage returns");
    }
    // Tests have terminal escapes; those that leaked into an answer are removed from it as a whole.
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\r\x0c\x1b".contains(byte);
    if !habits.is_data() && !habits.is_prose() {
        let control = line.text.iter().find(|byte| is_control(byte));
        if control.is_some_and(|byte| !habits.has_char(char::from(*byte))) {
            return Some("has a control character");
        }
    }
    let text = std::str::from_utf8(line.text).ok().filter(|text| !text.is_ascii())?;
    if habits.is_in_another_encoding() {
        return Some("has characters in UTF-8, but the file is in another encoding");
    }
    if !habits.is_of_diffs() && has_lost_letters(habits, body, text) {
        return Some("has characters of another encoding, or U+FFFD for a lost one");
    }
    if !habits.is_code() {
        return None;
    }
    // A new file may begin with a byte order mark.
    let text = text.strip_prefix('\u{feff}').filter(|_| habits.is_empty()).unwrap_or(text);
    let is_new = |c: char| !habits.has_char(c);
    // Text from right to left needs such characters, which otherwise hide what a program does.
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_from_the_right = || text.contains(|c: char| matches!(c, '\u{590}'..='\u{8ff}'));
    if text.contains(|c| turns(c) && is_new(c)) && !is_from_the_right() {
        return Some("has a character that changes the direction of text");
    }
    // Strings and comments may contain the others, but not end in them.
    let code = text.find(['"', '\'', '`', '#']).and_then(|at| text.get(..at)).unwrap_or(text);
    let code = code.find("//").and_then(|at| code.get(..at)).unwrap_or(code);
    let begins_a_comment = text.trim_start().starts_with(['*', ';', '%']);
    let code = if begins_a_comment { "" } else { code };
    let is_seen = |c: char| !UNSEEN.contains(c) || !is_new(c);
    if !code.chars().chain(text.chars().next_back()).all(is_seen) {
        return Some("has an invisible character, or a hard space instead of a space");
    }
    None
}

/// Zero-width characters, those that only break a line, and spaces other than U+0020.
const UNSEEN: &str =
    "\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{2060}\u{feff}\u{ad}\u{a0}\u{202f}\u{2007}\u{3000}";

/// Returns true if a letter of a line was lost, or arrived as bytes of another encoding: old lines have the letter
/// itself.
fn has_lost_letters(habits: &FileHabits<'_>, body: &[HunkLine<'_>], text: &str) -> bool {
    // A lost letter is inside a word; text about U+FFFD has it alone.
    let is_lost = |(at, lost): (usize, &str)| {
        let [before, behind] =
            [text.get(..at), text.get(at + lost.len()..)].map(Option::unwrap_or_default);
        let is_in_word =
            before.ends_with(char::is_alphanumeric) || behind.starts_with(char::is_alphanumeric);
        is_in_word || before.ends_with(' ') && behind.trim().is_empty()
    };
    let has_lost = text.match_indices('\u{fffd}').any(is_lost) && !habits.has_char('\u{fffd}');
    // Data may be about it, unless a letter was there before.
    let had_letters = || body.iter().any(|line| line.is_old() && !line.text.is_ascii());
    if has_lost && (!habits.is_data() || had_letters()) {
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

/// Returns true if lines contain conflict markers, in order.
fn has_conflict<'h, 'a: 'h>(mut lines: impl Iterator<Item = &'h HunkLine<'a>>) -> bool {
    let marks: [&[u8]; 3] = [b"<<<<<<<", b"=======", b">>>>>>>"];
    marks.iter().all(|mark| lines.any(|line| line.text.starts_with(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::hunk_of;

    fn is_found(name: &str, file: &str, hunk: &[&str]) -> bool {
        found(&FileHabits::of(file.as_bytes(), name), &hunk_of(hunk)).is_some()
    }

    #[test]
    fn characters_that_nobody_sees_are_found_in_code() {
        for line in [
            "+x =\u{a0}1",
            "+x\u{200b} = 1",
            "+print(\"a\")\u{2060}",
            "+\u{202e}if x:",
            "+x = \u{1}",
            "+caf\u{fffd} = 1",
        ] {
            assert!(is_found("a.py", "x = 1\n", &[line]), "{line}");
        }
        for line in
            ["+x = \"a\u{a0}b\"", "+x = 1  # \u{200b} is one", "+\u{5d0}\u{202b}x", "+\u{e9} = 1"]
        {
            assert!(!is_found("a.py", "x = 1\n", &[line]), "{line}");
        }
        assert!(!is_found("a.py", "x =\u{a0}1\n", &["+y =\u{a0}1"]), "the file has it");
        assert!(!is_found("a.py", "", &["+\u{feff}x = 1"]));
        assert!(!is_found("a.md", "x\n", &["+a\u{a0}b"]));
    }

    #[test]
    fn bytes_that_do_not_fit_the_file_are_found() {
        let found = |file: &[u8], lines: &[&[u8]]| {
            let body = crate::diff::hunk_lines::read_all(lines, 1);
            found(&FileHabits::of(file, "a.py"), &body).is_some()
        };
        assert!(found(b"a\r\n", &[b" a\r", b"+b\r\r"]));
        assert!(!found(b"a\r\r\n", &[b" a\r\r", b"+b\r\r"]), "the file has them");
        let added = "+caf\u{e9}".as_bytes();
        assert!(found(b"caf\xe9\n", &[added]));
        assert!(!found(b"caf\xe9\n", &[b"+tea\xe9"]), "in the encoding of the file");
        assert!(!found(b"caf\xe9 \xc3\xa9\n", &[added]), "the file has UTF-8 too");
        assert!(!found(b"cafe\n", &[added]));
    }

    #[test]
    fn letters_of_another_encoding_are_found_by_comparison_with_old_lines() {
        let hunk = |added: &str| is_found("a.csv", "caf\u{e9}\n", &["-caf\u{e9}", added]);
        assert!(hunk("+caf\u{c3}\u{a9} one") && hunk("+caf\u{fffd}"));
        for added in ["+caf\u{e9} one", "+\u{c3}tude", "+is '\u{fffd}'"] {
            assert!(!hunk(added), "{added}");
        }
        assert!(!is_found("a.csv", "\u{fffd}\n", &["+a\u{fffd}"]), "the file has it");
        assert!(!is_found("a.csv", "a\n", &[" a", "+b\u{fffd}"]), "no letter was there");
        assert!(is_found("a.md", "a\n", &["+b\u{fffd}"]));
    }

    #[test]
    fn conflict_markers_are_found_in_order() {
        let hunk = &["+<<<<<<< ours", "+a", "+=======", "+b", "+>>>>>>> theirs"];
        assert!(is_found("a.py", "x\n", hunk));
        assert!(!is_found("a.py", "<<<<<<< x\n", hunk), "the file has them");
        assert!(!is_found("a.rs", "x\n", &["+<<<<<<< x"]));
    }
}
