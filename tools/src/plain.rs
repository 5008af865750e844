//! The output of commands as plain text: without what only a terminal shows, and without repetitions. Pure.

use std::collections::HashMap;

/// Number of lines by which a repetition is found.
const LEAST: usize = 4;

/// Returns a line as a terminal would leave it: without escape sequences, and only the last state of what is
/// overwritten, such as a progress bar.
pub fn plain_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    if !line.contains(['\u{1b}', '\u{9b}', '\r', '\u{8}']) {
        return line.to_owned();
    }
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let mut is_returned = false;
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' | '\u{9b}' => skip_sequence(c, &mut chars),
            '\r' => is_returned = true,
            '\u{8}' => drop(plain.pop()),
            c => {
                if std::mem::take(&mut is_returned) {
                    plain.clear();
                }
                plain.push(c);
            }
        }
    }
    plain
}

/// Skips the rest of an escape sequence, by the grammar of ECMA-48.
fn skip_sequence(introducer: char, chars: &mut std::iter::Peekable<impl Iterator<Item = char>>) {
    let kind = if introducer == '\u{9b}' { Some('[') } else { chars.next() };
    match kind {
        Some('[') => drop(chars.find(|c| ('@'..='~').contains(c))),
        // A string ends with BEL or with `ESC \`.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            if chars.find(|c| matches!(c, '\u{7}' | '\u{1b}')) == Some('\u{1b}') {
                chars.next_if_eq(&'\\');
            }
        }
        Some(' '..='/') => drop(chars.find(|c| !(' '..='/').contains(c))),
        Some(_) | None => {}
    }
}

/// Returns `output` as plain lines.
pub fn plain_text(output: &str) -> String {
    output.lines().flat_map(|line| [plain_line(line), "\n".to_owned()]).collect()
}

/// Returns `output` as plain lines, in which lines that were shown before are folded: the first of them is shown again,
/// and the number of the others.
pub fn plain_output(output: &str) -> String {
    let lines: Vec<String> = output.lines().map(plain_line).collect();
    let mut plain = String::with_capacity(output.len());
    let mut first_at: HashMap<&[String], usize> = HashMap::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        plain.push_str(line);
        plain.push('\n');
        let repeated = repeated(&lines, at, &mut first_at);
        at += 1 + repeated;
        if repeated > 0 {
            plain.push_str(&format!("… the same {repeated} lines again …\n"));
        }
    }
    if !output.is_empty() && !output.ends_with('\n') {
        plain.pop();
    }
    plain
}

/// Returns how many lines after the one at `at` are the same as those after an equal one further up; 0 if so few that
/// it is not worth folding them.
fn repeated<'l>(
    lines: &'l [String],
    at: usize,
    first_at: &mut HashMap<&'l [String], usize>,
) -> usize {
    let Some(key) = lines.get(at..at + LEAST) else { return 0 };
    let Some(&first) = first_at.get(key) else {
        first_at.insert(key, at);
        return 0;
    };
    let pairs = lines.iter().skip(first).zip(lines.iter().skip(at));
    let same = pairs.take_while(|(one, other)| one == other);
    let (count, said) = same.fold((0, 0), |(count, said), (line, _)| {
        (count + 1, said + usize::from(!line.trim().is_empty()))
    });
    if said < LEAST { 0 } else { count - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_terminal_would_leave_is_kept() {
        for (line, plain) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mERROR\u{1b}[m] no", "ERROR] no"),
            ("\u{9b}31mred\u{1b}[0m", "red"),
            ("\u{1b}]8;;https://x.example/a;b\u{1b}\\link\u{1b}]8;;\u{7} end", "link end"),
            ("\u{1b}(B\u{1b}=x\u{1b}[?25l", "x"),
            (" 10%\r 50%\r100%\r", "100%"),
            ("downloading\r\u{1b}[2Kdone", "done"),
            ("abd\u{8}c", "abc"),
            ("\u{1b}]0;unfinished", ""),
            ("\u{1b}", ""),
            ("a\u{1b}[", "a"),
        ] {
            assert_eq!(plain_line(line), plain, "{line:?}");
        }
    }

    #[test]
    fn lines_that_were_shown_are_folded_and_counted() {
        let trace = "Traceback:\n  File a\n  File b\n  File c\nError: no\n";
        let output = format!("{trace}\nother\n{trace}last");
        assert_eq!(
            plain_output(&output),
            format!("{trace}\nother\nTraceback:\n… the same 4 lines again …\nlast")
        );
        assert_eq!(plain_output(&"same\n".repeat(40)), "same\nsame\n… the same 38 lines again …\n");
        for short in ["a\nb\na\nb\n", "a\n\n\n\na\n\n\n\n", "", "x", "x\n"] {
            assert_eq!(plain_output(short), short);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_lost(output in "([ab]\n|\u{1b}\\[31m|c\n|\r|\n){0,40}") {
            let output = output + "\n";
            let folded = plain_output(&output);
            let count = |line: &str| {
                let again = line.strip_prefix("… the same ").and_then(|it| it.split(' ').next());
                again.map_or(1, |count| count.parse().unwrap())
            };
            let lines: usize = folded.lines().map(count).sum();
            proptest::prop_assert_eq!(lines, output.lines().count());
            let is_plain = !folded.contains(['\u{1b}', '\r']);
            proptest::prop_assert!(is_plain);
        }
    }
}
