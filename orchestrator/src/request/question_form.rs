//! Whether a request has the form of a question. Pure.

/// Returns true if a request has the form of a question: a question mark ends it, and one of `words` begins it. Words that
/// are not Latin may stand anywhere. A wish in the form of a question ("can you fix it?") begins otherwise.
pub(crate) fn is_question(request: &str, words: &[String]) -> bool {
    let said = request.trim().trim_end_matches(['"', '\'', '`', ')', '”', '»', '」']);
    let first = said.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let first = first.unwrap_or_default();
    let asks = |word: &String| {
        if word.is_ascii() {
            first.eq_ignore_ascii_case(word)
        } else {
            said.contains(word.as_str())
        }
    };
    said.ends_with(['?', '？']) && words.iter().any(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_its_mark_and_its_word() {
        let words = ["what", "is", "do", "什么", "怎么"].map(str::to_owned);
        for asked in [
            "What does this do?",
            "\n  what's the default?  ",
            "Is there a test for \"it\"?",
            "(What is `x?`)  What?",
            "这个函数是做什么的？",
            "怎么运行测试?",
        ] {
            assert!(is_question(asked, &words), "{asked}");
        }
        for other in [
            "Can you fix it?",
            "receipt() crashes when it is empty, could you fix it?",
            "Do not print lines with quantity 0",
            "what this does should be documented",
            "Fix which colour?",
            "Whatever?",
            "修复什么都没有的错误",
            "?",
            "",
        ] {
            assert!(!is_question(other, &words), "{other}");
        }
    }
}
