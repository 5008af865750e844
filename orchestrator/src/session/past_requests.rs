//! Restores the past of a session from its journal: its requests and answers, how they ended, and the interrupted run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::run::UserWord;
use actors::run::recording::{AtRecordingEnd, Recorded, Recording, Requests};
use actors::run::terms::Terms;
use actors::talk::prompts::Prompts;
use checks::outcome::CheckOutcome;
use facts::delivery::{Delivery, StagedFor};
use facts::event::{Blob, Event, FORMAT, NamedImage, StagedFile};
use facts::seen::SeenFile;
use facts::words::{EffectToApprove, Side};
use journal::staged_changes;
use lanes::crew::undo_patch::Trail;
use missions::card::SealedCard;
use missions::card::cards::{Cards, MadeCard};
use thiserror::Error;
use tools::clock::Timestamp;
use tree::{Change, FileHash, RepoPath};

use crate::autopilot::steering_dialogue::{SteeringExchange, steering_dialogue};
use crate::request::Request;
use crate::session::turn::fates::ChangeAtTurnEnd;
use crate::session::turn::{FailedCheck, FinishedTurn};
use journal::read::{ReadError, Record, content, read_journal};

/// Why a session cannot be resumed.
#[derive(Debug, Error)]
pub enum EarlierError {
    /// The journal, or content it names, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An event of a run is of a kind or form that this version does not know.
    #[error("event {seq} ({kind}) is not known to this version")]
    Unknown {
        /// The event's number.
        seq: u64,
        /// The event's kind.
        kind: String,
    },
    /// The run's configuration is not stored, or is unusable for this version.
    #[error("the configuration of the run {run} cannot be read")]
    Config {
        /// The run's id.
        run: String,
    },
    /// The run's prompts are not stored, or are not a set of prompts.
    #[error("the prompts of the run {run} cannot be read")]
    Prompts {
        /// The run's id.
        run: String,
    },
}

/// The past of a session.
pub(crate) struct SessionPast {
    /// The finished turns, oldest first.
    pub(crate) turns: Vec<FinishedTurn>,
    /// Number of them that prompts show as a summary, from the first.
    pub(crate) compacted: usize,
    /// The interrupted run, if any.
    pub(crate) interrupted: Option<InterruptedRun>,
    /// The cards of its missions that can still be answered.
    pub(crate) cards: BTreeMap<FileHash, SealedCard>,
    /// What was said in the steering dialogue of its autopilot.
    pub(crate) steering: Vec<SteeringExchange>,
}

/// A run that was interrupted.
pub struct InterruptedRun {
    pub(crate) request: Request,
    pub(crate) recorded: RecordedRun,
}

/// What is needed to replay a run.
pub(crate) struct RecordedRun {
    /// The run's id.
    pub(crate) run: String,
    /// Its configuration and prompts.
    pub(crate) terms: Terms,
    /// Salt of its masks for secrets.
    pub(crate) salt: String,
    /// Values that were secret at the time, as far as the run saw them.
    pub(crate) secrets: BTreeSet<String>,
    /// Its recorded events.
    pub(crate) recording: Arc<Recording>,
    /// How long it has worked.
    pub(crate) elapsed: Duration,
}

impl InterruptedRun {
    /// Returns the run's id.
    pub fn run(&self) -> &str {
        &self.recorded.run
    }

    /// Returns the user's request.
    pub fn request(&self) -> &str {
        &self.request.text
    }

    /// Returns its recorded events so far.
    pub fn events(&self) -> Vec<Recorded> {
        self.recorded.recording.events()
    }
}

/// The events of one run, in order.
pub(crate) struct RunRecords<'r> {
    /// The run's id.
    pub(crate) id: &'r str,
    /// The first event of the process in which it began.
    begun: Option<&'r Record>,
    /// The last change of configuration in that process before the run began.
    changed: Option<&'r Record>,
    records: Vec<&'r Record>,
    /// When it was worked on: start and end for each process.
    worked: Vec<(&'r str, &'r str)>,
}

/// What is recorded at the start of a process for the runs that begin in it.
struct Begun {
    /// The [`FORMAT`] of those runs' records.
    format: u32,
    config: Option<Blob>,
    prompts: Option<Blob>,
    salt: String,
}

/// Returns the runs of a session, in the order they began.
pub(crate) fn runs(records: &[Record]) -> Vec<RunRecords<'_>> {
    let mut runs: Vec<RunRecords<'_>> = Vec::new();
    // The start event of the current process; `taken_up` holds it until the first event of a run.
    let (mut begun, mut taken_up, mut changed) = (None, None, None);
    for record in records {
        if matches!(record.name(), "SessionStarted" | "SessionContinued") {
            (begun, taken_up, changed) = (Some(record), Some(record), None);
        }
        if record.name() == "ConfigurationChanged" {
            changed = Some(record);
        }
        let Some(id) = record.run.as_deref() else { continue };
        let at = record.at.as_str();
        let resumed = taken_up.take().map(|begun: &Record| (begun.at.as_str(), at));
        let Some(run) = runs.iter_mut().rev().find(|run| run.id == id) else {
            let (records, worked) = (vec![record], vec![(at, at)]);
            runs.push(RunRecords { id, begun, changed, records, worked });
            continue;
        };
        run.records.push(record);
        match (resumed, run.worked.last_mut()) {
            (Some(worked), _) => run.worked.push(worked),
            (None, Some((_, to))) => *to = at,
            (None, None) => {}
        }
    }
    runs
}

impl<'r> RunRecords<'r> {
    /// Returns true if its end is recorded.
    pub(crate) fn is_finished(&self) -> bool {
        self.of_kind("RunFinished").is_some()
    }

    /// Returns the last event of a kind.
    fn of_kind(&self, kind: &str) -> Option<&'r Record> {
        self.records.iter().rev().find(|record| record.name() == kind).copied()
    }

    /// Returns the user's request with its flags.
    pub(crate) fn request(&self) -> Request {
        let first = self.records.first().and_then(|record| record.event());
        first.and_then(Request::of_first_event).unwrap_or_else(|| Request::new("", None))
    }

    /// Returns how it ended; `None` if it has not.
    fn delivery(&self) -> Option<Delivery> {
        let Event::RunFinished { delivery, .. } = self.of_kind("RunFinished")?.event()? else {
            return None;
        };
        Some(delivery)
    }

    /// Returns what the next turn is told about it, once it is over.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    pub(crate) fn turn(&self, session: &Path) -> Result<Option<FinishedTurn>, EarlierError> {
        let Some(delivery) = self.delivery() else { return Ok(None) };
        let request = self.request();
        if !request.is_turn() {
            return Ok(None);
        }
        let request = request.text;
        let (mut plan, mut answer, mut trail) = (None, None, Trail::default());
        let (mut failing, mut in_lanes) = (Vec::new(), false);
        let mut images = Vec::new();
        let mut staged: Vec<(String, Vec<StagedFile>)> = Vec::new();
        let own = self.records.iter().filter(|record| !record.scope().is_part());
        for event in own.filter_map(|record| record.event()) {
            match event {
                Event::PlanCreated { plan: it, .. } | Event::PlanRevised { plan: it, .. } => {
                    plan = Some(it);
                }
                Event::TurnAdded { speaker: Side::Assistant, text, .. } => answer = Some(text),
                Event::ImagesRead { images: named, .. } => {
                    images = named.iter().map(NamedImage::to_string).collect();
                }
                Event::LanesBegun { .. } => in_lanes = true,
                Event::VerifyStarted { .. } => failing.clear(),
                // Failures while lanes are merged are covered by how the merge ends.
                Event::VerificationRun { baseline: false, .. } if !in_lanes => {
                    failing.retain(|check: &FailedCheck| !is_of(&event, &check.command));
                    failing.extend(failed(session, event));
                }
                Event::PatchStaged { patch, files, .. } => staged.push((patch, files)),
                Event::PatchApplied { patch } => {
                    if let Some((_, files)) = staged.iter().rev().find(|(id, _)| *id == patch) {
                        trail.follow(&staged_changes(session, files)?);
                    }
                }
                _ => {}
            }
        }
        let changes = trail.changes();
        let (run, said) = (self.id.to_owned(), self.user_said());
        let turn =
            FinishedTurn { run, request, images, delivery, plan, said, answer, changes, failing };
        Ok(Some(turn))
    }

    /// Returns what the user said while it was worked on.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the user says nothing in other events")]
    fn user_said(&self) -> Vec<UserWord> {
        let (mut said, mut asked) = (Vec::new(), String::new());
        let mut staged: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for event in self.records.iter().filter_map(|record| record.event()) {
            match event {
                Event::UserAsked { question, .. } => asked = question,
                Event::UserAnswered { answer } => {
                    let question = std::mem::take(&mut asked);
                    // Only a server's question can be left empty, and its call says what came of it.
                    if answer.as_deref() != Some("") {
                        said.push(UserWord::Answer { question, answer });
                    }
                }
                Event::UserSteered { words } => {
                    said.extend(words.into_iter().map(|words| UserWord::Said { words }));
                }
                Event::PatchStaged { patch, files, .. } => {
                    let files = files.iter().map(|file| file.path.to_string()).collect();
                    staged.insert(patch, files);
                }
                Event::ApprovalGiven { left_out, said: Some(words), .. } => {
                    let to = left_out.iter().map(RepoPath::as_str).collect::<Vec<_>>().join(", ");
                    said.push(UserWord::Objection { to, words });
                }
                Event::ApprovalDenied { action, said: Some(words), .. } => {
                    let to = match &action {
                        EffectToApprove::Patch(patch) => {
                            staged.get(patch).map(|files| files.join(", "))
                        }
                        EffectToApprove::Command(text)
                        | EffectToApprove::Network(text)
                        | EffectToApprove::Tool(text) => Some(text.clone()),
                    };
                    said.push(UserWord::Objection { to: to.unwrap_or_default(), words });
                }
                _ => {}
            }
        }
        said
    }

    /// Returns the changes that it proposed for the workspace and did not apply, each file once.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of them")]
    fn unapplied(&self, session: &Path) -> Result<Vec<(Change, ChangeAtTurnEnd)>, ReadError> {
        let mut staged: BTreeMap<String, Vec<StagedFile>> = BTreeMap::new();
        let mut asked: BTreeMap<String, String> = BTreeMap::new();
        let mut open: BTreeMap<RepoPath, (StagedFile, ChangeAtTurnEnd)> = BTreeMap::new();
        let own = self.records.iter().filter(|record| !record.scope().is_part());
        for event in own.filter_map(|record| record.event()) {
            match event {
                Event::PatchStaged { patch, purpose: StagedFor::Change, files, .. } => {
                    for file in &files {
                        // What the user left out is staged as well.
                        let was =
                            open.remove(&file.path).map_or(ChangeAtTurnEnd::Staged, |(_, was)| was);
                        open.insert(file.path.clone(), (file.clone(), was));
                    }
                    staged.insert(patch, files);
                }
                Event::ApprovalAsked { ask, action: EffectToApprove::Patch(patch), .. } => {
                    asked.insert(ask, patch);
                }
                Event::ApprovalGiven { ask, left_out, said } => {
                    let whole = asked.get(&ask).and_then(|patch| staged.get(patch));
                    let whole = whole.into_iter().flatten();
                    for file in whole.filter(|file| left_out.contains(&file.path)) {
                        let was = ChangeAtTurnEnd::LeftOut(said.clone());
                        open.insert(file.path.clone(), (file.clone(), was));
                    }
                }
                Event::PatchApplied { patch } => {
                    for file in staged.get(&patch).into_iter().flatten() {
                        open.remove(&file.path);
                    }
                }
                _ => {}
            }
        }
        let (files, was): (Vec<StagedFile>, Vec<ChangeAtTurnEnd>) = open.into_values().unzip();
        Ok(staged_changes(session, &files)?.into_iter().zip(was).collect())
    }

    /// Collects what is needed to replay it. `session` is the directory with its content.
    pub(crate) fn recorded(
        &self,
        session: &Path,
        at_end: AtRecordingEnd,
    ) -> Result<RecordedRun, EarlierError> {
        let terms = self.terms(session)?;
        let salt = self.begun().map(|begun| begun.salt).unwrap_or_default();
        let (mut events, mut secrets) = (Vec::new(), BTreeSet::new());
        for record in &self.records {
            let unknown = || EarlierError::Unknown { seq: record.seq, kind: record.kind.clone() };
            let mut event = record.event().ok_or_else(unknown)?;
            for blob in event.effects_mut() {
                blob.content = content(session, blob)?.into();
            }
            if let Event::FilesRead { files, .. } = &event {
                secrets.extend(files.iter().flat_map(SeenFile::secrets));
            }
            events.push(Recorded { seq: record.seq, scope: record.scope(), event });
        }
        forget_open_ends(&mut events);
        let requests = match at_end {
            AtRecordingEnd::Stop if self.begun().is_some_and(|begun| begun.format == FORMAT) => {
                Requests::Compared
            }
            AtRecordingEnd::Stop | AtRecordingEnd::GoOn => Requests::Taken,
        };
        let recording = Arc::new(Recording::new(events, at_end, requests));
        Ok(RecordedRun {
            run: self.id.to_owned(),
            terms,
            salt,
            secrets,
            recording,
            elapsed: self.elapsed(),
        })
    }

    /// Returns what the process in which it began recorded for its runs.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else begins a process")]
    fn begun(&self) -> Option<Begun> {
        let begun = match self.begun?.event()? {
            Event::SessionStarted { format, config, prompts, salt, .. } => {
                Begun { format, config, prompts, salt }
            }
            Event::SessionContinued { format, config, prompts, salt, .. } => {
                Begun { format, config: Some(config), prompts, salt }
            }
            _ => return None,
        };
        match self.changed.and_then(Record::event) {
            Some(Event::ConfigurationChanged { config }) => {
                Some(Begun { config: Some(config), ..begun })
            }
            Some(_) | None => Some(begun),
        }
    }

    /// Returns its configuration and prompts.
    pub(crate) fn terms(&self, session: &Path) -> Result<Terms, EarlierError> {
        let begun = self.begun();
        let no_config = || EarlierError::Config { run: self.id.to_owned() };
        let config = begun
            .as_ref()
            .and_then(|begun| config::recorded(&text(session, begun.config.as_ref()?)?));
        let config = config.ok_or_else(no_config)?;
        let prompts = match begun.and_then(|begun| begun.prompts) {
            Some(recorded) => text(session, &recorded).and_then(|json| Prompts::from_record(&json)),
            None => Some(Prompts::default()),
        };
        let prompts = prompts.ok_or_else(|| EarlierError::Prompts { run: self.id.to_owned() })?;
        Terms::new(Arc::new(config), prompts).map_err(|_| no_config())
    }

    /// Returns how long it was worked on, according to its events.
    fn elapsed(&self) -> Duration {
        let worked = self.worked.iter().filter_map(|(from, to)| {
            let (from, to) = (from.parse::<Timestamp>().ok()?, to.parse::<Timestamp>().ok()?);
            Duration::try_from(to.duration_since(from)).ok()
        });
        worked.sum()
    }
}

/// Removes the undo patches of an end that was interrupted: after the interruption, it may end differently.
fn forget_open_ends(events: &mut Vec<Recorded>) {
    let offered: BTreeSet<String> = events
        .iter()
        .filter_map(|recorded| {
            let Event::RunFinished { rollbacks, .. } = &recorded.event else { return None };
            Some(rollbacks)
        })
        .flatten()
        .map(|rollback| rollback.patch.clone())
        .collect();
    events.retain(|recorded| {
        let Event::PatchStaged { patch, purpose, .. } = &recorded.event else { return true };
        *purpose != StagedFor::WayBack || offered.contains(patch)
    });
}

/// The changes that a run proposed and did not apply.
pub(crate) struct Unapplied {
    /// The run's id.
    pub(crate) run: String,
    /// The changes, and why they were not applied.
    pub(crate) changes: Vec<(Change, ChangeAtTurnEnd)>,
}

/// Returns what the finished runs of a session proposed and did not apply; the session's journal is in the directory
/// `session`.
pub(crate) fn unapplied(session: &Path) -> Result<Vec<Unapplied>, ReadError> {
    let reading = read_journal(session)?;
    let finished = runs(&reading.records).into_iter().filter(RunRecords::is_finished);
    let of = |run: RunRecords<'_>| {
        Ok(Unapplied { run: run.id.to_owned(), changes: run.unapplied(session)? })
    };
    finished.map(of).collect()
}

/// Returns the names of the worktrees kept for failed lanes of a run that has ended, according to the journal in the
/// directory `session`; `None` while the run can be resumed.
pub(crate) fn ended_lanes(session: &Path, run: &str) -> Option<Vec<String>> {
    let reading = match read_journal(session) {
        Ok(reading) => reading,
        // Without a session, the run cannot be resumed.
        Err(ReadError::Io { .. }) => return Some(Vec::new()),
        Err(ReadError::Damaged { .. } | ReadError::Content { .. }) => return None,
    };
    let of_run = |record: &&Record| record.run.as_deref() == Some(run);
    let events: Vec<Event> =
        reading.records.iter().filter(of_run).filter_map(Record::event).collect();
    // A run of which nothing was recorded cannot be resumed either.
    let ended =
        events.is_empty() || events.iter().any(|event| matches!(event, Event::RunFinished { .. }));
    let failed = events.into_iter().filter_map(|event| {
        if let Event::LaneFailed { worktree, .. } = event { worktree } else { None }
    });
    ended.then(|| failed.collect())
}

/// Returns true if an event is a run of this command.
fn is_of(event: &Event, wanted: &str) -> bool {
    matches!(event, Event::VerificationRun { command, .. } if command == wanted)
}

/// Returns the check that an event reports, if it failed.
fn failed(session: &Path, event: Event) -> Option<FailedCheck> {
    let Event::VerificationRun { command, outcome, exit, output, findings, .. } = event else {
        return None;
    };
    let excerpt = findings.and_then(|findings| findings.excerpt);
    let output = excerpt.or_else(|| text(session, &output)).unwrap_or_default();
    (outcome == CheckOutcome::CodeFailure).then_some(FailedCheck { command, exit, output })
}

/// Returns content as text, if it exists and is text.
fn text(session: &Path, blob: &Blob) -> Option<String> {
    String::from_utf8(content(session, blob).ok()?).ok()
}

/// Returns the cards that can still be answered.
fn open_cards(records: &[Record]) -> impl Iterator<Item = MadeCard> {
    let mut cards = Cards::default();
    let about_cards = |record: &&Record| Cards::EVENTS.contains(&record.name());
    for event in records.iter().filter(about_cards).filter_map(Record::event) {
        cards.event(&event);
    }
    cards.into_made().into_iter().filter(|made| made.state.is_open())
}

impl SessionPast {
    /// The past of a new session.
    pub(crate) fn nothing() -> Self {
        Self {
            turns: Vec::new(),
            compacted: 0,
            interrupted: None,
            cards: BTreeMap::new(),
            steering: Vec::new(),
        }
    }

    /// Restores the past from a session's records; its content is in the directory `session`.
    pub(crate) fn read(session: &Path, records: &[Record]) -> Result<Self, EarlierError> {
        let mut runs = runs(records);
        let mut earlier = Self::nothing();
        for run in &runs {
            earlier.turns.extend(run.turn(session)?);
        }
        let mut compacted = records.iter().rev().filter(|it| it.name() == "ConversationCompacted");
        if let Some(Event::ConversationCompacted { turns, .. }) = compacted.find_map(Record::event)
        {
            earlier.compacted = turns;
        }
        for MadeCard { hash, card, .. } in open_cards(records) {
            earlier
                .cards
                .extend(SealedCard::read(content(session, &card)?).map(|card| (hash, card)));
        }
        let open = runs.pop().filter(|run| !run.is_finished());
        earlier.steering = steering_dialogue(session, records, open.as_ref().map(|run| run.id))?;
        if let Some(open) = open {
            let request = open.request();
            let recorded = open.recorded(session, AtRecordingEnd::GoOn)?;
            earlier.interrupted = Some(InterruptedRun { request, recorded });
        }
        Ok(earlier)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(seq: u64, second: u64, kind: &str, run: Option<&str>) -> Record {
        let at = format!("2026-01-01T00:00:{second:02}.000Z");
        let (kind, prev) = (format!("{kind}@v1"), "0".repeat(16));
        let record = json!({
            "seq": seq, "at": at, "kind": kind, "run": run, "data": {}, "prev": prev,
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn time_between_processes_does_not_count_as_work() {
        let records = [
            record(1, 0, "SessionStarted", None),
            record(2, 1, "TurnAdded", Some("a")),
            record(3, 4, "ModelRequest", Some("a")),
            // Resumed half a minute later.
            record(4, 34, "SessionContinued", None),
            record(5, 36, "ModelReply", Some("a")),
            record(6, 37, "RunFinished", Some("a")),
            record(7, 50, "TurnAdded", Some("b")),
        ];
        let runs = runs(&records);
        let elapsed: Vec<u64> = runs.iter().map(|run| run.elapsed().as_secs()).collect();
        assert_eq!(elapsed, [3 + 3, 0]);
        assert_eq!(runs.iter().map(RunRecords::is_finished).collect::<Vec<_>>(), [true, false]);
    }
}
