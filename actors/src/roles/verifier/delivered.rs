//! Checks the tree with a change in it, as the user has it afterwards.

use std::path::Path;

use checks::outcome::{self, Check, CheckOutcome, WrittenByCheck, could_be_flaky};
use facts::closed::JournalClosed;
use facts::event::{Event, StagedFile};
use sandbox::Network;
use shell::CommandLine;
use tools::blocking::on_a_thread;
use tree::{Change, Entry, FileState, ReadTree, RepoPath, TreeError};

use super::{Checked, MaybeChecked, VerifierSetup, VerifyReply, recorded};
use crate::roles::verifier::scratch_tree::{ScratchTree, TreeState};
use crate::run::Run;
use crate::run::effect::{Effect, Position, Trace};
use crate::run::workspace::Purpose;

impl VerifierSetup {
    /// Runs the commands, and once more if the tree was changed by something else meanwhile.
    pub(super) async fn verify_changed(
        &self,
        commands: &[String],
        changes: &[Change],
    ) -> VerifyReply {
        let checked = self.verify_once(commands, changes).await?;
        if checked.moved.is_empty() {
            Ok(checked)
        } else {
            self.verify_once(commands, changes).await
        }
    }

    async fn verify_once(&self, commands: &[String], changes: &[Change]) -> VerifyReply {
        let touched: Vec<RepoPath> = changes.iter().flat_map(Change::paths).cloned().collect();
        let state = TreeState::Delivered { touched };
        let mut tree = ScratchTree::for_commands(&self.commands, state, commands.len());
        let mut checked = Checked::default();
        for text in commands {
            checked.add(self.check(text, &mut tree).await?);
        }
        let mut after = After { verifier: self, changes, tree: &mut tree };
        let Left { moved, written, locks } = self.commands.run.perform(&mut after).await?;
        if moved.is_empty() && !written.is_empty() {
            self.check_without(&written, &mut checked, &mut tree).await?;
        }
        tree.discard().await;
        (checked.moved, checked.locks) = (moved, locks);
        Ok(checked)
    }

    /// Runs one command, if it may run.
    async fn check(
        &self,
        text: &str,
        tree: &mut ScratchTree,
    ) -> Result<MaybeChecked, JournalClosed> {
        let line = match self.permitted(text).await {
            Ok(line) => line,
            Err(not_run) => return Ok(Err(not_run)),
        };
        let reach = self.commands.reach();
        let mut first = Checking { verifier: self, text, line: &line, reach, tree };
        let mut check = self.commands.run.perform(&mut first).await?;
        if outcome::wants_other_walls(&check) {
            // The level of confinement is now another one, which may need approval.
            if let Err(not_run) = self.permitted(text).await {
                return Ok(Err(not_run));
            }
            tree.discard().await;
            let mut again = Checking { verifier: self, text, line: &line, reach, tree };
            check = self.commands.run.perform(&mut again).await?;
        }
        match self.fetched(&check, &line, tree).await? {
            Fetched::Nothing => {}
            Fetched::Denied => return Ok(Ok(check)),
            Fetched::Then(again) => check = *again,
        }
        if outcome::wants_network(&check) {
            return Ok(Ok(self.with_network(text, &line, tree).await?.unwrap_or(check)));
        }
        if !could_be_flaky(&check) {
            return Ok(Ok(check));
        }
        let mut second = SecondTry { verifier: self, text, line: &line, tree };
        let flaky = self.commands.run.perform(&mut second).await?;
        Ok(Ok(flaky.unwrap_or(check)))
    }

    /// Runs a check again after what it lacks was loaded with network access, if a lock file names that and the network
    /// may be used for it.
    async fn fetched(
        &self,
        check: &Check,
        line: &CommandLine,
        tree: &mut ScratchTree,
    ) -> Result<Fetched, JournalClosed> {
        let fetch = check.fetch.as_deref().filter(|_| outcome::is_confined(check));
        let Some(Ok(fetch)) = fetch.map(CommandLine::parse) else { return Ok(Fetched::Nothing) };
        let reach = Network::Host;
        if self.commands.workspace.permit(&fetch, Purpose::Check(reach)).await.is_err() {
            return Ok(Fetched::Denied);
        }
        tree.share().await;
        let (text, line_of_fetch) = (fetch.text(), &fetch);
        let mut fetching =
            Checking { verifier: self, text, line: line_of_fetch, reach, tree: &mut *tree };
        self.commands.run.perform(&mut fetching).await?;
        let (text, reach) = (&check.command, self.commands.reach());
        let mut again = Checking { verifier: self, text, line, reach, tree };
        let check = self.commands.run.perform(&mut again).await?;
        Ok(Fetched::Then(Box::new(check)))
    }

    /// Runs a command again with network access, if that may be granted: it failed for lack of it.
    async fn with_network(
        &self,
        text: &str,
        line: &CommandLine,
        tree: &mut ScratchTree,
    ) -> Result<Option<Check>, JournalClosed> {
        let reach = Network::Host;
        if self.commands.workspace.permit(line, Purpose::Check(reach)).await.is_err() {
            return Ok(None);
        }
        let mut again = Checking { verifier: self, text, line, reach, tree };
        self.commands.run.perform(&mut again).await.map(Some)
    }

    /// Runs checks again that passed after another one had changed files of the project: what is delivered does not have
    /// these changes.
    async fn check_without(
        &self,
        written: &[WrittenByCheck],
        checked: &mut Checked,
        tree: &mut ScratchTree,
    ) -> Result<(), JournalClosed> {
        let commands = checked.report.checks.iter().map(|check| check.command.clone());
        let commands: Vec<String> = commands.collect();
        let writer = |file: &WrittenByCheck| commands.iter().position(|it| *it == file.command);
        let first =
            written.iter().filter_map(|file| Some((writer(file)?, file))).min_by_key(|it| it.0);
        let Some((at, file)) = first else { return Ok(()) };
        for check in checked.report.checks.iter_mut().skip(at + 1) {
            let passed = matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::Flaky);
            let Some(line) = CommandLine::parse(&check.command).ok().filter(|_| passed) else {
                continue;
            };
            let (text, needs) = (check.command.clone(), file.clone());
            let mut again = Rechecking { verifier: self, text: &text, line: &line, needs, tree };
            *check = self.commands.run.perform(&mut again).await?;
        }
        Ok(())
    }
}

/// What came of loading what a check lacks.
enum Fetched {
    /// Nothing can be loaded for it.
    Nothing,
    /// The network must not be used.
    Denied,
    /// The result of the check afterwards.
    Then(Box<Check>),
}

/// The effect of running a command on the changed tree.
struct Checking<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    line: &'v CommandLine,
    /// The network it can reach.
    reach: Network,
    tree: &'v mut ScratchTree,
}

impl Effect for Checking<'_> {
    type Outcome = Check;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Check> {
        let Some(check) = recorded(event, self.text, false) else { return Trace::Absent };
        self.tree.ran_before(self.line);
        Trace::Done(check)
    }

    async fn act(&mut self, run: &Run) -> Result<Check, JournalClosed> {
        let outcome = self.tree.run_to_limit(self.line, self.reach).await;
        let check = self.verifier.read(self.text, &outcome).await;
        self.verifier.publish(&check, false, &outcome).await?;
        run.fall(&outcome).await;
        Ok(check)
    }
}

/// The effect of running a failed command again. It is recorded only if it then passes.
struct SecondTry<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    line: &'v CommandLine,
    tree: &'v mut ScratchTree,
}

impl Effect for SecondTry<'_> {
    type Outcome = Option<Check>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<Check>> {
        let check = recorded(event, self.text, false);
        match check.filter(|check| check.outcome == CheckOutcome::Flaky) {
            Some(flaky) => Trace::Done(Some(flaky)),
            None => Trace::Foretold(None),
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Option<Check>, JournalClosed> {
        if run.only_compares() {
            return Ok(None);
        }
        let reach = self.verifier.commands.reach();
        let outcome = self.tree.run_to_limit(self.line, reach).await;
        if !outcome.succeeded() {
            return Ok(None);
        }
        let read = self.verifier.read(self.text, &outcome).await;
        let flaky = Check { outcome: CheckOutcome::Flaky, ..read };
        self.verifier.publish(&flaky, false, &outcome).await?;
        Ok(Some(flaky))
    }
}

/// The effect of running a command again without the changes of an earlier one.
struct Rechecking<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    line: &'v CommandLine,
    /// The file that the earlier one changed.
    needs: WrittenByCheck,
    tree: &'v mut ScratchTree,
}

impl Effect for Rechecking<'_> {
    type Outcome = Check;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Check> {
        recorded(event, self.text, false).map_or(Trace::Absent, Trace::Done)
    }

    async fn act(&mut self, _: &Run) -> Result<Check, JournalClosed> {
        let reach = self.verifier.commands.reach();
        let outcome = self.tree.run_to_limit(self.line, reach).await;
        let mut check = self.verifier.read(self.text, &outcome).await;
        if check.outcome == CheckOutcome::CodeFailure {
            check.needs = Some(self.needs.clone());
        }
        self.verifier.publish(&check, false, &outcome).await?;
        Ok(check)
    }
}

/// How the files of the project were after the checks.
#[derive(Debug, Clone, Default)]
struct Left {
    /// Files that something else changed.
    moved: Vec<String>,
    /// Files that a check changed.
    written: Vec<WrittenByCheck>,
    /// Lock files that belong to the change.
    locks: Vec<Change>,
}

/// The effect of looking at the files of the project after the checks, and of taking back what the checks changed in them.
/// It is recorded only if something was changed.
struct After<'v> {
    verifier: &'v VerifierSetup,
    changes: &'v [Change],
    tree: &'v mut ScratchTree,
}

impl Effect for After<'_> {
    type Outcome = Left;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Left> {
        let Event::CheckedTreeChanged { moved, written, locks } = event else {
            return Trace::Foretold(Left::default());
        };
        let locks = locks.iter().map(StagedFile::change).collect();
        Trace::Done(Left { moved: moved.clone(), written: written.clone(), locks })
    }

    async fn act(&mut self, run: &Run) -> Result<Left, JournalClosed> {
        if run.only_compares() {
            return Ok(Left::default());
        }
        let moved = self.tree.moved().await;
        if !self.tree.written().is_empty() {
            self.tree.share().await;
        }
        let locks = self.locks(run).await;
        let is_lock = |path: &RepoPath| locks.iter().any(|lock| lock.path == *path);
        let written = self.tree.written().iter().filter(|(path, _)| !is_lock(path));
        let written = written
            .map(|(path, command)| WrittenByCheck { path: path.clone(), command: command.clone() });
        let left = Left { moved, written: written.collect(), locks };
        let nothing = left.moved.is_empty() && left.written.is_empty() && left.locks.is_empty();
        if !nothing {
            let Left { moved, written, locks } = left.clone();
            let locks = locks.iter().map(StagedFile::from).collect();
            run.publish(Event::CheckedTreeChanged { moved, written, locks }).await?;
        }
        let kept: Vec<RepoPath> = left.locks.iter().map(|lock| lock.path.clone()).collect();
        if let Err(error) = self.tree.restore(&kept).await {
            tracing::warn!(%error, "could not take back what checks changed; they run in a new tree");
            self.tree.discard().await;
        }
        Ok(left)
    }
}

impl After<'_> {
    /// Returns the lock files that checks updated because the change touches what they are made from.
    async fn locks(&self, run: &Run) -> Vec<Change> {
        let config = run.config();
        let is_lock = |path: &&RepoPath| {
            self.changes.iter().any(|change| {
                is_made_from(path, &change.path, |manifest| config.commands.locks.get(manifest))
            })
        };
        let paths: Vec<RepoPath> = self.tree.written().keys().filter(is_lock).cloned().collect();
        let Some(Ok(left)) = self.tree.open().filter(|_| !paths.is_empty()) else {
            return Vec::new();
        };
        let (tree, max_bytes) =
            (self.verifier.commands.workspace.reader().clone(), config.agent_loop.max_file_bytes);
        let changes = move || {
            let change = |path: RepoPath| {
                let after = state(&left, &path, max_bytes)?;
                let before = state(&tree, &path, max_bytes)?;
                // One that is gone, or something else now, is no update.
                Ok::<_, TreeError>(after.and_then(|after| Change::of(path, before, Some(after))))
            };
            paths.into_iter().filter_map(|path| change(path).ok().flatten()).collect()
        };
        on_a_thread(changes).await
    }
}

fn state(tree: &ReadTree, path: &RepoPath, max_bytes: u64) -> Result<Option<FileState>, TreeError> {
    let entry = tree.entry(path, max_bytes)?;
    Ok(if let Entry::File(state) = entry { Some(state) } else { None })
}

/// Returns true if `lock` is a lock file made from `manifest`: next to it, or in a directory above it.
fn is_made_from<'l>(
    lock: &RepoPath,
    manifest: &RepoPath,
    locks_of: impl FnOnce(&str) -> Option<&'l Vec<String>>,
) -> bool {
    let dir = |path: &RepoPath| path.parent().map(|dir| dir.to_string()).unwrap_or_default();
    locks_of(manifest.name()).is_some_and(|names| names.iter().any(|name| name == lock.name()))
        && Path::new(&dir(manifest)).starts_with(dir(lock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_belongs_to_the_manifests_beside_and_below_it() {
        let locks = vec!["Cargo.lock".to_owned()];
        let is_of = |lock: &str, manifest: &str| {
            let path = |path: &str| RepoPath::parse(path).unwrap();
            is_made_from(&path(lock), &path(manifest), |name| {
                (name == "Cargo.toml").then_some(&locks)
            })
        };
        assert!(is_of("Cargo.lock", "Cargo.toml"));
        assert!(is_of("Cargo.lock", "crates/a/Cargo.toml"));
        assert!(is_of("a/Cargo.lock", "a/b/Cargo.toml"));
        assert!(!is_of("a/Cargo.lock", "Cargo.toml"));
        assert!(!is_of("a/Cargo.lock", "ab/Cargo.toml"));
        assert!(!is_of("Cargo.lock", "src/lib.rs"));
        assert!(!is_of("other.lock", "Cargo.toml"));
    }
}
