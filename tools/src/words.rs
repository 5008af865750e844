//! Where the words of names and of Chinese text begin and end. Which words matter is for the caller to say. Pure.

use std::iter;

/// Returns whether a character is Chinese.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Splits `text` where it changes between Chinese and anything else, because Chinese has no spaces around it.
pub fn split_at_han(text: &str) -> impl Iterator<Item = &str> {
    pieces(text, |before, c, _| is_han(before) != is_han(c))
}

/// Splits a name such as `parse_range`, `HttpClient` or `HTTPServer2` into its words.
pub fn words_of_name(name: &str) -> impl Iterator<Item = &str> {
    name.split('_').flat_map(|word| pieces(word, is_hump))
}

/// Returns whether a word of a name begins at `c`, between these neighbours: at a capital after anything else, and at the
/// last of several if a small letter follows.
pub fn is_hump(before: char, c: char, after: Option<char>) -> bool {
    c.is_uppercase() && (!before.is_uppercase() || after.is_some_and(char::is_lowercase))
}

/// Returns every pair of neighbouring characters of Chinese text, which has no spaces between its words. A character on its own
/// stands for itself.
pub fn han_pairs(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = starts.clone().skip(2).chain([text.len()]);
    starts.zip(ends).filter_map(|(start, end)| text.get(start..end))
}

/// Splits `text` before each character that begins a piece, as its neighbours tell.
fn pieces(
    text: &str,
    begins: impl Fn(char, char, Option<char>) -> bool,
) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let mut chars = rest.char_indices().peekable();
        let (_, mut before) = chars.next()?;
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            if begins(before, c, chars.peek().map(|(_, after)| *after)) {
                end = at;
                break;
            }
            before = c;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (name, words) in [
            ("parse_range", "parse range"),
            ("HttpClient", "Http Client"),
            ("HTTPServer2", "HTTP Server2"),
            ("utf8Name", "utf8 Name"),
            ("__x__", "x"),
            ("plain", "plain"),
            ("größeMax", "größe Max"),
            ("_", ""),
        ] {
            let split: Vec<&str> = words_of_name(name).collect();
            assert_eq!(split.join(" "), words, "{name}");
        }
    }

    #[test]
    fn chinese_is_split_from_the_rest_and_into_pairs() {
        assert_eq!(split_at_han("修复main函数").collect::<Vec<_>>(), ["修复", "main", "函数"]);
        assert_eq!(han_pairs("登录页面").collect::<Vec<_>>(), ["登录", "录页", "页面"]);
        assert_eq!(han_pairs("修").collect::<Vec<_>>(), ["修"]);
        assert!(han_pairs("").next().is_none());
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_the_text_and_never_empty(text in "\\PC{0,60}|[a-zA-Z_修页]{0,60}") {
            let split: Vec<&str> = split_at_han(&text).collect();
            proptest::prop_assert_eq!(split.concat(), text.as_str());
            let words: Vec<&str> = words_of_name(&text).collect();
            proptest::prop_assert_eq!(words.concat(), text.replace('_', ""));
            let mut all = split.into_iter().chain(words).chain(han_pairs(&text));
            proptest::prop_assert!(all.all(|piece| !piece.is_empty()));
        }
    }
}
