//! Reads whether the text between two blocks that change one file takes the first one back. Pure.

use super::said::{self, clauses, has, is_any, words};

/// Words of several languages for what is wrong, each with those for what is right instead.
const PAIRS: [[&[&str]; 2]; 7] = [
    [&["falsch", "fehlerhaft"], &["richtig", "korrekt"]],
    [&["faux", "fausse"], &["bonne", "bon ", "correct"]],
    [&["estaba mal", "está mal", "es incorrecto"], &["correcto", "correcta"]],
    [&["неверно", "неправильно", "ошибка"], &["правильно", "верно", "исправлен"]],
    [&["間違い", "間違え", "誤り"], &["正しく", "正しい"]],
    [&["不对", "不正确", "错了", "有误"], &["改用", "正确", "应该是", "应改为"]],
    [&["errado", "sbagliato"], &["correto", "corretta", "corretto"]],
];
/// Words for a complete answer.
const WHOLE: &str = "answer attempt diff patch solution version";
/// Words for a better one.
const BETTER: &str = "corrected final fixed improved revised";
/// Other words of such a heading.
const AROUND: &str = "a here here's is my the this";
/// Words that begin a correction.
const INTERJECTIONS: &str = "actually hmm no oops sorry wait";

/// Returns true if a heading between two blocks for one file says that the second one replaces the first: `Final
/// answer:`, `No wait, not there. Here:`, `Das war falsch. Richtig ist:`
pub(super) fn replaces_above(line: &[u8]) -> bool {
    let end = line.trim_ascii_end();
    let is_heading = [":".as_bytes(), "：".as_bytes(), b":**"].iter().any(|it| end.ends_with(it));
    if !is_heading || memchr::memchr(b'`', line).is_some() {
        return false;
    }
    let Some(text) = said::lowercase(line) else { return false };
    let all: Vec<&str> = words(&text).collect();
    let is_better = is_any(&all, BETTER)
        && is_any(&all, WHOLE)
        && all.iter().all(|word| [WHOLE, BETTER, AROUND].iter().any(|list| has(list, word)));
    let takes_back = |clause: &str| {
        let words: Vec<&str> = words(clause).collect();
        matches!(words[..], ["not", "there" | "that" | "this" | "here"])
    };
    let is_interjection = |clause: &str| {
        let mut words = words(clause).peekable();
        words.peek().is_some() && words.all(|word| has(INTERJECTIONS, word))
    };
    let corrects_itself = clauses(&text).next().is_some_and(is_interjection);
    let is_instead = || all.last() == Some(&"instead") || clauses(&text).any(takes_back);
    is_better || corrects_itself && is_instead() || is_put_right(&text)
}

/// Returns true if a text calls something wrong, and then something else right, in one of several languages.
fn is_put_right(text: &str) -> bool {
    PAIRS.iter().any(|[wrong, right]| {
        let mut ends = wrong.iter().filter_map(|it| Some(text.find(it)? + it.len()));
        let rest = ends.next().and_then(|end| text.get(end..));
        rest.is_some_and(|rest| right.iter().any(|it| rest.contains(it)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_told_apart_from_the_next_step() {
        for line in [
            "Final answer:",
            "**Corrected version:**",
            "Here is the revised diff:",
            "No wait, not there. Here:",
            "Wait, no. That breaks the callers. Instead:",
            "Moment, das war falsch. Richtig ist:",
            "Non, c\u{2019}est faux. La bonne version :",
            "Eso estaba mal. Lo correcto es:",
            "Нет, это неверно. Правильно так:",
            "上の差分は間違いです。正しくは:",
            "等等,上面的修改不对。请改用:",
        ] {
            assert!(replaces_above(line.as_bytes()), "{line}");
        }
        for line in [
            "Then update the second function:",
            "Final change:",
            "The final version of the loop:",
            "And the version:",
            "No tests are there. Here is one:",
            "Jetzt die zweite Funktion:",
            "Ensuite, la fonction suivante :",
            "No allocation is needed. Instead:",
            "Oops, the import is missing as well:",
            "The index was incorrect. Correct it here too:",
            "Die Summe war falsch:",
            "`parse` war falsch. Richtig ist:",
            "最后修改第二个函数:",
            "Der Rest ist richtig.",
            "",
        ] {
            assert!(!replaces_above(line.as_bytes()), "{line}");
        }
    }
}
