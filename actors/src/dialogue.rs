//! What was said between a role and its model in one run. It only grows, so that the provider's prefix cache holds. Pure.

use model::{Message, ModelReply};
use tools::redact::redact;

use crate::prompts::{Prompt, Prompts};

/// A conversation of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialogue {
    messages: Vec<Message>,
    /// Prompt tokens of the last call, by the provider's count: what this role has sent before.
    sent_tokens: u64,
}

impl Dialogue {
    /// Begins with the standing instructions.
    pub fn new(system: String) -> Self {
        Self { messages: vec![Message::System { content: system }], sent_tokens: 0 }
    }

    /// Goes on with what was said before.
    pub const fn going_on(messages: Vec<Message>, sent_tokens: u64) -> Self {
        Self { messages, sent_tokens }
    }

    /// Everything said so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Says something to the model. Keys are masked here, at the one gate into prompts.
    pub fn say(&mut self, text: &str) {
        self.messages.push(Message::User { content: redact(text).into_owned() });
    }

    /// Keeps a complete answer, and the size of the prompt that led to it.
    pub fn hear(&mut self, reply: &ModelReply) {
        self.messages.push(Message::Assistant {
            content: reply.content.clone(),
            reasoning_content: reply.reasoning.clone(),
        });
        if let Some(usage) = reply.usage {
            self.sent_tokens = usage.prompt;
        }
    }

    /// Prompt tokens this role has sent before.
    pub const fn sent_tokens(&self) -> u64 {
        self.sent_tokens
    }
}

/// A file's content as it is shown to a model: headed by its name, in a fence that the content cannot close. Its last
/// line has no end.
pub fn shown_file(
    prompts: &Prompts,
    path: &str,
    lines: Option<(usize, usize)>,
    content: &str,
) -> String {
    let mut run = 0;
    let mut longest = 0;
    for c in content.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    let name = lines.map_or_else(
        || path.to_owned(),
        |(first, last)| {
            prompts
                .render(Prompt::FileLines, &[("path", &path), ("first", &first), ("last", &last)])
        },
    );
    let mut content = content.to_owned();
    if !content.is_empty() && !content.ends_with('\n') {
        content.extend(["\n", &prompts.render(Prompt::NoFinalNewline, &[]), "\n"]);
    }
    prompts.render(Prompt::File, &[("name", &name), ("fence", &fence), ("content", &content)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_in_a_file_does_not_close_ours() {
        let shown = shown_file(&Prompts::default(), "a.md", None, "x\n````\ny\n````\n");
        assert_eq!(shown, "### a.md\n`````\nx\n````\ny\n````\n`````");
        let part = shown_file(&Prompts::default(), "a", Some((3, 4)), "x");
        assert_eq!(part, "### a lines 3-4\n```\nx\n(no newline at the end)\n```");
        let empty = shown_file(&Prompts::default(), "a", None, "");
        assert_eq!(empty, "### a\n```\n```");
    }

    #[test]
    fn keys_do_not_enter_a_dialogue() {
        let mut dialogue = Dialogue::new("s".into());
        dialogue.say(&format!("my key is sk-{}", "a".repeat(32)));
        assert_eq!(
            dialogue.messages()[1],
            Message::User { content: "my key is [redacted]".into() }
        );
    }
}
