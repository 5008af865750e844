//! Reconstructs the work of lanes from the start and end of their attempts. Pure.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::{Event, StagedFile};
use facts::lane_id::LaneId;
use facts::team::{EndedLane, LaneEnd};
use serde::Serialize;
use tree::RepoPath;

use super::entry::{KeptEntries, StoryEntry};

/// A lane of a run: its last attempt that changed something, or else its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneWork {
    /// The lane's session.
    pub session: String,
    /// The lane's run.
    pub run: String,
    /// The lane's number.
    pub lane: LaneId,
    /// Short title; empty if the lane never began.
    pub title: String,
    /// The lane's state.
    pub state: LaneState,
    /// Number of the attempt; zero if the lane never began.
    pub attempt: u32,
    /// The changes made in the lane.
    pub files: Vec<StagedFile>,
}

/// The outcome of a lane; while its run has not ended, that of its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneState {
    /// At work.
    Begun,
    /// Done.
    Completed,
    /// Not done.
    Failed,
    /// Its changes are in the result.
    Merged,
    /// Its changes are in a staged patch.
    Staged,
    /// There was nothing to change.
    Empty,
    /// Its changes conflict with those of another lane.
    Conflicted,
}

impl From<&LaneEnd> for LaneState {
    fn from(end: &LaneEnd) -> Self {
        match end {
            LaneEnd::Merged => Self::Merged,
            LaneEnd::Staged => Self::Staged,
            LaneEnd::Empty => Self::Empty,
            LaneEnd::Failed { .. } => Self::Failed,
            LaneEnd::Conflicted { .. } => Self::Conflicted,
        }
    }
}

/// A lane while the session is being read.
#[derive(Debug)]
struct Followed {
    work: LaneWork,
    /// Patches staged since it last began or ended.
    since: Vec<(String, Vec<StagedFile>)>,
}

/// The lanes of a run.
type Team = BTreeMap<LaneId, Followed>;

/// Returns the lanes of a session, by number; the newest run first.
pub(super) fn lanes(kept: &KeptEntries) -> Vec<LaneWork> {
    let mut teams: Vec<(&str, Team)> = Vec::new();
    let mut applied = BTreeSet::new();
    for (entry, event) in kept.known() {
        let run = entry.run.as_deref().unwrap_or_default();
        if let Event::PatchApplied { patch } = event {
            applied.insert(patch.as_str());
        } else if let Event::LanesFinished { lanes } = event {
            let teams = teams.iter_mut().filter(|(id, _)| *id == run);
            teams.for_each(|(_, team)| end(team, lanes));
        } else if let Some(next) = attempt(&kept.session, run, entry, event) {
            match teams.last_mut().filter(|(id, _)| *id == run) {
                Some((_, team)) => take_in(team, next),
                None => teams.push((run, Team::from([(next.lane, Followed::from(next))]))),
            }
        } else if let (Some(lane), Event::PatchStaged { patch, files, .. }) = (entry.lane, event)
            && let Some(known) = teams.last_mut().and_then(|(_, team)| team.get_mut(&lane))
        {
            known.since.push((patch.clone(), files.clone()));
        }
    }
    let teams = teams.into_iter().rev();
    teams.flat_map(|(_, team)| team.into_values().map(|lane| lane.ended(&applied))).collect()
}

/// Returns the start or end of an attempt, if the event is one.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are not about attempts")]
fn attempt(session: &str, run: &str, entry: &StoryEntry, event: &Event) -> Option<LaneWork> {
    let (attempt, state, title, files) = match event {
        Event::LaneSpawned { attempt, title, .. } => {
            (attempt, LaneState::Begun, title.clone(), Vec::new())
        }
        Event::LaneCompleted { attempt, files, .. } => {
            (attempt, LaneState::Completed, String::new(), files.clone())
        }
        Event::LaneFailed { attempt, files, .. } => {
            (attempt, LaneState::Failed, String::new(), files.clone())
        }
        _ => return None,
    };
    let (session, run) = (session.to_owned(), run.to_owned());
    Some(LaneWork { session, run, lane: entry.lane?, title, state, attempt: *attempt, files })
}

/// Updates what is known of a lane with its next event.
fn take_in(team: &mut Team, next: LaneWork) {
    let Some(Followed { work: known, since }) = team.get_mut(&next.lane) else {
        team.insert(next.lane, Followed::from(next));
        return;
    };
    since.clear();
    known.state = next.state;
    if !next.title.is_empty() {
        known.title = next.title;
    }
    // Keep the work of an earlier attempt when this one changed nothing.
    if !next.files.is_empty() || known.files.is_empty() {
        (known.attempt, known.files) = (next.attempt, next.files);
    }
}

fn end(team: &mut Team, lanes: &[EndedLane]) {
    for ended in lanes {
        if let Some(Followed { work, .. }) = team.get_mut(&ended.lane) {
            (work.title, work.state) = (ended.title.clone(), LaneState::from(&ended.end));
        }
    }
}

impl From<LaneWork> for Followed {
    fn from(work: LaneWork) -> Self {
        Self { work, since: Vec::new() }
    }
}

impl Followed {
    /// Returns the lane. If it did not end, its changes are those of its applied patches.
    fn ended(self, applied: &BTreeSet<&str>) -> LaneWork {
        let Self { mut work, since } = self;
        if work.state == LaneState::Begun {
            let applied = since.into_iter().filter(|(patch, _)| applied.contains(patch.as_str()));
            let files = together(applied.flat_map(|(_, files)| files));
            if !files.is_empty() {
                work.files = files;
            }
        }
        work
    }
}

/// Combines successive changes into one change per file.
fn together(changes: impl Iterator<Item = StagedFile>) -> Vec<StagedFile> {
    let mut all: BTreeMap<RepoPath, StagedFile> = BTreeMap::new();
    for file in changes {
        match all.get_mut(&file.path) {
            Some(known) => {
                known.added += file.added;
                known.removed += file.removed;
                known.after = file.after;
            }
            None => drop(all.insert(file.path.clone(), file)),
        }
    }
    all.retain(|_, file| file.before.is_some() || file.after.is_some());
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use facts::amounts::{Allowance, Amount};
    use facts::delivery::{Delivery, StagedFor};
    use facts::event::{Blob, StagedContent};
    use tree::FileMode;

    use super::*;

    fn file(path: &str, before: Option<&str>, after: Option<&str>) -> StagedFile {
        let content = |text: &str| StagedContent {
            blob: Blob::new(text.to_owned()),
            mode: FileMode::Regular,
        };
        StagedFile {
            path: RepoPath::parse(path).unwrap(),
            renamed_from: None,
            before: before.map(content),
            after: after.map(content),
            added: 1,
            removed: 1,
        }
    }

    fn staged(patch: &str, files: Vec<StagedFile>) -> Event {
        let (patch, title) = (patch.to_owned(), String::new().into());
        Event::PatchStaged {
            patch,
            purpose: StagedFor::Change,
            title,
            files,
            repairs: vec![],
            put_aside: vec![],
            part_of: None,
        }
    }

    fn of_lane(events: Vec<Event>) -> Vec<LaneWork> {
        let entry = |(seq, event): (u64, Event)| StoryEntry {
            seq,
            at: String::new(),
            kind: event.kind(),
            run: Some("r".to_owned()),
            lane: LaneId::new(1).filter(|_| !matches!(event, Event::LanesFinished { .. })),
            part: None,
            event: Some(event),
        };
        let entries: Vec<StoryEntry> = (1..).zip(events).map(entry).collect();
        lanes(&KeptEntries { session: "s".to_owned(), events: entries.len() as u64, entries })
    }

    fn spawned(attempt: u32) -> Event {
        let base = serde_json::from_str(&format!("\"{}\"", "0".repeat(40))).unwrap();
        Event::LaneSpawned { attempt, title: "one".to_owned(), base, budget: Allowance::default() }
    }

    #[test]
    fn an_unfinished_lane_has_the_combined_changes_of_its_applied_patches() {
        let lanes = of_lane(vec![
            spawned(1),
            staged("a", vec![file("kept", Some("0"), Some("1")), file("gone", None, Some("1"))]),
            Event::PatchApplied { patch: "a".to_owned() },
            staged("b", vec![file("kept", Some("1"), Some("2")), file("gone", Some("1"), None)]),
            Event::PatchApplied { patch: "b".to_owned() },
            staged("c", vec![file("kept", Some("2"), Some("3"))]),
        ]);
        let [LaneWork { state: LaneState::Begun, attempt: 1, files, .. }] = &lanes[..] else {
            panic!("{lanes:?}")
        };
        let [file] = &files[..] else { panic!("{files:?}") };
        assert_eq!((file.path.as_str(), file.added), ("kept", 2));
        assert_eq!(file.before.as_ref().map(|it| &it.blob.content[..]), Some(&b"0"[..]));
        assert_eq!(file.after.as_ref().map(|it| &it.blob.content[..]), Some(&b"2"[..]));
    }

    #[test]
    fn an_attempt_without_changes_does_not_hide_the_work_of_an_earlier_one() {
        let spent = Amount::default();
        let failed = |attempt, files| Event::LaneFailed {
            attempt,
            why: Delivery::Cancelled,
            files,
            worktree: None,
            spent,
        };
        let end = LaneEnd::Failed { why: Delivery::Cancelled };
        let lane = LaneId::new(1).unwrap();
        let ended = EndedLane { lane, title: "last".to_owned(), end, spent };
        let lanes = of_lane(vec![
            spawned(1),
            failed(1, vec![file("a", None, Some("1"))]),
            spawned(2),
            failed(2, vec![]),
            Event::LanesFinished { lanes: vec![ended] },
        ]);
        let [LaneWork { state: LaneState::Failed, attempt: 1, title, files, .. }] = &lanes[..]
        else {
            panic!("{lanes:?}")
        };
        assert_eq!((title.as_str(), files.len()), ("last", 1));
    }
}
