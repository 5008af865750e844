//! Splits lines of an answer that ran into each other when a newline was lost: headers after a line, a line after a
//! hunk header, or the end of a wrapping after the last line. Pure.

use super::body;
use super::fence::Fence;
use super::header::{self, Numbers, is_structural};

/// The result of splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glue {
    None,
    Cut,
    /// A line, from 0, is glued, but it is unclear where to split it.
    Unclear(usize),
}

/// The maximum number of lines that are split in one answer: each split moves all later lines.
const MAX_CUTS: usize = 64;

/// The opening of a wrapping is searched in this many lines directly above the diff.
const WRAPPING: usize = 16;

/// Splits lines where two of them clearly ran into each other.
pub(super) fn cut(lines: &mut Vec<&[u8]>) -> Glue {
    let Some(first) = lines.iter().position(|line| is_structural(line)) else { return Glue::None };
    let (mut at, mut cuts) = (first, 0);
    // What the header of the current hunk still announces, as of this line.
    let mut due: Option<Due> = None;
    while let Some(line) = lines.get(at).copied() {
        let (rest, next) = (lines.get(at + 1..).unwrap_or_default(), at + 1);
        if line.starts_with(b"@@") {
            let numbers = header::numbers(line);
            due = numbers.map(Due::of);
            if let Some(glued) = after_header(line)
                && !numbers.is_some_and(|numbers| holds(rest, numbers))
            {
                let with = [&[glued], rest].concat();
                if !numbers.is_some_and(|numbers| holds(&with, numbers)) || cuts == MAX_CUTS {
                    return Glue::Unclear(at);
                }
                let end = line.len() - glued.len();
                lines.splice(at..next, [line.get(..end).unwrap_or_default(), glued]);
                cuts += 1;
            }
        } else if let Some(end) =
            names_in(line, rest).or_else(|| hunk_in(line, due?.without(line), rest))
        {
            if cuts == MAX_CUTS {
                return Glue::Unclear(at);
            }
            let (head, tail) = line.split_at_checked(end).unwrap_or((line, b""));
            lines.splice(at..next, [head, tail]);
            cuts += 1;
        } else {
            due = due.map(|due| due.without(line));
        }
        at += 1;
    }
    if ends_in_a_closing(lines, first) || cuts > 0 { Glue::Cut } else { Glue::None }
}

/// The old and new lines of a hunk that are still to come; negative if there are more than its header says.
#[derive(Debug, Clone, Copy)]
struct Due {
    old: isize,
    new: isize,
}

impl Due {
    fn of(numbers: Numbers) -> Due {
        let count = |count: usize| isize::try_from(count).unwrap_or(isize::MAX);
        Due { old: count(numbers.old_count), new: count(numbers.new_count) }
    }

    /// Returns what is still to come after `line`.
    fn without(self, line: &[u8]) -> Due {
        let (old, new) = match line.first() {
            Some(b'+') => (0, 1),
            Some(b'-') => (1, 0),
            Some(b'\\') => (0, 0),
            Some(_) | None => (1, 1),
        };
        Due { old: self.old.saturating_sub(old), new: self.new.saturating_sub(new) }
    }
}

/// Returns true if the counts of a header hold for the lines below it, and the next line is not a line of a hunk.
fn holds(below: &[&[u8]], numbers: Numbers) -> bool {
    body::read_counted(below, 0, numbers, false).is_some_and(|counted| {
        let next = below.get(counted.taken).copied().unwrap_or_default();
        !is_marked(next) || is_structural(next)
    })
}

fn is_marked(line: &[u8]) -> bool {
    line.first().is_some_and(|byte| b" +-".contains(byte))
}

/// Returns the text after the numbers of a hunk header if it is a line of the hunk: the text that git puts there begins
/// with a letter.
fn after_header(line: &[u8]) -> Option<&[u8]> {
    let end = memchr::memmem::find(line.get(2..)?, b"@@")? + 4;
    let rest = line.get(end..)?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    matches!(rest, [b'+' | b'-', ..]).then_some(rest)
}

/// Returns where the first header of the next file begins in `line`; the line below must name the same file.
fn names_in(line: &[u8], rest: &[&[u8]]) -> Option<usize> {
    let next = rest.first()?;
    if let Some(named) = next.strip_prefix(b"+++ b/") {
        let at = memchr::memmem::rfind(line, b"--- ").filter(|at| *at > 0)?;
        let name = line.get(at + 4..)?;
        let is_same = name.strip_prefix(b"a/") == Some(named) || name == b"/dev/null";
        return is_same.then_some(at);
    }
    let below: [&[u8]; 4] = [b"--- ", b"index ", b"new file mode ", b"deleted file mode "];
    let is_header = below.iter().any(|mark| next.starts_with(mark));
    if !is_header {
        return None;
    }
    memchr::memmem::rfind(line, b"diff --git a/").filter(|at| *at > 0)
}

/// Returns where the header of the next hunk begins in `line`; nothing may be `due` of the hunk above after that.
fn hunk_in(line: &[u8], due: Due, rest: &[&[u8]]) -> Option<usize> {
    if (due.old, due.new) != (0, 0) || !is_marked(line) {
        return None;
    }
    let at = memchr::memmem::rfind(line, b"@@ -").filter(|at| *at > 1)?;
    header::numbers(line.get(at..)?)?;
    let next = rest.first()?;
    (is_marked(next) && !is_structural(next)).then_some(at)
}

/// Removes the end of a block that was opened above the diff from the last line: glued to it, or after a marker that is
/// not counted.
fn ends_in_a_closing(lines: &mut [&[u8]], first: usize) -> bool {
    let above = lines.get(first.saturating_sub(WRAPPING)..first).unwrap_or_default();
    let Some(last) = lines.iter().rposition(|line| !line.trim_ascii().is_empty()) else {
        return false;
    };
    let always = b"*** End Patch".to_vec();
    let opened = above.iter().flat_map(|line| closings(line));
    let closings: Vec<Vec<u8>> = opened.chain([always]).collect();
    let is_open =
        |closing: &&Vec<u8>| !lines.iter().skip(first).any(|line| line.trim_ascii() == **closing);
    let open: Vec<&Vec<u8>> = closings.iter().filter(is_open).collect();
    let Some(mut line) = lines.get(last).copied() else { return false };
    let whole = line;
    if line == b"+No newline at end of file" && is_counted_out(lines, last) {
        line = b"\\ No newline at end of file";
    } else if let Some(text) = line.strip_prefix(b"+")
        && open.iter().any(|closing| text.trim_ascii_end() == closing.as_slice())
        && is_counted_out(lines, last)
    {
        line = text;
    }
    // Triple quotes also open a string: if the diff has others, this one may belong to one of those.
    let is_only = |quotes: &[u8]| {
        let rest = lines.get(first..).unwrap_or_default();
        rest.iter().map(|line| memchr::memmem::find_iter(line, quotes).count()).sum::<usize>() == 1
    };
    let is_glued = |line: &[u8], closing: &[u8]| {
        let is_tag = closing.starts_with(b"</") || closing == b"]]>";
        let is_end = is_marked(line) && line.len() > closing.len() + 1 && line.ends_with(closing);
        is_end && (is_tag || QUOTES.contains(&closing) && is_only(closing))
    };
    while let Some(closing) = open.iter().find(|closing| is_glued(line, closing)) {
        let text = line.get(..line.len() - closing.len()).unwrap_or_default();
        // If the line also opens the tag, the closing one belongs to it.
        let name = closing.strip_prefix(b"</").and_then(|name| name.strip_suffix(b">"));
        if name.is_some_and(|name| memchr::memmem::find(text, &[b"<", name].concat()).is_some()) {
            break;
        }
        line = text;
    }
    if line == whole {
        return false;
    }
    lines.get_mut(last).into_iter().for_each(|last| *last = line);
    true
}

/// Returns true if the last hunk is as long as its header says without line `last`.
fn is_counted_out(lines: &[&[u8]], last: usize) -> bool {
    let above = lines.get(..last).unwrap_or_default();
    let header = above.iter().rposition(|line| line.starts_with(b"@@"));
    header.is_some_and(|at| {
        let numbers = above.get(at).and_then(|line| header::numbers(line));
        body::holds(&body::read_all(above.get(at + 1..).unwrap_or_default(), 1), numbers)
    })
}

/// Quotes around multi-line strings.
const QUOTES: [&[u8]; 2] = [b"\"\"\"", b"'''"];

/// Returns the ends of the blocks that a line opens: tags, a fence, a here-document, a string, a patch.
fn closings(line: &[u8]) -> Vec<Vec<u8>> {
    let text = line.trim_ascii();
    if let Some(quotes) = QUOTES.iter().find(|quotes| text.ends_with(quotes)) {
        return vec![quotes.to_vec()];
    }
    if let Some(fence) = Fence::opening(text) {
        return vec![text.iter().take_while(|byte| fence.is_of(**byte)).copied().collect()];
    }
    if !text.starts_with(b"<")
        && let Some(at) = memchr::memmem::find(text, b"<<")
    {
        let word = text.get(at + 2..).unwrap_or_default().trim_ascii().iter();
        let word: Vec<u8> = word.filter(|byte| !b"'\"-".contains(byte)).copied().collect();
        let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic);
        return is_word.then_some(word).into_iter().collect();
    }
    let is_data = text.ends_with(b"<![CDATA[");
    if !(text.starts_with(b"<") && (text.ends_with(b">") || is_data)) {
        return Vec::new();
    }
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let names = text.split(|byte| *byte == b'<').map(|tag| {
        tag.get(..tag.iter().take_while(|byte| is_of_name(byte)).count()).unwrap_or_default()
    });
    let tags = names.filter(|name| !name.is_empty()).map(|name| [b"</", name, b">"].concat());
    tags.chain(is_data.then(|| b"]]>".to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_in(answer: &str) -> (Glue, String) {
        let mut lines: Vec<&[u8]> = answer.lines().map(str::as_bytes).collect();
        let glue = cut(&mut lines);
        (glue, String::from_utf8(lines.join(&b'\n')).unwrap())
    }

    const HEAD: &str = "--- a/f\n+++ b/f\n";

    #[test]
    fn lines_that_ran_into_each_other_are_split() {
        for (glued, parted) in [
            ("@@ -1 +1 @@\n-a\n+b--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y", "+b\n--- a/g\n+++ b/g"),
            ("@@ -1 +1 @@\n-a\n+b--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+y", "+b\n--- /dev/null\n"),
            ("@@ -1 +1 @@\n-a\n+bdiff --git a/g b/g\n--- a/g\n+++ b/g", "+b\ndiff --git a/g b/g\n"),
            ("@@ -1 +1 @@\n-a\n+b@@ -9 +9 @@\n-x\n+y", "+b\n@@ -9 +9 @@\n-x"),
            ("@@ -2,2 +2,2 @@-b\n+B\n c", "@@ -2,2 +2,2 @@\n-b\n+B"),
            ("@@ -1 +1,2 @@ +first\n a", "@@ -1 +1,2 @@ \n+first\n a"),
        ] {
            let (glue, text) = cut_in(&format!("{HEAD}{glued}"));
            assert!(glue == Glue::Cut && text.contains(parted), "{glued}: {glue:?} {text}");
        }
        for (before, end, after) in [
            ("<patch>", "+b</patch>", "+b"),
            ("<answer>\n<diff>", "+b</diff></answer>", "+b"),
            ("<pre><code>", "+b</code></pre>", "+b"),
            ("", "+*** End Patch", "*** End Patch"),
            ("", "+No newline at end of file", "\\ No newline at end of file"),
            ("<diff>", "+</diff>", "</diff>"),
            ("```diff", "+```", "```"),
            ("git apply <<'EOF'", "+EOF", "EOF"),
            ("<x><![CDATA[", "+b]]>", "+b"),
            ("<x><![CDATA[", "+b]]></x>", "+b"),
            ("diff = \"\"\"", "+b\"\"\"", "+b"),
            ("apply(r'''", "+b'''", "+b"),
        ] {
            let counts = if after.starts_with('+') { "1" } else { "2" };
            let mut body = "-a\n";
            if counts == "2" {
                body = "-a\n+a\n+b\n";
            }
            let (glue, text) =
                cut_in(&format!("{before}\n{HEAD}@@ -1 +1,{counts} @@\n{body}{end}"));
            assert!(glue == Glue::Cut && text.ends_with(&format!("\n{after}")), "{end}: {text}");
        }
    }

    #[test]
    fn lines_that_did_not_run_into_each_other_are_left() {
        for whole in [
            "@@ -1 +1 @@ fn x\n-a\n+b",
            "@@ -1 +1 @@ -x\n-a\n+b",
            "@@ -1 +1,3 @@\n-a\n+see --- a/g\n+++ b/h\n+c",
            "@@ -1 +1 @@\n-a\n+say @@ -9 +9 @@\nDone.",
            "@@ -1 +1 @@\n-a\n+<p>b</p>",
        ] {
            let answer = format!("{HEAD}{whole}");
            assert_eq!(cut_in(&answer), (Glue::None, answer), "{whole}");
        }
        for (above, line) in
            [("<p>", "+<p>b</p>"), ("x = \"\"\"", "+\"\"\"b\"\"\""), ("x = '''", "+b\"\"\"")]
        {
            let own = format!("{above}\n{HEAD}@@ -1 +1 @@\n-a\n{line}");
            assert_eq!(cut_in(&own), (Glue::None, own));
        }
        let unclear = format!("{HEAD}@@ -1,9 +1,9 @@ -x\n-a\n+b");
        assert_eq!(cut_in(&unclear).0, Glue::Unclear(2));
    }
}
