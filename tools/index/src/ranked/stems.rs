//! The words of a text that are worth indexing, as stems, by line. Pure.

use tools::words::{han_pairs, is_han, split_at_han, words_of_name};

use crate::ranked::stem::stem;

/// Longer lines, in bytes, were not written by hand.
const MAX_LINE_BYTES: usize = 2000;
/// Longer words, in bytes, are hashes and encoded data.
const MAX_WORD_BYTES: usize = 40;
/// Longer numbers are data.
const MAX_DIGITS: usize = 5;

/// Calls `on_word` with the line, from 1, and the stem of every word of `text`.
pub(crate) fn each_by_line(text: &str, mut on_word: impl FnMut(u32, &str)) {
    let mut buffer = String::new();
    for (line, number) in text.lines().zip(1..) {
        if line.len() <= MAX_LINE_BYTES {
            each_with(line, &mut buffer, &mut |word| on_word(number, word));
        }
    }
}

/// Calls `on_word` with the stem of every word of `text`.
pub(crate) fn each(text: &str, mut on_word: impl FnMut(&str)) {
    each_with(text, &mut String::new(), &mut on_word);
}

fn each_with(text: &str, buffer: &mut String, on_word: &mut impl FnMut(&str)) {
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        for piece in split_at_han(run) {
            if piece.starts_with(is_han) {
                han_pairs(piece).for_each(&mut *on_word);
            } else {
                words_of_name(piece).for_each(|word| one(word, buffer, on_word));
            }
        }
    }
}

fn one(word: &str, buffer: &mut String, on_word: &mut impl FnMut(&str)) {
    let is_number = word.len() > MAX_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
    if word.len() < 2 || word.len() > MAX_WORD_BYTES || is_number {
        return;
    }
    buffer.clear();
    if word.is_ascii() {
        buffer.push_str(word);
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(word.chars().flat_map(char::to_lowercase));
    }
    stem(buffer);
    on_word(buffer);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(u32, String)> {
        let mut words = Vec::new();
        each_by_line(text, |line, word| words.push((line, word.to_owned())));
        words
    }

    fn plain(text: &str) -> Vec<String> {
        of(text).into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn identifiers_are_split_and_stemmed() {
        assert_eq!(plain("parse_range HttpClients"), ["pars", "rang", "http", "client"]);
        assert_eq!(plain("HTTPServer2 __init__ utf8"), ["http", "server2", "init", "utf8"]);
        assert_eq!(plain("größeMax a 1234567 404"), ["größe", "max", "404"]);
    }

    #[test]
    fn chinese_is_split_into_pairs() {
        assert_eq!(plain("登录页面 x修"), ["登录", "录页", "页面", "修"]);
    }

    #[test]
    fn lines_are_counted_from_one_and_long_ones_are_skipped() {
        let text = format!("one\n\n{}\r\ntwo two", "long ".repeat(500));
        let words = [(1, "one"), (4, "two"), (4, "two")].map(|(line, word)| (line, word.into()));
        assert_eq!(of(&text), words);
    }

    proptest::proptest! {
        #[test]
        fn words_are_never_empty(text in "\\PC{0,60}|[a-zA-Z_ 修页\n]{0,60}") {
            for (line, word) in of(&text) {
                proptest::prop_assert!(!word.is_empty() && line >= 1);
            }
        }
    }
}
