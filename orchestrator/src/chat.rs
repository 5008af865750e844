//! What a message of the user is treated as: an edit or a question. Pure, but for the one question to a model in between.
//!
//! An explicit flag wins, then clear words, then one short question to the flash model; without an answer it is a question,
//! because a question cannot do harm.

use actors::call::Caller;
use actors::dialogue::Dialogue;
use actors::prompts::{Prompt, Prompts};
pub use actors::words::Intent;
use model::AgentRole;

/// Verbs that begin a request for a change.
const EDIT_VERBS: [&str; 40] = [
    "add",
    "adjust",
    "bump",
    "change",
    "clean",
    "convert",
    "correct",
    "create",
    "delete",
    "deprecate",
    "document",
    "drop",
    "extend",
    "extract",
    "fix",
    "generalise",
    "generalize",
    "implement",
    "improve",
    "inline",
    "insert",
    "introduce",
    "make",
    "merge",
    "migrate",
    "modify",
    "move",
    "optimise",
    "optimize",
    "port",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "simplify",
    "split",
    "support",
    "update",
    "write",
];

/// Words that may stand before the verb.
const POLITE: [&str; 12] = [
    "please", "can", "could", "would", "you", "now", "then", "just", "let's", "also", "and",
    "kindly",
];

/// Words that begin a question.
const QUESTIONS: [&str; 24] = [
    "what",
    "why",
    "how",
    "who",
    "when",
    "where",
    "which",
    "is",
    "are",
    "does",
    "do",
    "did",
    "explain",
    "describe",
    "show",
    "list",
    "summarise",
    "summarize",
    "tell",
    "hello",
    "hi",
    "hey",
    "thanks",
    "thank",
];

/// The same in Chinese, matched anywhere, since words are not spaced.
const EDIT_CHINESE: [&str; 12] = [
    "修复",
    "修改",
    "添加",
    "增加",
    "实现",
    "重构",
    "删除",
    "重命名",
    "更新",
    "替换",
    "优化",
    "编写",
];

/// What clear words say; `None` when they do not.
pub fn by_words(message: &str) -> Option<Intent> {
    let lower = message.to_lowercase();
    let mut words = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .skip_while(|word| POLITE.contains(word));
    let first = words.next().unwrap_or_default();
    if EDIT_VERBS.contains(&first) {
        return Some(Intent::Edit);
    }
    if QUESTIONS.contains(&first)
        || lower.trim().is_empty()
        || lower.trim_end().ends_with(['?', '？'])
    {
        return Some(Intent::Answer);
    }
    EDIT_CHINESE.iter().any(|verb| lower.contains(verb)).then_some(Intent::Edit)
}

/// Asks the flash model.
pub(crate) async fn by_model(caller: Caller, message: &str) -> Option<Intent> {
    let mut dialogue = Dialogue::new(caller.prompts().render(Prompt::Intent, &[]));
    dialogue.say(message);
    let caller = Caller { role: AgentRole::Intent, ..caller };
    let reply = caller.ask(&mut dialogue).await.ok()?;
    let word = reply.content.trim().to_uppercase();
    if word.starts_with("EDIT") {
        Some(Intent::Edit)
    } else {
        word.starts_with("ANSWER").then_some(Intent::Answer)
    }
}

/// The dialogue in which questions of a session are answered.
pub(crate) fn analysis(prompts: &Prompts) -> Dialogue {
    Dialogue::new(prompts.render(Prompt::Analysis, &[]))
}

/// A question, with what was found for it.
pub(crate) fn question(prompts: &Prompts, evidence: &str, request: &str) -> String {
    prompts.render(Prompt::Question, &[("evidence", &evidence), ("request", &request)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_words_decide() {
        for message in [
            "Fix the failing test",
            "please add a flag",
            "could you rename `a` to `b`?",
            "refactor",
            "修复 lib.rs 的错误",
        ] {
            assert_eq!(by_words(message), Some(Intent::Edit), "{message}");
        }
        for message in [
            "hello",
            "What does build.rs do?",
            "how would you fix this?",
            "the test fails, why?",
            "你好？",
        ] {
            assert_eq!(by_words(message), Some(Intent::Answer), "{message}");
        }
        for message in
            ["the build is broken", "address the review comments", "fixing things is fun"]
        {
            assert_eq!(by_words(message), None, "{message}");
        }
    }
}
