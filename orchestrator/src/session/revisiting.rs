//! The effect of looking up what became of the changes of earlier turns.

use std::path::PathBuf;
use std::sync::Arc;

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use config::Config;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::fate::ChangeFate;
use tools::blocking::on_a_thread;
use tree::{Change, CommittedTree, Entry, FileState, ReadTree, RepoPath, UserRepository};

use crate::session::past_requests::unapplied;
use crate::session::turn::fates::{ChangeAtTurnEnd, EarlierChange, InCommit, fate};
use crate::workspace::checkpoints::CheckpointHistory;
use crate::workspace::places::WorkspacePlaces;

/// The effect of looking up what became of the changes of earlier turns.
pub(crate) struct Revisiting {
    /// The run and the applied changes of each turn, oldest first.
    pub(crate) turns: Vec<(String, Vec<Change>)>,
    pub(crate) dir: PathBuf,
    pub(crate) places: WorkspacePlaces,
    /// The directory of this session.
    pub(crate) session: PathBuf,
    pub(crate) reader: ReadTree,
}

impl Effect for Revisiting {
    type Outcome = Vec<ChangeFate>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Vec<ChangeFate>> {
        // If nothing is recorded, everything just stood; early versions did not look.
        let Event::EarlierChangesFound { fates } = event else {
            return Trace::Foretold(Vec::new());
        };
        Trace::Done(fates.clone())
    }

    async fn act(&mut self, run: &Run) -> Result<Vec<ChangeFate>, JournalClosed> {
        let looking = Looking {
            turns: std::mem::take(&mut self.turns),
            dir: self.dir.clone(),
            places: self.places.clone(),
            session: self.session.clone(),
            reader: self.reader.clone(),
            config: Arc::clone(&run.terms.config),
        };
        let fates = on_a_thread(move || looking.fates()).await;
        if !fates.is_empty() {
            run.record(Event::EarlierChangesFound { fates: fates.clone() }).await?;
        }
        Ok(fates)
    }
}

/// Everything that is looked at. Blocks.
struct Looking {
    turns: Vec<(String, Vec<Change>)>,
    dir: PathBuf,
    places: WorkspacePlaces,
    session: PathBuf,
    reader: ReadTree,
    config: Arc<Config>,
}

impl Looking {
    fn fates(self) -> Vec<ChangeFate> {
        let changes = self.changes();
        if changes.is_empty() {
            return Vec::new();
        }
        let history = CheckpointHistory::read(&self.places, &self.dir, &self.config);
        let history = history.inspect_err(|error| {
            tracing::warn!(%error, "what undid earlier changes is not known");
        });
        let user = UserRepository::around(&self.dir);
        let last = user.as_ref().and_then(|user| CommittedTree::git_dir_of(user, &self.dir));
        let of = |it: EarlierChange| {
            let path = it.change.path.clone();
            let now = self.now(&path);
            let committed = last.as_ref().map(|last| InCommit(last.file(&path)));
            let run = self.turns.get(it.turn - 1).map_or("", |(run, _)| run);
            let later = history.as_ref().ok().and_then(|it| it.later_changes(run, &path).ok());
            let later = later.unwrap_or_default();
            fate(it, now.as_ref(), committed.as_ref(), &later)
        };
        changes.into_iter().filter_map(of).collect()
    }

    /// Returns the changes of the turns, applied or not.
    fn changes(&self) -> Vec<EarlierChange> {
        let not_applied = unapplied(&self.session).unwrap_or_else(|error| {
            tracing::warn!(%error, "what earlier turns did not apply is not known");
            Vec::new()
        });
        let mut all = Vec::new();
        for (turn, (run, changes)) in (1..).zip(&self.turns) {
            let applied = changes.iter().map(|change| (change.clone(), ChangeAtTurnEnd::Applied));
            let others = not_applied.iter().filter(|it| it.run == *run);
            let others = others.flat_map(|it| it.changes.clone());
            let of = |(change, was)| EarlierChange { turn, change, was };
            all.extend(applied.chain(others).map(of));
        }
        all
    }

    fn now(&self, path: &RepoPath) -> Option<FileState> {
        match self.reader.entry_or_link(path, u64::MAX) {
            Ok(Entry::File(state)) => Some(state),
            Ok(_) | Err(_) => None,
        }
    }
}
