//! Finds the names of files in the words of a user. Pure: which of them are files is found out elsewhere.

/// A request with more names is a list of files, not a few images to look at.
const MOST: usize = 100;

/// Returns what may be the names of files, in order: words marked with `@` and words in the form of a path. Quotes and
/// backslashes keep blanks, as where a terminal pastes a path.
pub(super) fn file_names(said: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = said;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "([{<`".contains(c));
        if rest.is_empty() || names.len() >= MOST {
            return names;
        }
        let marked = rest.strip_prefix('@');
        let (word, behind) = quoted(marked.unwrap_or(rest), marked.is_some())
            .unwrap_or_else(|| unquoted(marked.unwrap_or(rest)));
        // Chinese text has no blank before the mark, and none after the name.
        let (is_marked, word) = match word.rsplit_once('@') {
            Some((before, word)) if !before.is_empty() && !before.is_ascii() => (true, word),
            _ => (marked.is_some(), word.as_str()),
        };
        let ascii = word.find(|c: char| !c.is_ascii()).and_then(|end| word.get(..end));
        for word in [Some(word), ascii].into_iter().flatten() {
            let word = word.trim_end_matches(|c: char| c != '_' && c != '/' && ends_a_name(c));
            if !word.is_empty() && (is_marked || word.contains(['.', '/'])) {
                names.push(word.to_owned());
            }
        }
        rest = behind;
    }
}

/// Punctuation after a name belongs to the sentence.
fn ends_a_name(c: char) -> bool {
    c.is_ascii_punctuation() || "。，、；：！？）」』】》”’".contains(c)
}

/// Splits a quoted name from a text that begins with it. A quotation that is not marked is a name only if it is a whole
/// path or a single word.
fn quoted(text: &str, is_marked: bool) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let (name, behind) = text.get(1..)?.split_once(quote)?;
    let is_path = is_marked || name.starts_with(['/', '~']) || !name.contains(char::is_whitespace);
    (is_path && !name.contains('\n')).then(|| (name.to_owned(), behind))
}

/// Splits a word from a text that begins with it. A quote before it is left out.
fn unquoted(text: &str) -> (String, &str) {
    let text = text.strip_prefix(['"', '\'']).unwrap_or(text);
    let text = text.strip_prefix('@').unwrap_or(text);
    let (mut word, mut is_kept) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !is_kept => is_kept = true,
            c if c.is_whitespace() && !is_kept => {
                return (word, text.get(at..).unwrap_or_default());
            }
            c => {
                word.push(c);
                is_kept = false;
            }
        }
    }
    (word, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for (said, expected) in [
            ("compare @a.png with @docs/b.png.", &["a.png", "docs/b.png"][..]),
            ("see (@a.png), please", &["a.png"]),
            ("@\"a b.png\" and @'c d.png'", &["a b.png", "c d.png"]),
            ("/home/u/a\\ b.png", &["/home/u/a b.png"]),
            ("'/home/u/a b.png' is wrong", &["/home/u/a b.png"]),
            ("\"fix what ~/a.png shows\"", &["~/a.png"]),
            ("看@shot.png里的按钮", &["shot.png里的按钮", "shot.png"]),
            ("看看 截图.png。", &["截图.png"]),
            ("ask me@example.org", &["me@example.org"]),
            ("@screenshot is one, this is not", &["screenshot"]),
            ("don't", &[]),
            ("", &[]),
        ] {
            assert_eq!(file_names(said), expected, "{said}");
        }
    }
}
