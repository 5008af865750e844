//! What a session was before it goes on, read back from its journal: what was asked and answered, how requests ended, and the
//! run that was interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::checks::CheckOutcome;
use actors::delivery::{Delivery, StagedFor};
use actors::event::{Blob, Event, FORMAT, StagedFile};
use actors::prompts::Prompts;
use actors::recording::{Beyond, Recorded, Recording, Requests};
use actors::run::Terms;
use actors::seen::SeenFile;
use actors::words::Side;
use journal::changes;
use lanes::trail::Trail;
use missions::cards::{Cards, MadeCard};
use thiserror::Error;
use tools::clock::Timestamp;
use tree::FileHash;

use crate::request::Request;
use crate::turn::{FailedCheck, Turn};
use journal::read::{ReadError, Record, content, read};

/// Why a session cannot be continued.
#[derive(Debug, Error)]
pub enum EarlierError {
    /// The journal, or content it names, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An event of a run is of a kind or form that this version does not know.
    #[error("event {seq} ({kind}) is not known to this version")]
    Unknown {
        /// Its number.
        seq: u64,
        /// Its kind.
        kind: String,
    },
    /// The configuration that a run keeps to is not kept, or not one for this version.
    #[error("the configuration of the run {run} cannot be read")]
    Config {
        /// The run.
        run: String,
    },
    /// The prompts that a run keeps to are not kept, or not a set of prompts.
    #[error("the prompts of the run {run} cannot be read")]
    Prompts {
        /// The run.
        run: String,
    },
}

/// What a session was before it goes on.
pub(crate) struct Earlier {
    /// The turns that are over, the oldest first.
    pub(crate) turns: Vec<Turn>,
    /// The run that has no end.
    pub(crate) cut_short: Option<CutShort>,
    /// The cards of its missions to which something may be said, as JSON.
    pub(crate) cards: BTreeMap<FileHash, Vec<u8>>,
}

/// A run that was interrupted.
pub struct CutShort {
    pub(crate) request: Request,
    pub(crate) again: Again,
}

/// What it takes to drive a run again.
pub(crate) struct Again {
    /// Its id.
    pub(crate) run: String,
    /// What it keeps to.
    pub(crate) terms: Terms,
    /// What its masks depend on besides the values.
    pub(crate) salt: String,
    /// Values that were secret then, as far as it saw them.
    pub(crate) secrets: BTreeSet<String>,
    /// What is recorded of it.
    pub(crate) recording: Arc<Recording>,
    /// How long it worked.
    pub(crate) elapsed: Duration,
}

impl CutShort {
    /// Id of the run.
    pub fn run(&self) -> &str {
        &self.again.run
    }

    /// What the user asked for.
    pub fn request(&self) -> &str {
        &self.request.text
    }

    /// What happened to it so far.
    pub fn events(&self) -> Vec<Recorded> {
        self.again.recording.events()
    }
}

/// The events of one run, in order.
pub(crate) struct RunRecords<'r> {
    /// Its id.
    pub(crate) id: &'r str,
    /// The beginning of the process in which it began.
    begun: Option<&'r Record>,
    /// The last change of the configuration in that process, before it began.
    changed: Option<&'r Record>,
    records: Vec<&'r Record>,
    /// When it was worked on: from and to, for each process.
    worked: Vec<(&'r str, &'r str)>,
}

/// What is recorded at the beginning of a process, for the runs that begin in it.
struct Begun {
    /// The [`FORMAT`] of what is recorded of them.
    format: u32,
    config: Option<Blob>,
    prompts: Option<Blob>,
    salt: String,
}

/// The runs of a session, in the order they began.
pub(crate) fn runs(records: &[Record]) -> Vec<RunRecords<'_>> {
    let mut runs: Vec<RunRecords<'_>> = Vec::new();
    // The event with which the process begins that wrote what follows, until something followed.
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
    /// Whether its end is written down.
    pub(crate) fn is_finished(&self) -> bool {
        self.of_kind("RunFinished").is_some()
    }

    /// The last event of a kind.
    fn of_kind(&self, kind: &str) -> Option<&'r Record> {
        self.records.iter().rev().find(|record| record.name() == kind).copied()
    }

    /// What the user asked for, and what the flags said it is.
    pub(crate) fn request(&self) -> Request {
        match self.records.first().and_then(|record| record.event()) {
            Some(Event::TurnAdded { text, intent, card, .. }) => Request { text, intent, card },
            Some(_) | None => Request::new("", None),
        }
    }

    /// How it ended.
    fn delivery(&self) -> Option<Delivery> {
        let Event::RunFinished { delivery, .. } = self.of_kind("RunFinished")?.event()? else {
            return None;
        };
        Some(delivery)
    }

    /// What the next turn is told of it, if it is over.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    fn turn(&self, session: &Path) -> Result<Option<Turn>, EarlierError> {
        let Some(delivery) = self.delivery() else { return Ok(None) };
        let Request { text: request, .. } = self.request();
        let (mut plan, mut answer, mut trail) = (None, None, Trail::default());
        let (mut failing, mut in_lanes) = (Vec::new(), false);
        let mut staged: Vec<(String, Vec<StagedFile>)> = Vec::new();
        let own = self.records.iter().filter(|record| !record.scope().is_part());
        for event in own.filter_map(|record| record.event()) {
            match event {
                Event::PlanCreated { plan: it, .. } | Event::PlanRevised { plan: it, .. } => {
                    plan = Some(it);
                }
                Event::TurnAdded { speaker: Side::Assistant, text, .. } => answer = Some(text),
                Event::LanesBegun { .. } => in_lanes = true,
                Event::VerifyStarted { .. } => failing.clear(),
                // What fails where lanes come together is told by how that ends.
                Event::VerificationRun { baseline: false, .. } if !in_lanes => {
                    failing.retain(|check: &FailedCheck| !is_of(&event, &check.command));
                    failing.extend(failed(session, event));
                }
                Event::PatchStaged { patch, files, .. } => staged.push((patch, files)),
                Event::PatchApplied { patch } => {
                    if let Some((_, files)) = staged.iter().rev().find(|(id, _)| *id == patch) {
                        trail.follow(&changes(session, files)?);
                    }
                }
                _ => {}
            }
        }
        let changes = trail.changes();
        Ok(Some(Turn { request, delivery, plan, answer, changes, failing }))
    }

    /// What it takes to drive it again. `session` is where content is kept.
    pub(crate) fn again(&self, session: &Path, beyond: Beyond) -> Result<Again, EarlierError> {
        let terms = self.terms(session)?;
        let salt = self.begun().map(|begun| begun.salt).unwrap_or_default();
        let (mut events, mut secrets) = (Vec::new(), BTreeSet::new());
        for record in &self.records {
            let unknown = || EarlierError::Unknown { seq: record.seq, kind: record.kind.clone() };
            let mut event = record.event().ok_or_else(unknown)?;
            for blob in event.effects_mut() {
                blob.content = content(session, blob)?.into();
            }
            if let Event::FilesRead { files } = &event {
                secrets.extend(files.iter().flat_map(SeenFile::secrets));
            }
            events.push(Recorded { seq: record.seq, scope: record.scope(), event });
        }
        forget_open_ends(&mut events);
        let requests = match beyond {
            Beyond::Stop if self.begun().is_some_and(|begun| begun.format == FORMAT) => {
                Requests::Compared
            }
            Beyond::Stop | Beyond::GoOn => Requests::Taken,
        };
        let recording = Arc::new(Recording::new(events, beyond, requests));
        Ok(Again {
            run: self.id.to_owned(),
            terms,
            salt,
            secrets,
            recording,
            elapsed: self.elapsed(),
        })
    }

    /// What was recorded for it when the process began in which it did.
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

    /// What it keeps to.
    pub(crate) fn terms(&self, session: &Path) -> Result<Terms, EarlierError> {
        let begun = self.begun();
        let no_config = || EarlierError::Config { run: self.id.to_owned() };
        let config = begun
            .as_ref()
            .and_then(|begun| config::recorded(&text(session, begun.config.as_ref()?)?));
        let config = config.ok_or_else(no_config)?;
        let prompts = match begun.and_then(|begun| begun.prompts) {
            Some(recorded) => text(session, &recorded).and_then(|json| Prompts::recorded(&json)),
            None => Some(Prompts::default()),
        };
        let prompts = prompts.ok_or_else(|| EarlierError::Prompts { run: self.id.to_owned() })?;
        Terms::new(Arc::new(config), prompts).map_err(|_| no_config())
    }

    /// How long it was worked on, as far as its events tell.
    fn elapsed(&self) -> Duration {
        let worked = self.worked.iter().filter_map(|(from, to)| {
            let (from, to) = (from.parse::<Timestamp>().ok()?, to.parse::<Timestamp>().ok()?);
            Duration::try_from(to.duration_since(from)).ok()
        });
        worked.sum()
    }
}

/// Takes out the ways back that a run was about to end with when it was interrupted: whether it would end so was open again.
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

/// Names of the worktrees that lanes of a run that has ended left to be looked at, as the journal in the directory `session`
/// tells; none while it can be resumed.
pub(crate) fn ended_lanes(session: &Path, run: &str) -> Option<Vec<String>> {
    let reading = match read(session) {
        Ok(reading) => reading,
        // Without a session nobody goes on with it.
        Err(ReadError::Io { .. }) => return Some(Vec::new()),
        Err(ReadError::Damaged { .. } | ReadError::Content { .. }) => return None,
    };
    let of_run = |record: &&Record| record.run.as_deref() == Some(run);
    let events: Vec<Event> =
        reading.records.iter().filter(of_run).filter_map(Record::event).collect();
    // What a crash kept from being written down at all cannot be resumed either.
    let ended =
        events.is_empty() || events.iter().any(|event| matches!(event, Event::RunFinished { .. }));
    let failed = events.into_iter().filter_map(|event| {
        if let Event::LaneFailed { worktree, .. } = event { worktree } else { None }
    });
    ended.then(|| failed.collect())
}

/// Whether an event is a run of a command.
fn is_of(event: &Event, wanted: &str) -> bool {
    matches!(event, Event::VerificationRun { command, .. } if command == wanted)
}

/// The check that an event tells of, if it failed.
fn failed(session: &Path, event: Event) -> Option<FailedCheck> {
    let Event::VerificationRun { command, outcome, exit, output, findings, .. } = event else {
        return None;
    };
    let excerpt = findings.and_then(|findings| findings.excerpt);
    let output = excerpt.or_else(|| text(session, &output)).unwrap_or_default();
    (outcome == CheckOutcome::CodeFailure).then_some(FailedCheck { command, exit, output })
}

/// Content that is text, if it is there and is one.
fn text(session: &Path, blob: &Blob) -> Option<String> {
    String::from_utf8(content(session, blob).ok()?).ok()
}

/// The cards to which something may be said.
fn open_cards(records: &[Record]) -> impl Iterator<Item = MadeCard> {
    let mut cards = Cards::default();
    let about_cards = |record: &&Record| Cards::EVENTS.contains(&record.name());
    for event in records.iter().filter(about_cards).filter_map(Record::event) {
        cards.event(&event);
    }
    cards.into_made().into_iter().filter(|made| made.state.is_open())
}

impl Earlier {
    /// Of a session that begins.
    pub(crate) fn nothing() -> Self {
        Self { turns: Vec::new(), cut_short: None, cards: BTreeMap::new() }
    }

    /// Of a session with these events, kept in the directory `session`.
    pub(crate) fn read(session: &Path, records: &[Record]) -> Result<Self, EarlierError> {
        let mut runs = runs(records);
        let mut earlier = Self::nothing();
        for run in &runs {
            earlier.turns.extend(run.turn(session)?);
        }
        for MadeCard { hash, card, .. } in open_cards(records) {
            earlier.cards.insert(hash, content(session, &card)?);
        }
        if let Some(open) = runs.pop().filter(|run| !run.is_finished()) {
            let request = open.request();
            let again = open.again(session, Beyond::GoOn)?;
            earlier.cut_short = Some(CutShort { request, again });
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
    fn a_run_is_worked_on_only_while_a_process_does() {
        let records = [
            record(1, 0, "SessionStarted", None),
            record(2, 1, "TurnAdded", Some("a")),
            record(3, 4, "ModelRequest", Some("a")),
            // Half a minute later.
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
