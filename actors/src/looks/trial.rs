//! The effect of a trial: running a command that a model wants to see before it answers. Its writes are discarded,
//! except for build caches.

use checks::outcome::exit_text;
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use model::AgentRole;
use sandbox::Degree;
use shell::{CommandLine, CommandOutcome, Exit};
use tools::count::counted;

use crate::looks::look_result::LookResult;
use crate::roles::verifier::VerifierSetup;
use crate::run::Run;
use crate::run::command_runner::{CommandPlace, CommandRunner, NotRun};
use crate::run::effect::{Effect, Trace};
use crate::run::workspace::Purpose;

/// Tries a command for `role`; `count` is its number among those requested together, from one.
pub(crate) async fn tried(
    commands: &CommandRunner,
    role: AgentRole,
    text: &str,
    count: usize,
) -> Result<LookResult, JournalClosed> {
    if matches!(role, AgentRole::Analysis | AgentRole::Researcher | AgentRole::Child) {
        return Ok(LookResult::Nothing(
            "nothing is run to answer a question or to research".to_owned(),
        ));
    }
    let most = commands.run.config().agent_loop.max_commands_per_look;
    if count > most {
        let why = format!("only {} may be run at once; ask again for it", counted(most, "command"));
        return Ok(LookResult::Nothing(why));
    }
    of_command(commands, role, text).await
}

/// Runs a command, if it may run, and discards its writes.
pub(crate) async fn of_command(
    commands: &CommandRunner,
    role: AgentRole,
    text: &str,
) -> Result<LookResult, JournalClosed> {
    match commands.permitted(text, Purpose::Trial).await {
        Ok(line) => commands.run.perform(&mut Trial { commands, role, line: &line }).await,
        Err(NotRun::NoCommand(why)) => Ok(LookResult::Nothing(why)),
        Err(NotRun::Denied(denial)) => Ok(LookResult::Nothing(denial.why.to_string())),
    }
}

struct Trial<'t> {
    commands: &'t CommandRunner,
    role: AgentRole,
    line: &'t CommandLine,
}

impl Effect for Trial<'_> {
    type Outcome = LookResult;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<LookResult> {
        let Event::CommandTried { command, exit, failed, missing, output, .. } = event else {
            return Trace::Absent;
        };
        if command != self.line.text() {
            return Trace::Absent;
        }
        let output = String::from_utf8_lossy(&output.content).into_owned();
        let (exit, missing, failed) = (exit.clone(), missing.clone(), *failed);
        Trace::Done(LookResult::Ran { exit, output, missing, failed })
    }

    async fn act(&mut self, run: &Run) -> Result<LookResult, JournalClosed> {
        let outcome = self.outcome().await;
        let (exit, output) = (exit_text(&outcome.exit), outcome.output.text());
        let failed = outcome.exit != Exit::Code(0);
        let verifier = VerifierSetup { commands: self.commands.clone() };
        let missing = verifier.read(self.line.text(), &outcome).await.missing;
        let tried = Event::CommandTried {
            role: self.role,
            command: self.line.text().to_owned(),
            exit: exit.clone(),
            failed,
            elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
            confined: outcome.confined,
            missing: missing.clone(),
            masked: outcome.output.masked(),
            output: Blob::new(output.clone()),
        };
        run.publish(tried).await?;
        Ok(LookResult::Ran { exit, output, missing, failed })
    }
}

impl Trial<'_> {
    /// Runs the command in the tree itself if the sandbox discards its writes, and in a copy if the sandbox would deny
    /// them.
    async fn outcome(&self) -> CommandOutcome {
        let (commands, workspace) = (self.commands, &self.commands.workspace);
        let (tree, reach) = (workspace.reader(), commands.reach());
        let limit = commands.first_limit(self.line);
        if !tree.is_in_place() {
            return CommandOutcome::not_started(tree.gone());
        }
        if commands.run.confinement().await.degree() == Degree::Full {
            let place = CommandPlace::discarding(&**workspace, reach);
            let outcome = commands.execute_in(place, self.line, limit).await;
            commands.run.fall(&outcome).await;
            return outcome;
        }
        match workspace.copied(&[]).await {
            Ok(copy) => {
                let place = CommandPlace::in_copy(&**workspace, &*copy, reach);
                let outcome = commands.execute_in(place, self.line, limit).await;
                copy.remove().await;
                outcome
            }
            Err(why) => CommandOutcome::not_started(why.to_string()),
        }
    }
}
