//! Reads whether a line of prose below a diff says that the answer ends before the diff does. Pure.

use super::said::{self, clauses, has, is_any, words};

/// Words for an answer or what it consists of.
const PARTS: &str = "answer changes diff diffs edits files hunks message output part parts patch patches reply response";
/// Words for an end that was not planned.
const CUT: &str = "cut incomplete truncated unfinished";
/// Other words of such remarks.
const OTHERS: &str = "a an at because been by context due got has have here i in is it its length limit limits long max maximum \
    my of off output reached room short size so space than the this to token tokens too was were";
/// Sayings that stand alone.
const SAYINGS: [&str; 12] = [
    "to be continued",
    "fortsetzung folgt",
    "à suivre",
    "continuará",
    "continua",
    "продолжение следует",
    "продовження буде",
    "未完待续",
    "未完待續",
    "续下一条消息",
    "つづく",
    "続く",
];

/// Returns true if a line clearly says so: `(The response was cut off.)`, `I ran out of space.`, `The remaining hunks
/// follow in the next message.`
pub(super) fn says_so(line: &[u8]) -> bool {
    let Some(text) = said::lowercase(line) else { return false };
    let text = text.trim();
    let inner = text.trim_matches(|c: char| !c.is_alphanumeric());
    let is_in_brackets =
        text.starts_with(['(', '[', '（', '【']) && text.ends_with([')', ']', '）', '】']);
    SAYINGS.contains(&inner)
        || clauses(text).any(|clause| {
            let words: Vec<&str> = words(clause).collect();
            is_in_brackets && is_cut(&words)
                || is_out_of_room(&words)
                || is_to_be_continued(&words)
                || asks_to_continue(&words)
        })
}

/// Returns true if a line may say so, or may be about what the program does: `The response was cut off.`
pub(super) fn may_say_so(line: &[u8]) -> bool {
    let Some(text) = said::lowercase(line) else { return false };
    clauses(&text).any(|clause| is_cut(&words(clause).collect::<Vec<_>>()))
}

/// Returns true for `the response was cut off`.
fn is_cut(words: &[&str]) -> bool {
    is_any(words, CUT)
        && is_any(words, PARTS)
        && words.iter().all(|word| [PARTS, CUT, OTHERS].iter().any(|list| has(list, word)))
}

/// Returns true for `I ran out of space`, `I have reached the token limit`.
fn is_out_of_room(words: &[&str]) -> bool {
    let ran_out =
        words.windows(3).any(|three| matches!(three, ["ran" | "run" | "running", "out", "of"]));
    let is_reached = is_any(words, "exceeded hit reached")
        && is_any(words, "limit limits")
        && is_any(words, "context length message output response token tokens");
    let is_mine = matches!(words, ["i" | "i'm" | "i've", ..]) && !is_any(words, "if not when");
    is_mine && (ran_out && is_any(words, "length output room space tokens") || is_reached)
}

/// Returns true for `the remaining hunks follow in the next message`.
fn is_to_be_continued(words: &[&str]) -> bool {
    let later = words.windows(2).any(|two| {
        matches!(
            two,
            [
                "next" | "following" | "another" | "separate",
                "message" | "reply" | "response" | "answer" | "turn"
            ]
        )
    });
    let is_rest = is_any(words, "rest remaining continued")
        || words.first() == Some(&"i'll")
        || words.starts_with(&["i", "will"]);
    later
        && is_rest
        && is_any(words, "come comes continue continued follow follows in send")
        && is_any(
            words,
            "changes continue continued diff diffs edits files hunks part parts patch patches",
        )
}

/// Returns true for `ask me to continue`, `say continue`.
fn asks_to_continue(words: &[&str]) -> bool {
    let told = said::without_fillers(words);
    words.last() == Some(&"continue")
        && matches!(
            told,
            ["ask" | "prompt" | "tell", "me", ..]
                | ["reply" | "say" | "send" | "type" | "write", ..]
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_that_the_answer_is_not_complete_is_told_apart_from_others() {
        for line in [
            "(The response was cut off; ask me to continue.)",
            "[Response truncated due to length]",
            "(This answer is incomplete because of the token limit.)",
            "I ran out of space; the remaining hunks follow in the next message.",
            "Sorry, I've reached the output limit.",
            "The remaining hunks follow in the next message.",
            "I will continue with the other files in the next response.",
            "Say \u{201c}continue\u{201d}.",
            "(Fortsetzung folgt)",
            "（未完待续）",
            "*To be continued…*",
        ] {
            assert!(says_so(line.as_bytes()), "{line}");
        }
        for line in [
            "The response was cut off.",
            "(The response was cut off at 1024 bytes; now it is not.)",
            "The remaining bytes follow in the next message.",
            "The loop does not continue.",
            "If `i` reached the limit, it stops.",
            "It ran out of space.",
            "I hit the rate limit while I tested it.",
            "(The diff is complete.)",
            "I will add tests in the next message if you want.",
            "Let me know if I should continue with the tests.",
            "Tell me to stop, or to continue with the docs.",
            "It asks the user to continue.",
            "",
        ] {
            assert!(!says_so(line.as_bytes()), "{line}");
        }
        assert!(may_say_so(b"The response was cut off."));
        assert!(!may_say_so(b"The response was cut off at 1024 bytes."));
    }
}
