//! The effect of reading the project's instructions for the directories that a model has come to.

use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use model::AgentRole;
use search::{
    BYTES_PER_TOKEN, Instructions, directories_above, instruction_headings, instructions_of,
};
use tools::blocking::on_a_thread;
use tree::RepoPath;

use crate::calls::model_call::Caller;
use crate::run::Run;
use crate::run::command_runner::CommandRunner;
use crate::run::effect::{Effect, Position, Trace};
use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::Prompt;

/// Returns the instructions for the directories of `paths`, as a message to the model, without what it was shown in this
/// dialogue; empty if there are none.
pub(crate) async fn instructions_for<'p>(
    paths: impl IntoIterator<Item = &'p RepoPath>,
    dialogue: &Dialogue,
    caller: &Caller,
    commands: &CommandRunner,
) -> Result<String, JournalClosed> {
    let mut directories = directories_above(paths);
    directories.retain(|directory| {
        !instruction_headings(directory).iter().any(|heading| dialogue.has_told_model(heading))
    });
    if directories.is_empty() {
        return Ok(String::new());
    }
    caller.run.perform(&mut Instructing { role: caller.role, commands, directories }).await
}

struct Instructing<'i> {
    role: AgentRole,
    commands: &'i CommandRunner,
    directories: Vec<RepoPath>,
}

impl Effect for Instructing<'_> {
    type Outcome = String;
    type Stop = JournalClosed;
    // Nothing is recorded if there are none.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<String> {
        let Event::InstructionsRead { told, .. } = event else { return Trace::Absent };
        Trace::Done(String::from_utf8_lossy(&told.content).into_owned())
    }

    async fn act(&mut self, run: &Run) -> Result<String, JournalClosed> {
        if run.publisher.follows() {
            return Ok(String::new());
        }
        let directories = std::mem::take(&mut self.directories);
        let (tree, terms) = (self.commands.workspace.reader().clone(), run.terms.clone());
        let max_bytes = terms.config.agent_loop.instruction_tokens.saturating_mul(BYTES_PER_TOKEN);
        let found = on_a_thread(move || {
            let may_read = |path: &RepoPath| terms.rules.may_read(path.as_str()).unasked().is_ok();
            instructions_of(&directories, &tree, &may_read, max_bytes)
        })
        .await;
        if found == Instructions::default() {
            return Ok(String::new());
        }
        let text = found.text();
        let omitted = found.omitted.join("\n");
        let text = run.prompts().render(
            Prompt::Instructions,
            &[("instructions", &text.trim_end()), ("omitted", &omitted)],
        );
        let text = run.redactor.redact(text.trim_end()).into_owned();
        let files = found.shown.into_iter().map(|item| item.path).collect();
        let told = Blob::new(text.clone());
        let read = Event::InstructionsRead { role: self.role, files, omitted: found.omitted, told };
        run.publish(read).await?;
        Ok(text)
    }
}
