//! Checks the tree before a change: beforehand, with results kept for later runs, or afterwards, when something is to be
//! concluded from a result that is not there or that is old.

use std::path::PathBuf;

use checks::outcome::{Check, CheckOutcome};
use checks::proof;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::grammar::plan::Plan;
use shell::CommandLine;
use tools::regular::{self, MAX_NOTE_BYTES};
use tree::{Change, FileHash};

use super::{Checked, MaybeChecked, VerifierSetup, VerifyReply, recorded};
use crate::roles::verifier::scratch_tree::{ScratchTree, TreeState};
use crate::run::Run;
use crate::run::effect::{Effect, Position, Trace};

impl VerifierSetup {
    pub(super) async fn verify_untouched(&self, commands: &[String]) -> VerifyReply {
        let max_files = self.commands.run.config().limits.max_workspace_files;
        let root = self.commands.workspace.reader().root().to_owned();
        let hash = tree_hash(root, max_files).await;
        // A copy lacks some files that commands may look for, so a failure in a copy does not imply one here.
        let copy = if self.commands.workspace.in_place_of().is_some() { "\nin a copy" } else { "" };
        let degree = self.commands.run.confinement().await.degree();
        // Each sees what those before it built, so its result depends on them.
        let key = |at: usize| {
            let upto = commands.get(..=at)?.join("\n");
            Some(FileHash::of(format!("{}\n{upto}{copy}\n{degree:?}", hash.as_ref()?).as_bytes()))
        };
        let keys: Vec<Option<FileHash>> = (0..commands.len()).map(key).collect();
        let known =
            keys.iter().zip(commands).map(|(key, text)| self.remembered(key.as_ref()?, text));
        let known: Option<Vec<Check>> = known.collect();
        let mut tree =
            ScratchTree::for_commands(&self.commands, TreeState::Untouched, commands.len());
        let mut checked = Checked::default();
        for (at, (text, key)) in commands.iter().zip(keys).enumerate() {
            let known = known.as_ref().and_then(|known| known.get(at));
            let mut baseline = Baseline { verifier: self, text, key, known, tree: &mut tree };
            checked.add(self.commands.run.perform(&mut baseline).await?);
        }
        tree.discard().await;
        Ok(checked)
    }

    /// Runs commands on the tree before `changes`, which are made. The commands are allowed: they ran on the tree with the
    /// changes.
    pub(super) async fn verify_before(
        &self,
        commands: &[String],
        changes: &[Change],
    ) -> VerifyReply {
        let state = TreeState::With(proof::undone(changes));
        let mut tree = ScratchTree::new(&self.commands, state);
        let mut checked = Checked::default();
        for line in commands.iter().filter_map(|text| CommandLine::parse(text).ok()) {
            let mut late = LateBaseline { verifier: self, line: &line, tree: &mut tree };
            let check = self.commands.run.perform(&mut late).await?;
            checked.report.checks.extend(check);
        }
        tree.discard().await;
        Ok(checked)
    }

    fn remembered(&self, key: &FileHash, text: &str) -> Option<Check> {
        let kept = regular::read_regular_file(
            &self.commands.run.cache.join(format!("base-{key}")),
            MAX_NOTE_BYTES,
        )
        .ok()?;
        let check: Check = serde_json::from_slice(&kept).ok()?;
        (check.command == text).then_some(Check { cached: true, ..check })
    }

    /// Only results that depend on the tree alone are cached: a full disk today may have space tomorrow, and what is
    /// missing today may be installed.
    fn remember(&self, key: &FileHash, check: &Check) {
        let is_of_tree = matches!(check.outcome, CheckOutcome::Passed | CheckOutcome::CodeFailure);
        if !is_of_tree || check.missing.is_some() {
            return;
        }
        if let Ok(text) = serde_json::to_vec(check) {
            self.commands.keep(&self.commands.run.cache.join(format!("base-{key}")), &text);
        }
    }
}

/// The effect of running a command on the untouched tree. It runs concurrently with other work and is published later
/// by its user, so it is found ahead in the recording.
struct Baseline<'v> {
    verifier: &'v VerifierSetup,
    text: &'v str,
    /// The hash of everything it depends on; `None` if the tree has none.
    key: Option<FileHash>,
    /// The result of an earlier run.
    known: Option<&'v Check>,
    tree: &'v mut ScratchTree,
}

impl Effect for Baseline<'_> {
    type Outcome = MaybeChecked;
    type Stop = JournalClosed;
    const POSITION: Position = Position::Ahead;

    fn look(&mut self, event: &Event) -> Trace<MaybeChecked> {
        let other_checks = |plan: &Plan| !plan.verify.iter().any(|command| command == self.text);
        if matches!(event, Event::RoleCrashed { .. } | Event::PlanCreated { .. }) {
            return Trace::Over;
        }
        // If the plan names no checks, they are derived and stay the same.
        if let Event::PlanRevised { plan, .. } = event
            && !plan.verify.is_empty()
            && other_checks(plan)
        {
            return Trace::Over;
        }
        let Some(check) = recorded(event, self.text, true) else { return Trace::Absent };
        if let Ok(line) = CommandLine::parse(self.text) {
            self.tree.ran_before(&line);
        }
        Trace::Foretold(Ok(check))
    }

    fn may_precede(&self, event: &Event) -> bool {
        matches!(event, Event::VerificationRun { baseline: true, .. })
    }

    async fn act(&mut self, run: &Run) -> Result<MaybeChecked, JournalClosed> {
        let verifier = self.verifier;
        if let Some(check) = self.known {
            return Ok(Ok(check.clone()));
        }
        let line = match verifier.permitted(self.text).await {
            Ok(line) => line,
            Err(not_run) => return Ok(Err(not_run)),
        };
        let mut outcome = self.tree.run_to_limit(&line, verifier.commands.reach()).await;
        if run.fall(&outcome).await {
            // The level of confinement is now another one, which may need approval.
            if let Err(not_run) = verifier.permitted(self.text).await {
                return Ok(Err(not_run));
            }
            self.tree.discard().await;
            outcome = self.tree.run_to_limit(&line, verifier.commands.reach()).await;
        }
        let check = verifier.read(self.text, &outcome).await;
        if let Some(key) = &self.key
            && self.tree.moved().await.is_empty()
        {
            verifier.remember(key, &check);
        }
        Ok(Ok(check))
    }
}

/// The effect of running a command on the tree as it was before the change, after the change.
struct LateBaseline<'v> {
    verifier: &'v VerifierSetup,
    line: &'v CommandLine,
    tree: &'v mut ScratchTree,
}

impl Effect for LateBaseline<'_> {
    type Outcome = Option<Check>;
    type Stop = JournalClosed;
    // Recordings of earlier versions do not have it.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<Check>> {
        let Some(check) = recorded(event, self.line.text(), true) else {
            return Trace::Foretold(None);
        };
        self.tree.ran_before(self.line);
        Trace::Done(Some(check))
    }

    async fn act(&mut self, run: &Run) -> Result<Option<Check>, JournalClosed> {
        if run.only_compares() {
            return Ok(None);
        }
        let verifier = self.verifier;
        let outcome = self.tree.run_to_limit(self.line, verifier.commands.reach()).await;
        let check = verifier.read(self.line.text(), &outcome).await;
        verifier.publish(&check, true, &outcome).await?;
        Ok(Some(check))
    }
}

/// Returns a hash of all files that are not ignored, on which the results of commands depend.
async fn tree_hash(root: PathBuf, max_files: usize) -> Option<FileHash> {
    tokio::task::spawn_blocking(move || search::tree_hash(&root, max_files)).await.ok().flatten()
}
