//! Long lines are shortened before a model sees them, and put back into its diff. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

/// Longer lines are shortened, in bytes.
const LONGEST: usize = 4_000;
/// A text of at most this many bytes is shown as it is.
const SHORT_TEXT: usize = 16_000;
/// What is shown of the beginning and of the end of a shortened line, in bytes.
const BEGINNING: usize = 300;
const END: usize = 100;
/// The marks around what is said in place of the middle of a line.
const OPENING: &str = "[…";
const CLOSING: &str = " bytes that are not shown…]";

/// Returns `text` with the middle of each long line left out and marked. Different lines stay different.
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= SHORT_TEXT || lines_of(text).all(|line| line.len() <= LONGEST) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| short_of(line).map_or(Cow::Borrowed(line), Cow::Owned))
        .collect::<String>()
        .into()
}

/// Returns true if every line of a text is shortened, so that nothing of it can be changed.
pub fn is_all_shortened(text: &str) -> bool {
    let mut lines = lines_of(text).filter(|line| !line.trim().is_empty()).peekable();
    text.len() > SHORT_TEXT && lines.peek().is_some() && lines.all(|line| line.len() > LONGEST)
}

/// Returns `diff` with the shortened lines of `texts` in full; these are asked for only if there are any.
///
/// A new line is put back only if it is also removed in the same hunk.
///
/// # Errors
/// Returns a shortened line that is not one of `texts`, or is new.
pub fn restored(diff: &str, texts: impl FnOnce() -> Vec<String>) -> Result<Cow<'_, str>, &str> {
    if !diff.contains(CLOSING) {
        return Ok(Cow::Borrowed(diff));
    }
    let texts = texts();
    let lines = || texts.iter().flat_map(|text| lines_of(text));
    let long = texts.iter().filter(|text| text.len() > SHORT_TEXT).flat_map(|text| lines_of(text));
    let known: BTreeMap<String, &str> =
        long.filter_map(|line| Some((short_of(line)?, line))).collect();
    let literal: BTreeSet<&str> = lines().filter(|line| is_short(line)).collect();
    let all: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut whole = String::with_capacity(diff.len());
    for hunk in all.chunk_by(|_, next| !next.starts_with("@@") && !next.starts_with("--- ")) {
        for line in hunk {
            let content = line.trim_end_matches(['\n', '\r']);
            let (sign, said) = content.split_at_checked(1).unwrap_or_default();
            let is_removed =
                || hunk.iter().any(|it| it.strip_prefix('-').map(str::trim_end) == Some(said));
            if !is_short(said) || literal.contains(said) {
                whole.push_str(line);
                continue;
            }
            let full = known.get(said).filter(|_| sign != "+" || is_removed()).ok_or(content)?;
            whole.extend([sign, full, line.get(content.len()..).unwrap_or_default()]);
        }
    }
    Ok(whole.into())
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.trim_end_matches('\r'))
}

/// Returns a long line without its middle, with its line end.
fn short_of(line: &str) -> Option<String> {
    let content = line.trim_end_matches(['\n', '\r']);
    if content.len() <= LONGEST {
        return None;
    }
    let beginning = content.get(..content.floor_char_boundary(BEGINNING))?;
    let end = content.get(content.ceil_char_boundary(content.len() - END)..)?;
    let left_out = content.len() - beginning.len() - end.len();
    let digest = Sha256::digest(content.as_bytes());
    let [a, b, c, ..] = *digest.as_slice() else { return None };
    let line_end = line.get(content.len()..)?;
    Some(format!("{beginning}{OPENING}{a:02x}{b:02x}{c:02x}: {left_out}{CLOSING}{end}{line_end}"))
}

/// Returns true if a line is marked as shortened.
fn is_short(line: &str) -> bool {
    line.split_once(OPENING).is_some_and(|(_, rest)| rest.contains(CLOSING))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> String {
        format!("a\n\"{}\",\r\n\"{}中\",\nb\n", "x".repeat(9_000), "é".repeat(9_000))
    }

    #[test]
    fn the_middle_of_long_lines_is_left_out() {
        let (file, text) = (file(), "a\nb\n");
        let short = shortened(&file);
        assert_eq!(short.lines().count(), 4);
        assert!(short.len() < 1_100, "{}", short.len());
        assert!(short.contains(": 8603 bytes that are not shown…]xxx"), "{short}");
        assert!(short.contains("xxx\",\r\n\"é") && short.ends_with("中\",\nb\n"), "{short}");
        assert!(matches!(shortened(text), Cow::Borrowed(_)));
        let other = file.replacen("xxxxx", "xyxxx", 1);
        assert_ne!(shortened(&other), short);
    }

    #[test]
    fn a_file_of_long_lines_only_has_nothing_to_change() {
        assert!(is_all_shortened(&format!("{}\n\n", "x".repeat(20_000))));
        assert!(!is_all_shortened(&"x".repeat(SHORT_TEXT)), "it is shown as it is");
        assert!(!is_all_shortened(&file()) && !is_all_shortened("") && !is_all_shortened("a\n"));
    }

    #[test]
    fn context_and_removed_lines_are_put_back() {
        let file = file();
        let short = shortened(&file).into_owned();
        let [_, first, second, _] = *lines(&short) else { panic!("four lines") };
        let in_full = |diff: &str| {
            lines(&short).iter().zip(lines(&file)).fold(diff.to_owned(), |diff, (short, line)| {
                diff.replace(short.trim_end(), line.trim_end())
            })
        };
        for (diff, is_ok) in [
            (format!("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\n+c\n {first}"), true),
            (format!("@@ -2,2 +1,0 @@\n-{first}-{second}"), true),
            (format!("@@ -2 +2,2 @@\n-{second}+c\n+{second}"), true),
            (format!("@@ -1 +1,2 @@\n a\n+{second}"), false),
            ("@@ -1 +1,2 @@\n a\n".to_owned(), true),
        ] {
            let back = restored(&diff, || vec![file.clone()]);
            assert_eq!(back.as_deref().ok(), is_ok.then(|| in_full(&diff)).as_deref());
        }
        let diff = format!("@@ -2 +2 @@\n {first}");
        assert!(restored(&diff, || vec!["other\n".to_owned()]).is_err());
        assert_eq!(
            restored(&diff, || vec![short.clone()]).as_deref(),
            Ok(diff.as_str()),
            "the file has it so"
        );
    }

    fn lines(file: &str) -> Vec<&str> {
        file.split_inclusive('\n').collect()
    }
}
