//! The grammar of a review's answer, whose findings are compared with the files.

use actors::talk::Grammar;
use actors::talk::prompts::{Prompt, Prompts};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::contract::ContractError;
use facts::grammar::review::Review;
use tools::blocking::on_a_thread;
use tree::{Entry, ReadTree, RepoPath};

/// The grammar of a review.
pub(super) struct ReviewFindings<'t> {
    pub(super) tree: &'t ReadTree,
    /// The files of the change, including deleted ones.
    pub(super) paths: Vec<String>,
    pub(super) max_bytes: u64,
}

impl Grammar for ReviewFindings<'_> {
    type Answer = Review;

    fn is_formed(&self, answer: &str) -> bool {
        Review::is_formed(answer)
    }

    async fn read(&self, answer: &str) -> Result<Result<Review, ContractError>, JournalClosed> {
        let (tree, max_bytes, answer) = (self.tree.clone(), self.max_bytes, answer.to_owned());
        let paths = self.paths.clone();
        let read = on_a_thread(move || {
            let lines_of = |path: &RepoPath| match tree.entry(path, max_bytes) {
                Ok(Entry::File(file)) => Some(String::from_utf8_lossy(&file.bytes).lines().count()),
                Ok(Entry::TooLarge { .. }) => Some(usize::MAX),
                Ok(_) | Err(_) if paths.iter().any(|it| it == path.as_str()) => Some(usize::MAX),
                Ok(_) | Err(_) => None,
            };
            Review::parse(&answer, lines_of)
        });
        Ok(read.await.map(|(review, _)| review))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::AnswerRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        let ContractError { line, text, rule } = error;
        prompts.render(Prompt::DraftRefused, &[("line", line), ("text", text), ("rule", rule)])
    }
}
