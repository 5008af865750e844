//! Decorates a correct diff the way models do: the result is the intended file or a refusal, never anything else.
//!
//! A case is a digit, which selects the file and its change, followed by pairs of a letter and a digit, each of which
//! decorates the answer. Every line of every file is unique, so that a diff has one meaning however it is decorated.
//! Decorations that may change the meaning are left out: a lost `-`, a bare fence where nothing is counted, a line that
//! lost its `+` after a bare fence and a blank line, and prose after a hunk that lost lines and has wrong counts
//! outside of a fence.

use config::ApplyStrategy;
use deepseek_patch::{PatchLimits, PatchScope, Tolerances, prepare_with};

use super::tree::{Tree, path};

/// The number of lines of the file that is changed.
const LINES: usize = 24;
/// The maximum number of decorations of one answer.
const MAX_DRESSES: usize = 6;
/// The file that must not change.
const OTHER: &str = "other.py";

/// Interprets `input` as a case and checks it.
pub fn check(input: &[u8]) {
    let Some((base, dresses)) = input.split_first() else { return };
    if !base.is_ascii_digit() || !dresses.is_ascii() {
        return;
    }
    let base = Base::of(usize::from(base - b'0'));
    let pairs = dresses.chunks_exact(2).take(MAX_DRESSES);
    let pairs: Vec<(u8, usize)> =
        pairs.filter_map(|pair| Some((*pair.first()?, usize::from(*pair.get(1)?)))).collect();
    let has = |letters: &[u8]| pairs.iter().any(|(letter, _)| letters.contains(letter));
    if has(b"n") && has(b"wxp") && !has(b"f") {
        return;
    }
    let mut lines = base.diff();
    // Decorations inside the diff come first, then those around it.
    for (letter, at) in pairs.iter().filter(|(letter, _)| letter.is_ascii_lowercase()) {
        inside(&mut lines, *letter, *at);
    }
    let mut answer = lines.join("\n") + "\n";
    let mut around: Vec<(u8, usize)> =
        pairs.iter().copied().filter(|(letter, _)| !letter.is_ascii_lowercase()).collect();
    // Each kind is used once, and text glued to the end comes last.
    around.sort_by_key(|(letter, _)| (*letter == b'T', b"KJ".contains(letter), *letter));
    around.dedup_by_key(|(letter, _)| if b"GHK".contains(letter) { b'G' } else { *letter });
    if has(b"e") && (has(b"vx") || has(b"n") && has(b"b"))
        || has(b"f") && has(b"GHK")
        || has(b"J") && has(b"GHK")
    {
        return;
    }
    if has(b"f") {
        answer = format!("```diff\n{answer}```\n");
    }
    for (letter, at) in &around {
        answer = dressed(&answer, *letter, *at);
    }

    let tree = Tree::default().file("f", &base.before);
    let tree = if base.before.is_empty() { Tree::default() } else { tree };
    let declared = [path("f"), path(OTHER)].into();
    let scope = PatchScope { declared: Some(declared), ..PatchScope::default() };
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    let read = |path: &_| tree.read(path);
    let plan = prepare_with(answer.as_bytes(), &scope, auto, &limits, &read, Tolerances::ALL);
    let Ok(plan) = plan else { return };
    let made = plan.changes.first().and_then(|change| change.after.as_ref());
    let made = made.map(|state| String::from_utf8_lossy(&state.bytes));
    assert_eq!(made.as_deref(), Some(base.after.as_str()), "{answer}");
    assert!(
        !around.iter().any(|(letter, _)| b"UO".contains(letter)),
        "only a part was applied\n{answer}"
    );
}

/// A file, and the intended result.
struct Base {
    before: String,
    after: String,
    hunks: Vec<String>,
}

impl Base {
    /// Even numbers change a file, in one place or two; odd numbers create one.
    fn of(number: usize) -> Base {
        if number % 2 == 1 {
            let lines: Vec<String> = (0..number).map(|at| format!("new {at}")).collect();
            let body: Vec<String> = lines.iter().map(|line| format!("+{line}")).collect();
            let hunks = vec![format!("@@ -0,0 +1,{number} @@\n{}", body.join("\n"))];
            return Base { before: String::new(), after: lines.join("\n") + "\n", hunks };
        }
        let old: Vec<String> = (0..LINES)
            .map(|at| if at == 5 { String::new() } else { format!("old {at}") })
            .collect();
        let context = 1 + number / 4;
        let (mut new, mut hunks, mut grown) = (Vec::new(), Vec::new(), 0);
        let places: &[usize] = if number < 4 { &[7] } else { &[7, 17] };
        for (at, line) in old.iter().enumerate() {
            if !places.contains(&at) {
                new.push(line.clone());
                continue;
            }
            let added: Vec<String> =
                (0..=number % 3 + 1).map(|n| format!("new {at} {n}")).collect();
            let lines = |marker: char, lines: &[String]| -> Vec<String> {
                lines.iter().map(|line| format!("{marker}{line}")).collect()
            };
            let old = |from: usize, to: usize| old.get(from..to).unwrap_or_default();
            let body = [
                lines(' ', old(at - context, at)),
                lines('-', old(at, at + 1)),
                lines('+', &added),
                lines(' ', old(at + 1, at + 1 + context)),
            ];
            let (start, count) = (at + 1 - context, 2 * context + 1);
            hunks.push(format!(
                "@@ -{start},{count} +{},{} @@\n{}",
                start + grown,
                count - 1 + added.len(),
                body.concat().join("\n")
            ));
            grown += added.len() - 1;
            new.extend(added);
        }
        Base { before: old.join("\n") + "\n", after: new.join("\n") + "\n", hunks }
    }

    fn diff(&self) -> Vec<String> {
        let old = if self.before.is_empty() { "/dev/null" } else { "a/f" };
        let names = [format!("--- {old}"), "+++ b/f".to_owned()];
        let hunks = self.hunks.iter().flat_map(|hunk| hunk.lines().map(str::to_owned));
        names.into_iter().chain(hunks).collect()
    }
}

/// Changes the lines of a diff.
fn inside(lines: &mut Vec<String>, letter: u8, at: usize) {
    let place = (3 + at % lines.len().saturating_sub(2).max(1)).min(lines.len());
    let header = lines.iter().position(|line| line.starts_with("@@"));
    let is_marked =
        |line: &&mut String, marker| line.starts_with(marker) && !line.starts_with("+++");
    let unmark = |lines: &mut [String], marker: char| {
        let count = lines.iter_mut().filter(|line| is_marked(line, marker)).count().max(1);
        if let Some(line) = lines.iter_mut().filter(|line| is_marked(line, marker)).nth(at % count)
        {
            *line = line.replacen(marker, "", 1);
        }
    };
    let reheaded = |lines: &mut [String], change: &dyn Fn(&str) -> String| {
        for line in lines.iter_mut().filter(|line| line.starts_with("@@")) {
            *line = change(line);
        }
    };
    match (letter, header) {
        (b'n', _) => unmark(lines, '+'),
        (b'm', _) => unmark(lines, ' '),
        (b'b', _) => lines.insert(place, String::new()),
        (b'e', _) => lines.insert(place, "```".to_owned()),
        (b'p', _) => lines.insert(place, "And then this".to_owned()),
        (b'w', _) => reheaded(lines, &|line| line.replacen(" @@", &format!("{} @@", at % 4), 1)),
        (b's', _) => reheaded(lines, &|line| line.replacen("@@ -", &format!("@@ -{}", at % 4), 1)),
        (b'x', _) => reheaded(lines, &|_| "@@ @@".to_owned()),
        (b'd', Some(header)) => {
            lines.insert(header, lines.get(header).cloned().unwrap_or_default());
        }
        (b'o', Some(header)) => lines.insert(header + 1, String::new()),
        (b'v', _) => lines.retain(|line| !line.starts_with("@@")),
        (b'y', _) => lines.swap(0, 1),
        _ => {}
    }
}

/// Puts decorations around an answer.
fn dressed(answer: &str, letter: u8, at: usize) -> String {
    let all =
        |prefix: &str| -> String { answer.lines().flat_map(|line| [prefix, line, "\n"]).collect() };
    match letter {
        b'G' => format!("```diff\n{answer}"),
        b'H' => format!("{answer}```\n"),
        b'K' => format!("```\n{}```", answer.trim_end()),
        b'Q' => all("> "),
        b'I' => all(if at.is_multiple_of(2) { "    " } else { "\t" }),
        b'C' => answer.lines().flat_map(|line| ["\u{1b}[32m", line, "\u{1b}[0m\n"]).collect(),
        b'Z' => all("\u{200b}"),
        b'R' => answer.replace('\n', "\r\n"),
        b'T' => format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old 0\n+thought\n</think>\n{answer}"),
        b'J' => format!("{}<|im_end|>", answer.trim_end()),
        b'L' => {
            format!("{answer}\n{} Added some lines\n", if at.is_multiple_of(2) { "+" } else { "-" })
        }
        b'P' => format!("Here it is:\n\n{answer}\nThat is all.\n"),
        b'S' => format!("{answer}-- \nYour assistant\n"),
        b'U' => format!("{answer}\n<<<<<<< SEARCH\nold 0\n=======\nold\n>>>>>>> REPLACE\n"),
        b'O' => format!("{answer}\n`{OTHER}`:\n\n```python\nx = 1\n```\n"),
        _ => answer.to_owned(),
    }
}
