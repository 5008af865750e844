//! Divides an answer into blocks of a diff and what stands around them, by form alone: no word is read. Pure.
//!
//! An answer is `prose? (block prose?)*`. A block is a fence with a diff in it or, without a fence, the diff up to its last
//! counted or marked line.

use crate::answer::foreign_marks;
use crate::answer::leak;
use crate::diff::headers::is_structural;
use crate::diff::hunk_lines::{self, HunkLine};
use crate::diff::sections::Section;

/// The use of a line of an answer. Every line has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
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
    /// Stands outside of the blocks.
    Prose,
}

/// Returns the first line, from 0, that is taken for prose although its form or its place is that of a line of the diff.
pub(crate) fn stray(lines: &[&[u8]], uses: &[Use], sections: &[Section<'_>]) -> Option<usize> {
    let mut walk = Walk::default();
    let mut above: Vec<&[u8]> = Vec::new();
    let is_fence = |what: &Use| matches!(what, Use::Opens | Use::Closes);
    let last_fence = uses.iter().rposition(is_fence).unwrap_or(0);
    let mut hunks = sections.iter().flat_map(|section| &section.hunks).peekable();
    let mut sections = sections.iter().peekable();
    for (at, (line, what)) in lines.iter().zip(uses).enumerate() {
        if let Some(section) = sections.next_if(|section| section.span.start == at) {
            let is_named = section.old.is_some() || section.new.is_some();
            walk.expects_hunks = is_named && section.hunks.is_empty();
            walk.has_begun = true;
        }
        if let Some(hunk) = hunks.next_if(|hunk| hunk.at == at + 1) {
            walk.is_whole = hunk.holds();
            // A reading with more old lines than the header says is unlikely if there is another one.
            let is_likely = |body: &&[HunkLine<'_>]| {
                hunk.numbers.is_none_or(|it| hunk_lines::counts(body).0 <= it.old_count)
            };
            let mut likely = hunk.bodies().filter(is_likely).peekable();
            walk.lacks =
                likely.peek().is_some() && likely.all(|body| hunk_lines::lacks(body, hunk.numbers));
        }
        if *what == Use::Prose {
            // Directly below a complete hunk is the end of what the diff is wrapped in, or a line that lost its marker.
            let is_below = walk.before == Some(Use::Body) && !walk.lacks;
            // A fence that ended too early is followed by the one that was meant.
            let is_fenced = |line: &[u8]| line.ends_with(b"```") || line.ends_with(b"~~~");
            let ended_early = walk.before == Some(Use::Closes)
                && walk.lacks
                && (at < last_fence || is_fenced(line.trim_ascii_end()));
            let is_stray =
                if is_below { !closes(line, &above) } else { ended_early || walk.is_stray(line) };
            if is_stray {
                return Some(at);
            }
            above.push(line);
        }
        walk.pass(*what);
    }
    None
}

/// The state of the walk through the lines.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts about one place")]
struct Walk {
    /// The use of the previous line.
    before: Option<Use>,
    in_fence: bool,
    /// True once a section has begun in the open fence.
    in_block: bool,
    /// True once a section has begun.
    has_begun: bool,
    /// True if the last hunk has fewer lines than its header says.
    lacks: bool,
    /// True if the last hunk has as many lines as its header says.
    is_whole: bool,
    /// True if a fence was opened directly after a hunk that may continue, and no hunk has begun since.
    in_break: bool,
    /// True if a fence was closed after a hunk that may continue, and no other hunk has begun since.
    is_cut: bool,
    /// True if the last section has names but no hunk yet.
    expects_hunks: bool,
}

impl Walk {
    /// Returns true if a line outside of the blocks can belong to one.
    fn is_stray(&self, line: &[u8]) -> bool {
        // Where a line of context would be, if the fence ended too early.
        let continues =
            self.is_cut && matches!(line, [b' ', next, ..] if !next.is_ascii_whitespace());
        self.in_block
            || self.expects_hunks
            || self.in_break
            || continues
            || (self.has_begun || !self.in_fence) && is_of_a_diff(line)
            || self.has_begun && !self.in_fence && is_extended(line)
    }

    fn pass(&mut self, what: Use) {
        match what {
            Use::Opens => {
                self.in_break = self.before == Some(Use::Body) && !self.is_whole
                    || self.before == Some(Use::Closes) && self.is_cut;
                (self.in_fence, self.in_block) = (true, false);
            }
            Use::Closes => {
                (self.in_fence, self.in_block) = (false, false);
                self.is_cut = self.lacks;
                self.expects_hunks = false;
            }
            Use::Header | Use::Body => {
                self.in_block = self.in_fence;
                self.in_break = false;
                self.is_cut &= what == Use::Body;
            }
            Use::Blank | Use::Prose => {}
        }
        self.before = Some(what);
    }
}

/// Returns true if only a change has such a line: a marker, or what looks like one, glued to a text, or a header or the
/// mark of a block, also behind a margin.
fn is_of_a_diff(line: &[u8]) -> bool {
    let line = leak::without_zero_width(line);
    let margin = line.iter().take_while(|byte| b" \t>|".contains(byte)).count();
    let is_marked = match line {
        [b'+' | b'-', b' ', rest @ ..] => rest.starts_with(b" ") && !rest.trim_ascii().is_empty(),
        [marker @ (b'+' | b'-'), next, ..] => next != marker,
        _ => false,
    };
    is_marked
        || line
            .get(margin..)
            .is_some_and(|it| is_structural(it) || foreign_marks::is_block_mark(it))
        || hunk_lines::has_look_alike_marker(line)
}

/// Returns true if a line is one word that the text above the diff has, too: the end of a here-document, a closing tag.
fn closes(line: &[u8], above: &[&[u8]]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let start = line.iter().position(is_part).unwrap_or(line.len());
    let end = line.iter().rposition(is_part).map_or(start, |at| at + 1);
    let word = line.get(start..end).unwrap_or_default();
    let is_word = !word.is_empty() && word.iter().all(is_part);
    is_word && above.iter().any(|line| memchr::memmem::find(line, word).is_some())
}

/// Returns true if a line states an operation or a mode, as below `diff --git`.
pub(crate) fn is_extended(line: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_diff_are_told_apart_from_lists_and_rules() {
        for line in ["+x", "-x", "+    x", "-\tx", "--- a/x", "> @@ -1 +1 @@", "\u{2212}x"] {
            assert!(is_of_a_diff(line.as_bytes()), "{line}");
        }
        for line in ["+ x", "- x", "---", "++i", "+", "", "x", "-  ", "> x", "--flag"] {
            assert!(!is_of_a_diff(line.as_bytes()), "{line}");
        }
    }
}
