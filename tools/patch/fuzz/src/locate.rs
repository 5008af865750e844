//! Applies a correct diff that may be damaged: the result is exactly the intended text or a refusal, never any other
//! text.
//!
//! A case is three lines of text: how many lines of context (a digit) and the damage to the diff (letters, see
//! [`Damage`], each with a digit for its variant); the file before; the file after. Every character of the last two is
//! a line, from a small alphabet, so that lines repeat; a `$` at the end says that the last line has no newline.
//!
//! Some damage makes another reading legitimate: the order in which `docs/patching.md` says that a hunk finds its place
//! then leads elsewhere, and nothing is known about the text. The following holds for each hunk:
//!
//! - Correct line numbers: the place is the true one if the old lines are correct, or if their damaged form is nowhere
//!   else in the file (an exact place elsewhere takes precedence over an inexact one at the line).
//! - No line numbers: the place is the true one, or the hunk is refused, because the true one matches exactly; if old
//!   lines are damaged, this holds only if nothing else is similar by the loosest comparison.
//! - Wrong line numbers: the same, if nothing else in the file equals the old lines (or is similar, if they are
//!   damaged), and if the new lines are not where the header points, where they would count as applied.
//! - A hunk without old lines has only its numbers: nothing is known if they are wrong.
//! - LF for CRLF can only be detected where an old line that ends in CRLF is compared.
//! - Line numbers copied before old lines: correct ones lead to the true place, wrong ones nowhere else if the header
//!   is correct; an added line next to them that begins with such a number itself may be taken for a numbered one.
//! - Counts, fences, indentation, order and repetition never make another reading legitimate.
//!
//! Blank lines without a marker at the end of a hunk may be taken for the end of the answer. The hunk is then shorter,
//! and all of this must hold for the shorter one.

use config::ApplyStrategy;
use deepseek_patch::{
    ApplyPlan, PatchLimits, PatchScope, Refusal, Repair, Tolerances, prepare_with,
};
use similar::{ChangeTag, TextDiff};

use super::damage::{self, Damage, Hunk, Line};
use super::tree::{Tree, path};

/// The maximum number of lines of a file: repetition and conflicts need no more.
const MAX_LINES: usize = 60;
/// Lines that look like nothing else.
const WORDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
/// The maximum number of damages to one diff: one of them doubles it.
const MAX_DAMAGES: usize = 5;

/// Interprets `input` as a case and checks it.
pub fn check(input: &[u8]) {
    let Some(case) = Case::read(input) else { return };
    let [before, after] = [&case.before, &case.after]
        .map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&before, &after);
    let undamaged =
        diff.unified_diff().context_radius(case.context).header("a/f", "b/f").to_string();
    let mut hunks = damage::hunks(&diff, case.context);
    assert_eq!(damage::render(&hunks, &[]), undamaged, "the diff was modelled incorrectly");
    for allowed in [Tolerances::NONE, Tolerances::ALL] {
        let applied = case.apply(&undamaged, allowed);
        assert_eq!(applied, Ok((case.after.concat(), Vec::new())), "{undamaged}");
    }

    let originals = hunks.clone();
    case.damages.iter().for_each(|damage| damage::damage(&mut hunks, *damage));
    let answer = damage::render(&hunks, &case.damages);
    let pairs: Vec<(&Hunk, &Hunk)> =
        hunks.iter().filter_map(|hunk| Some((hunk, originals.get(hunk.index)?))).collect();
    let is_sound = pairs.iter().all(|(hunk, original)| case.has_one_reading(hunk, original));
    match case.apply(&answer, Tolerances::ALL) {
        Ok((text, _)) if is_sound => assert_eq!(text, case.after.concat(), "{answer}"),
        Ok(_) => {}
        Err(refusal) => assert!(!case.must_be_understood(&pairs), "{refusal}\n{answer}"),
    }
}

/// A case read from the input. Lines include their ends.
struct Case {
    context: usize,
    damages: Vec<Damage>,
    before: Vec<String>,
    after: Vec<String>,
}

impl Case {
    /// Returns `None` if there is nothing to do, or the damage is impossible.
    fn read(input: &[u8]) -> Option<Case> {
        let mut parts = input.splitn(3, |byte| *byte == b'\n');
        let (options, before, after) = (parts.next()?, parts.next()?, parts.next()?);
        let number = |at: usize| {
            options.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0')
        };
        let damage = |(at, letter): (usize, &u8)| Damage::of(*letter, number(at + 1).unwrap_or(1));
        let damages: Vec<Damage> =
            options.iter().enumerate().filter_map(damage).take(MAX_DAMAGES).collect();
        let crlf = damages.contains(&Damage::Lf);
        let (before, after) = (lines(before, crlf), lines(after, crlf));
        let has_cr = || before.iter().chain(&after).any(|line| line.contains('\r'));
        // If nothing else is about diffs, the line is taken for a no-newline marker.
        let is_end = |line: &String| line.starts_with("\\ No newline");
        let says_end = after.iter().any(is_end) && !before.iter().any(is_end);
        let is_possible = (!damages.contains(&Damage::CrLf) || !has_cr()) && !says_end;
        let context = usize::from(number(0).unwrap_or(3) % 4);
        (before != after && is_possible).then_some(Case { context, damages, before, after })
    }

    /// Applies `answer` to the file; returns the text and the repairs.
    fn apply(&self, answer: &str, allowed: Tolerances) -> Result<(String, Vec<Repair>), Refusal> {
        let before = self.before.concat();
        let tree = Tree::default().file("f", &before);
        let scope = PatchScope { declared: Some([path("f")].into()), ..PatchScope::default() };
        let read = |path: &_| tree.read(path);
        let ApplyPlan { changes, repairs, .. } = prepare_with(
            answer.as_bytes(),
            &scope,
            ApplyStrategy::Auto,
            &PatchLimits::default(),
            &read,
            allowed,
        )?;
        let after = changes.first().and_then(|change| change.after.as_ref());
        let after = after.map(|state| String::from_utf8_lossy(&state.bytes).into_owned());
        Ok((after.unwrap_or(before), repairs))
    }

    /// Returns true if `hunk` can mean nothing but the true place.
    fn has_one_reading(&self, hunk: &Hunk, original: &Hunk) -> bool {
        let core: Vec<&Line> = hunk.core().iter().filter(|line| line.is_old()).collect();
        let numbers_are_right =
            hunk.has_numbers && (hunk.old.0, hunk.new.0) == (original.old.0, original.new.0);
        let is_right = core
            .iter()
            .zip(original.lines.iter().filter(|line| line.is_old()))
            .all(|(line, right)| line.text == right.text && line.is_clear());
        let adds = hunk.lines.iter().any(|line| line.tag == ChangeTag::Insert);
        let sees_line_ends = core.iter().any(|line| line.ended);
        if self.damages.contains(&Damage::Lf) && adds && !sees_line_ends {
            return false;
        }
        // Added lines that look numbered, next to numbered ones, are read as numbered.
        let looks_numbered = |line: &Line| !line.is_old() && line.text.contains('|');
        let bare_is_unclear =
            self.damages.contains(&Damage::Copied(0)) && hunk.lines.iter().any(looks_numbered);
        let is_wrong = |damage: &Damage| matches!(damage, Damage::Copied(3..));
        if bare_is_unclear || self.damages.iter().any(is_wrong) && !numbers_are_right {
            return false;
        }
        if core.is_empty() {
            return numbers_are_right || !hunk.has_numbers;
        }
        let only_true = |places: Vec<usize>| places.iter().all(|place| *place == hunk.truth);
        let (exact, like) = (self.places(&core, exactly), self.places(&core, loosely));
        match (is_right, numbers_are_right, hunk.has_numbers) {
            (true, true, _) | (true, false, false) => true,
            (true, false, true) | (false, true, _) => only_true(exact),
            (false, false, has_numbers) => {
                only_true(like) && !(has_numbers && self.seems_done(hunk))
            }
        }
    }

    /// Returns where in the file `old` lines are.
    fn places(&self, old: &[&Line], same: fn(&Line, &str) -> bool) -> Vec<usize> {
        let windows = self.before.windows(old.len()).enumerate();
        let fits = |window: &[String]| old.iter().zip(window).all(|(line, file)| same(line, file));
        windows.filter(|(_, window)| fits(window)).map(|(at, _)| at).collect()
    }

    /// Returns true if the new lines of `hunk` are where its header points.
    fn seems_done(&self, hunk: &Hunk) -> bool {
        let new: Vec<&Line> = hunk.core().iter().filter(|line| line.is_new()).collect();
        let starts = [hunk.old.0, hunk.new.0].map(|line| line.saturating_sub(1));
        new.is_empty() || self.places(&new, exactly).iter().any(|place| starts.contains(place))
    }

    /// Returns true if the damage is always repaired: a refusal would be needlessly strict.
    fn must_be_understood(&self, hunks: &[(&Hunk, &Hunk)]) -> bool {
        let harmless = |damage: &Damage| match damage {
            Damage::Indented
            | Damage::Fenced
            | Damage::CrLf
            | Damage::Blank
            | Damage::Counts(_) => true,
            Damage::Numbers(_) | Damage::NoNumbers => hunks.len() == 1,
            Damage::Copied(number) => {
                let has_numbers =
                    || self.before.iter().chain(&self.after).any(|line| line.contains('|'));
                *number < 3 && self.damages.len() == 1 && !has_numbers()
            }
            Damage::Cut
            | Damage::Trailing(_)
            | Damage::Marker
            | Damage::Space
            | Damage::Punctuation
            | Damage::Twice
            | Damage::Reversed
            | Damage::Lf => false,
        };
        let is_clear = |(hunk, _): &(&Hunk, &Hunk)| {
            let core: Vec<&Line> = hunk.core().iter().filter(|line| line.is_old()).collect();
            let keeps_place = !self
                .damages
                .iter()
                .any(|damage| matches!(damage, Damage::Numbers(_) | Damage::NoNumbers));
            !core.is_empty()
                && (keeps_place
                    || self.places(&core, exactly) == [hunk.truth] && !self.seems_done(hunk))
        };
        // `--- x` and `+++ x` in a hunk whose counts do not hold are the header of another file.
        let looks_like_a_header =
            |line: &String| line.starts_with("-- ") || line.starts_with("++ ");
        let has_headers = self.before.iter().chain(&self.after).any(looks_like_a_header);
        self.damages.iter().all(harmless) && hunks.iter().all(is_clear) && !has_headers
    }
}

/// Returns the lines that the characters of `text` stand for.
fn lines(text: &[u8], crlf: bool) -> Vec<String> {
    let (text, ended) = text.strip_suffix(b"$").map_or((text, true), |text| (text, false));
    let text = text.get(..MAX_LINES).unwrap_or(text);
    let line = |letter: &u8| match letter {
        b' ' => "",
        b',' => "}",
        b'.' => "    }",
        b'-' => "-- x",
        b'+' => "++ x",
        b'@' => "@@ -1 +1 @@",
        b'\\' => "\\ No newline at end of file",
        b'`' => "```",
        b'>' => "</diff>",
        b'#' => "diff --git a/x b/x",
        b'R' if !crlf => "a\r",
        b'T' => "a  ",
        b'S' => "\ta",
        b'W' => "    a",
        b'Q' => "say \"a\" - b...",
        b'N' => "   2| a",
        b'P' => "say \u{201d}a\u{201d} \u{2013} b\u{2026}",
        other => {
            WORDS.get(usize::from(other.wrapping_sub(b'a')) % WORDS.len()).copied().unwrap_or("a")
        }
    };
    let end = if crlf { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.iter().map(|letter| [line(letter), end].concat()).collect();
    if let Some(last) = lines.last_mut().filter(|_| !ended) {
        last.truncate(last.trim_end_matches(['\r', '\n']).len());
    }
    lines.retain(|line| !line.is_empty());
    lines
}

fn exactly(line: &Line, file: &str) -> bool {
    let (text, ended) = file.strip_suffix('\n').map_or((file, false), |text| (text, true));
    line.text == text && line.ended == ended
}

/// Compares as loosely as any tier, and a little more loosely: no white space at all, and ASCII for typographic
/// characters.
fn loosely(line: &Line, file: &str) -> bool {
    let plain = |text: &str| {
        let typed =
            text.replace('\u{201d}', "\"").replace('\u{2013}', "-").replace('\u{2026}', "...");
        typed.split_whitespace().collect::<String>()
    };
    plain(&line.text) == plain(file)
}
