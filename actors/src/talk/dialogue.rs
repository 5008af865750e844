//! The conversation between a role and its model in one run. It is append-only, so that the provider's prefix cache
//! applies. Pure.

use checks::verified::Missing;
use facts::grammar::look::Look;
use model::{AgentRole, ChatMessage, ModelReply, PromptImage, ToolOffer};
use patch::numbered;
use tools::redact::Redactor;

use crate::talk::prompts::{Prompt, Prompts};

/// A conversation with one model, held by one or several roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialogue {
    messages: Vec<ChatMessage>,
    redactor: Redactor,
    /// Prompt tokens of the last call, by the provider's count.
    sent_tokens: u64,
    /// Number of the call that it heard last.
    last_call: u64,
    /// Roles that have given their instructions.
    roles: Vec<AgentRole>,
    /// Everything the model asked to see.
    looks: Vec<Look>,
    /// The commands that the model tried and that failed for want of something outside the code.
    lacking: Vec<(String, Missing)>,
    /// The tools that the model may call.
    tools: Vec<ToolOffer>,
    /// Number of messages of the user to the active run that it contains.
    steered: usize,
    /// The images of the next message.
    images: Vec<PromptImage>,
}

impl Dialogue {
    /// Creates a dialogue with a system message.
    pub fn new(system: String, redactor: &Redactor) -> Self {
        let (messages, redactor) =
            (vec![ChatMessage::System { content: system }], redactor.clone());
        let (roles, looks, lacking, tools, images) = Default::default();
        let (sent_tokens, last_call, steered) = (0, 0, 0);
        Self {
            messages,
            redactor,
            sent_tokens,
            last_call,
            roles,
            looks,
            lacking,
            tools,
            steered,
            images,
        }
    }

    /// Offers tools to the model, from the first request to the last.
    #[must_use]
    pub fn offering(self, tools: Vec<ToolOffer>) -> Self {
        Self { tools, ..self }
    }

    /// Records that it contains this many messages of the user to the active run. Returns how many it contained before.
    pub(crate) fn steered(&mut self, messages: usize) -> usize {
        std::mem::replace(&mut self.steered, messages)
    }

    /// Returns the offered tools.
    pub fn tools(&self) -> &[ToolOffer] {
        &self.tools
    }

    /// Returns true if only the system message exists.
    pub const fn is_new(&self) -> bool {
        self.messages.len() <= 1
    }

    /// Returns true if a role speaks for the first time, and records that it has spoken.
    pub fn is_first_of(&mut self, role: AgentRole) -> bool {
        let is_first = !self.roles.contains(&role);
        if is_first {
            self.roles.push(role);
        }
        is_first
    }

    /// Records what the model asked to see.
    pub fn looked(&mut self, looks: &[Look]) {
        self.looks.extend_from_slice(looks);
    }

    /// Returns everything the model asked to see.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Records that a command which the model tried lacks something.
    pub fn lacked(&mut self, command: &str, missing: Missing) {
        self.lacking.push((command.to_owned(), missing));
    }

    /// Returns the commands that the model tried and that lacked something, with what they lacked.
    pub fn lacking(&self) -> &[(String, Missing)] {
        &self.lacking
    }

    /// Returns true if an answer of the model contains this text.
    pub fn has_heard(&self, text: &str) -> bool {
        self.messages.iter().any(
            |message| matches!(message, ChatMessage::Assistant { content, .. } if content.contains(text)),
        )
    }

    /// Returns the last message if it is an answer of the model in text. A tool call is none: what it asks for may have
    /// changed since.
    pub fn last_answer(&self) -> Option<&str> {
        self.messages.last().and_then(answer)
    }

    /// Returns how often the model has given its last answer since the message at `from`.
    pub fn repetitions(&self, from: usize) -> usize {
        let Some(last) = self.last_answer() else { return 0 };
        let later = self.messages.get(from..).unwrap_or_default();
        later.iter().filter(|message| answer(message) == Some(last)).count()
    }

    /// Returns true if a user message contains this text.
    pub fn has_told_model(&self, text: &str) -> bool {
        self.messages.iter().any(
            |message| matches!(message, ChatMessage::User { content, .. } if content.contains(text)),
        )
    }

    /// Returns all messages.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Shows images with the next user message.
    pub fn show(&mut self, images: &[PromptImage]) {
        self.images.extend_from_slice(images);
    }

    /// Appends a user message. Secrets are masked here, on the only path into prompts.
    pub fn say(&mut self, text: &str) {
        let (content, images) =
            (self.redactor.redact(text).into_owned(), std::mem::take(&mut self.images));
        self.messages.push(ChatMessage::User { content, images });
    }

    /// Appends the result of a tool call from the last answer.
    pub fn tell(&mut self, tool_call_id: &str, told: &str) {
        let content = self.redactor.redact(told).into_owned();
        self.messages.push(ChatMessage::Tool { tool_call_id: tool_call_id.to_owned(), content });
    }

    /// Appends the complete answer of a call, and records the size of its prompt.
    pub fn hear(&mut self, call: u64, reply: &ModelReply) {
        self.last_call = call;
        self.messages.push(ChatMessage::Assistant {
            content: reply.content.clone(),
            reasoning_content: reply.reasoning.clone(),
            tool_calls: reply.tool_calls.clone(),
        });
        if let Some(usage) = reply.usage {
            self.sent_tokens = usage.prompt;
        }
    }

    /// Appends the text of an answer that was given before this run.
    pub fn heard_before(&mut self, answer: &str) {
        let (content, reasoning_content) = (answer.to_owned(), None);
        self.messages.push(ChatMessage::Assistant {
            content,
            reasoning_content,
            tool_calls: Vec::new(),
        });
    }

    /// Returns the number of the call that it heard last.
    pub const fn last_call(&self) -> u64 {
        self.last_call
    }

    /// Returns the prompt tokens of the last call.
    pub const fn sent_tokens(&self) -> u64 {
        self.sent_tokens
    }
}

/// Returns a message that is an answer in text, without the blanks around it.
fn answer(message: &ChatMessage) -> Option<&str> {
    match message {
        ChatMessage::Assistant { content, tool_calls, .. } if tool_calls.is_empty() => {
            Some(content.trim())
        }
        ChatMessage::Assistant { .. }
        | ChatMessage::System { .. }
        | ChatMessage::User { .. }
        | ChatMessage::Tool { .. } => None,
    }
}

/// Formats lines of a file for a model: numbered, under the file's name, in a fence that they cannot close. The range
/// is `(first, last, of)`, where `of` is the number of lines in the file.
pub fn shown_lines(
    prompts: &Prompts,
    path: &str,
    (first, last, of): (usize, usize, usize),
    text: &str,
) -> String {
    let is_whole = first <= 1 && last >= of;
    let name = if is_whole {
        path.to_owned()
    } else {
        prompts.render(
            Prompt::FileLines,
            &[("path", &path), ("first", &first), ("last", &last), ("of", &of)],
        )
    };
    let mut content = numbered(text, first);
    if last >= of && !text.is_empty() && !text.ends_with('\n') {
        content.extend(["\n", &prompts.render(Prompt::NoFinalNewline, &[]), "\n"]);
    }
    fenced(prompts, &name, &content)
}

/// Formats a whole file for a model.
pub fn shown_file(prompts: &Prompts, path: &str, text: &str) -> String {
    let count = text.lines().count();
    shown_lines(prompts, path, (1, count, count), text)
}

/// Adds the encoding of a file, unless it is UTF-8, to the lines shown of it.
pub fn in_encoding(prompts: &Prompts, shown: String, encoding: Option<&str>) -> String {
    match encoding {
        Some(name) => shown + "\n" + &prompts.render(Prompt::FileEncoding, &[("encoding", &name)]),
        None => shown,
    }
}

/// Formats a text for a model: under its name, in a fence that it cannot close. The result does not end with a newline.
pub fn fenced(prompts: &Prompts, name: &str, content: &str) -> String {
    let mut run = 0;
    let mut longest = 0;
    for c in content.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    let mut content = content.to_owned();
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    prompts.render(Prompt::File, &[("name", &name), ("fence", &fence), ("content", &content)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_a_fence_in_a_file_does_not_close_ours() {
        let prompts = Prompts::default();
        let shown = shown_file(&prompts, "a.md", "x\n````\n\n````\n");
        assert_eq!(shown, "### a.md\n`````\n   1| x\n   2| ````\n   3|\n   4| ````\n`````");
        let part = shown_lines(&prompts, "a", (3, 4, 4), "x\ny");
        assert_eq!(
            part,
            "### a lines 3-4 of 4\n```\n   3| x\n   4| y\n(no newline at the end)\n```"
        );
        assert_eq!(shown_file(&prompts, "a", ""), "### a\n```\n```");
    }

    #[test]
    fn secrets_do_not_enter_a_dialogue() {
        let redactor = Redactor::new("", ["open sesame".to_owned()]);
        let mut dialogue = Dialogue::new("s".into(), &redactor);
        let key = format!("sk-{}", "a1".repeat(16));
        dialogue.say(&format!("my key is {key}, and I say open sesame"));
        for secret in [key.as_str(), "open sesame"] {
            assert!(
                dialogue.has_told_model(&redactor.redact(secret))
                    && !dialogue.has_told_model(secret)
            );
        }
    }
}
