//! Classifies every line of an answer, and decides whether a skipped line looks like part of the diff. Pure.

use super::body;
use super::elision::{announces_more, is_placeholder, says_incomplete};
use super::fence::Fence;
use super::foreign;
use super::formats::path_in;
use super::section::{Reading, Section};
use super::unfinished;
use super::wrapping;

/// The use of a line of an answer. Every line has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Names a file, an operation or a hunk.
    Header,
    /// Is a line of a hunk. Which of the lines at its end belong to it is decided once the file is known.
    Body,
    /// Opens a fence.
    Opens,
    /// Closes a fence.
    Closes,
    /// Is blank.
    Blank,
    /// Is skipped.
    Prose,
}

/// The verdict on the skipped lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// They are prose around a diff.
    Sound,
    /// Prose occurs among the hunks of one fence, all of which are as long as their headers say: the first and the last
    /// line, from 0, of each run.
    Among(Vec<[usize; 2]>),
    /// This line, from 0, looks like part of a hunk.
    Stray(usize),
    /// This line, from 0, stands for hunks or lines that the answer does not have.
    Elided(usize),
}

/// Judges the lines that `uses` marks as skipped.
///
/// After the first section, no line with a marker is prose, and nothing may come between names and the hunks they lack.
/// Directly after a fence, no line is prose if the last hunk has fewer lines than its header says, and further down no
/// line that looks like context is.
pub(super) fn judge(lines: &[&[u8]], uses: &[Use], sections: &[Section<'_>]) -> Finding {
    let mut walk = Walk::default();
    let mut among: Vec<[usize; 2]> = Vec::new();
    let mut hunks = sections.iter().flat_map(|section| &section.hunks).peekable();
    let mut sections = sections.iter().peekable();
    for (at, (line, what)) in lines.iter().zip(uses).enumerate() {
        if let Some(section) = sections.next_if(|section| section.span.start == at) {
            let is_named = section.old.is_some() || section.new.is_some();
            walk.expects_hunks = is_named && section.hunks.is_empty();
            walk.has_begun = true;
        }
        if let Some(hunk) = hunks.next_if(|hunk| hunk.at == at + 1) {
            let holds = |reading: &Reading<'_>| body::holds(&reading.body, hunk.numbers);
            walk.is_sure = hunk.readings.iter().any(holds);
            // A reading with more old lines than the header says is unlikely if there is another one.
            let old = |reading: &&Reading<'_>| body::counts(&reading.body).0;
            let is_likely =
                |reading: &&Reading<'_>| hunk.numbers.is_none_or(|it| old(reading) <= it.old_count);
            let mut likely = hunk.readings.iter().filter(is_likely).peekable();
            walk.lacks = likely.peek().is_some()
                && likely.all(|reading| body::lacks(&reading.body, hunk.numbers));
        }
        if *what == Use::Prose && !walk.has_begun {
            walk.closing.extend(wrapping::closing(line));
        }
        if *what == Use::Prose {
            let is_below = walk.has_begun && hunks.peek().is_none() && sections.peek().is_none();
            if walk.is_elided(line) || is_below && !walk.in_fence && unfinished::says_so(line) {
                return Finding::Elided(at);
            }
            if walk.is_stray(line) {
                return Finding::Stray(at);
            }
            if walk.in_hunks {
                match among.last_mut().filter(|[_, last]| *last + 1 == at) {
                    Some([_, last]) => *last = at,
                    None => among.push([at, at]),
                }
            }
        }
        walk.pass(line, *what);
    }
    if among.is_empty() { Finding::Sound } else { Finding::Among(among) }
}

/// The state of the walk through the lines.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts about one place")]
struct Walk {
    /// The use of the previous line.
    before: Option<Use>,
    in_fence: bool,
    /// True once a section has begun.
    has_begun: bool,
    /// True if the fence is labelled as a diff.
    in_diff: bool,
    /// True once a hunk has begun in the fence.
    in_hunks: bool,
    /// True if the last hunk has fewer lines than its header says.
    lacks: bool,
    /// True if the last hunk has as many lines as its header says.
    is_sure: bool,
    /// True if a fence was opened directly after a hunk that may continue.
    in_break: bool,
    /// True if a fence was closed after a hunk that may continue, and no other hunk has begun since.
    is_cut: bool,
    /// True if the last section has names but no hunk yet.
    expects_hunks: bool,
    /// True if only blank lines have followed the names of a file.
    below_names: bool,
    /// The ends of the wrappings that were opened above the first section.
    closing: Vec<String>,
}

impl Walk {
    /// Returns true if a line skipped here looks like part of a hunk.
    fn is_stray(&self, line: &[u8]) -> bool {
        // Nothing follows a wrapping around the whole diff, and the counts say that the hunk ends before it.
        let closes = |end: &String| end.as_bytes() == line.trim_ascii_end();
        if self.before == Some(Use::Body) && self.is_sure && self.closing.iter().any(closes) {
            return false;
        }
        let after_fence = self.before == Some(Use::Closes);
        let after_lines = self.before == Some(Use::Body) && self.is_sure;
        let may_be_said = !self.in_fence && (self.is_sure || !self.has_begun) && is_said(line);
        let is_summary = !self.in_fence && is_summary(line);
        is_marked(line)
            && !is_summary
            && !may_be_said
            && (self.has_begun || self.in_diff || !self.in_fence)
            || foreign::is_elsewhere(line) && !self.in_fence
            || self.has_begun && !is_summary && body::has_look_alike_marker(line)
            || self.has_begun && !self.in_fence && is_code(line)
            || self.in_fence && self.below_names
            || is_extended(line)
                && !may_be_said
                && (has_mode(line) || self.has_begun && !self.in_fence)
            || after_lines && !is_remark(line)
            || self.in_hunks && (is_name(line) || !is_remark(line))
            || after_fence && self.lacks
            || self.is_cut && matches!(line, [b' ', next, ..] if !next.is_ascii_whitespace())
            || self.expects_hunks
            || self.in_break
    }

    /// Returns true if a line skipped here stands for hunks or lines that the answer does not have.
    fn is_elided(&self, line: &[u8]) -> bool {
        let is_in_another_block = self.in_fence && !self.in_hunks;
        self.has_begun && (is_elision(line) || !is_in_another_block && announces_more(line))
    }

    fn pass(&mut self, line: &[u8], what: Use) {
        match what {
            Use::Opens => {
                self.in_hunks = false;
                self.in_break = self.before == Some(Use::Body) && !self.is_sure
                    || self.before == Some(Use::Closes) && self.is_cut;
                let info = Fence::info(line);
                self.in_fence = true;
                self.in_diff = info.starts_with(b"diff") || info.starts_with(b"patch");
            }
            Use::Closes => {
                (self.in_fence, self.in_diff, self.in_hunks) = (false, false, false);
                self.is_cut = self.lacks;
                (self.expects_hunks, self.in_break) = (false, false);
            }
            Use::Body => self.in_hunks = self.in_fence,
            Use::Header => self.is_cut = false,
            Use::Blank | Use::Prose => {}
        }
        if what != Use::Blank {
            let is_names = line.starts_with(b"--- ") || line.starts_with(b"+++ ");
            self.below_names = what == Use::Header && is_names;
        }
        self.before = Some(what);
    }
}

/// Returns true if a line begins with a marker and is neither a list item nor a rule.
fn is_marked(line: &[u8]) -> bool {
    match line {
        [b'+' | b'-', b' ', rest @ ..] => rest.starts_with(b" ") && !rest.trim_ascii().is_empty(),
        [marker @ (b'+' | b'-'), next, ..] => next != marker,
        _ => false,
    }
}

/// Returns true if a line that begins with `-`, or like a header, is a sentence: `-1 is returned if there is none.`
fn is_said(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end();
    let is_plain = !text.contains([';', '{', '}', '=', '(', ')', '\\', '[', ']', '"', '<']);
    let is_sentence = text.ends_with(['.', '!']) && text.split(' ').count() > 2 && is_plain;
    is_sentence && !text.starts_with('+') || text.starts_with("-> ")
}

/// Returns true if an unindented line of prose can only be code: a bracket alone, or one that opens a block.
fn is_code(line: &[u8]) -> bool {
    let text = line.trim_ascii_end();
    let is_closing = text.starts_with(b"}") && text.iter().all(|byte| b"});,".contains(byte));
    let opens = text.len() > 2 && (text.ends_with(b" {") || text.ends_with(b"){"));
    let is_out = !text.first().is_some_and(u8::is_ascii_whitespace);
    is_out && (is_closing || opens || text.starts_with(b"def ") && text.ends_with(b"):"))
}

/// Returns true if a line counts the lines of a change, `+3 lines, -1 line`, `+3 −1`, or is the border of a table.
fn is_summary(line: &[u8]) -> bool {
    const MINUS: [char; 3] = ['-', '\u{2212}', '\u{2013}'];
    let is_border = line.len() > 2
        && line.first() == line.last()
        && line.iter().any(|byte| b"-=".contains(byte))
        && line.iter().all(|byte| b"+-=".contains(byte));
    let text = String::from_utf8_lossy(line);
    let counts = |sign: &[char]| {
        let mut words = text.split(|c: char| c.is_whitespace() || ",/()".contains(c));
        words.any(|word| {
            let number = word.strip_prefix(sign).unwrap_or_default();
            !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
        })
    };
    let is_count = |word: &str| {
        let number = word.trim_start_matches(|c| c == '+' || MINUS.contains(&c));
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        is_number || matches!(word, "line" | "lines" | "file" | "files" | "")
    };
    let is_only = text.split(|c: char| c.is_whitespace() || ",/()".contains(c)).all(is_count);
    let both = counts(&['+']) && counts(&MINUS);
    is_border
        || both && (is_only || text.contains("line"))
        || is_only && counts(&MINUS[1..]) && text.contains("line")
}

/// Returns true if a line states an operation or a mode, as below `diff --git`.
pub(super) fn is_extended(line: &[u8]) -> bool {
    const MARKS: [&str; 8] = [
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
        "new file mode ",
        "deleted file mode ",
        "old mode ",
        "new mode ",
    ];
    MARKS.iter().any(|mark| line.starts_with(mark.as_bytes()))
}

/// Returns true if a line ends in a file mode.
fn has_mode(line: &[u8]) -> bool {
    let mode = line.trim_ascii_end().rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    mode.len() == 6 && mode.iter().all(u8::is_ascii_digit)
}

/// Returns true if a line directly after a hunk may be a remark or the end of a wrapping, rather than code that lost
/// its marker.
fn is_remark(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let begins =
        text.starts_with(|c: char| c.is_uppercase() || !c.is_ascii() || "*#>([_`".contains(c));
    let is_plain = !text.contains(['=', '{', '}', ';', '\\', '|']);
    let is_sentence = begins
        && is_plain
        && (text.contains(' ') || !text.is_ascii() || text.ends_with(['.', '!', ':', '*']));
    let is_around =
        body::is_terminator(line, &[]) || text.starts_with("</") || text.starts_with("<|");
    let is_separator = ["Index: ", "====", "diff ", "# HG ", "***", "---", "Only in "]
        .iter()
        .any(|mark| text.starts_with(mark));
    is_sentence || is_around || is_separator
}

/// Returns true if a line consists of a file name, as in headings.
fn is_name(line: &[u8]) -> bool {
    let text = str::from_utf8(line).unwrap_or_default();
    let is_heading = text.trim_start().starts_with(['*', '`', '#']);
    path_in(text).is_some_and(|name| is_heading || name.contains(['/', '.']))
}

/// Returns true if a line stands for omitted lines, in brackets or after an ellipsis.
pub(super) fn is_elision(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let inner = match line {
        [b'[' | b'(' | b'<', inner @ .., b']' | b')' | b'>'] => inner,
        _ => line,
    };
    is_placeholder(line) || is_placeholder(&[b"#", inner].concat()) || says_incomplete(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_told_apart_from_lists_and_rules() {
        for line in ["+x", "-x", "+    x", "-\tx"] {
            assert!(is_marked(line.as_bytes()), "{line}");
        }
        for line in ["+ x", "- x", "---", "++i", "+", "", "x", "-  "] {
            assert!(!is_marked(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn summaries_and_table_borders_are_not_lines_of_a_hunk() {
        for line in ["+1 line, -0 lines in total.", "+-----+----+", "+12/-3 lines", "+===+"] {
            assert!(is_summary(line.as_bytes()), "{line}");
        }
        assert!(is_summary("+3 \u{2212}1".as_bytes()) && is_summary("\u{2212}1 line".as_bytes()));
        for line in ["+1", "+12 lines", "+x - 1 line", "+-x", "+a", "+-", "-1", "-1 line"] {
            assert!(!is_summary(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_sentence_may_begin_with_a_dash() {
        for line in
            ["-1 is returned if there is none.", "-> see the docs", "rename from the UI works."]
        {
            assert!(is_said(line.as_bytes()), "{line}");
        }
        for line in ["-x = f(a) is it.", "-x.", "+Some more text here.", "rename from a"] {
            assert!(!is_said(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn code_is_told_apart_from_prose() {
        for line in ["}", "});", "fn helper() -> u32 {", "if (x){", "def f(self):", "};"] {
            assert!(is_code(line.as_bytes()), "{line}");
        }
        for line in
            ["{", "    if x {", "Run `f() {}`.", "def is a keyword:", ")", "The end.", "", "x = 1"]
        {
            assert!(!is_code(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn placeholders_are_told_apart_from_prose() {
        for line in [
            "[… remaining lines omitted …]",
            "(... rest unchanged ...)",
            "# ... rest of it",
            "# (remaining hunks omitted for brevity)",
            "(continued in the next message…)",
            "[output truncated]",
        ] {
            assert!(is_elision(line.as_bytes()), "{line}");
        }
        for line in [
            "The rest is unchanged.",
            "[see above]",
            "...",
            "(I omitted the tests, which pass.)",
            "The remaining hunks are omitted.",
        ] {
            assert!(!is_elision(line.as_bytes()), "{line}");
        }
    }
}
