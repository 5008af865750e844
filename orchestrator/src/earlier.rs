//! What a session was before it goes on, read back from its journal: what was asked and answered, how requests ended, and the
//! run that was cut short.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::delivery::WAY_BACK;
use actors::dialogue::Dialogue;
use actors::event::{Blob, Event};
use actors::recording::{Beyond, Recorded, Recording};
use config::Config;
use serde::Deserialize;
use thiserror::Error;
use tools::clock::Timestamp;
use tools::model::{AgentRole, Message, ModelReply};

use crate::chat::{self, Intent};
use crate::journal::read::{ReadError, Record, content};
use crate::orchestrator::{Request, Terms, outcome_line};

/// Why a session can not be gone on with.
#[derive(Debug, Error)]
pub enum EarlierError {
    /// The journal, or content it names, can not be read.
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
    #[error("the configuration of the run {run} can not be read")]
    Config {
        /// The run.
        run: String,
    },
}

/// What a session was before it goes on.
pub(crate) struct Earlier {
    /// The dialogue in which questions are answered.
    pub(crate) analysis: Dialogue,
    /// How requests ended, the latest first.
    pub(crate) outcomes: Vec<String>,
    /// The run that has no end.
    pub(crate) cut_short: Option<CutShort>,
}

/// A run that was cut short.
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
}

/// The events of one run, in order.
pub(crate) struct RunRecords<'r> {
    /// Its id.
    pub(crate) id: &'r str,
    /// The configuration of the process in which it began.
    config: Option<&'r Record>,
    records: Vec<&'r Record>,
}

/// The runs of a session, in the order they began.
pub(crate) fn runs(records: &[Record]) -> Vec<RunRecords<'_>> {
    let mut runs: Vec<RunRecords<'_>> = Vec::new();
    let mut config = None;
    for record in records {
        if matches!(record.kind.as_str(), "SessionStarted@v1" | "SessionContinued@v1") {
            config = Some(record);
        }
        let Some(id) = record.run.as_deref() else { continue };
        match runs.iter_mut().rev().find(|run| run.id == id) {
            Some(run) => run.records.push(record),
            None => runs.push(RunRecords { id, config, records: vec![record] }),
        }
    }
    runs
}

impl<'r> RunRecords<'r> {
    /// Whether its end is written down.
    pub(crate) fn is_finished(&self) -> bool {
        self.of_kind("RunFinished@v1").is_some()
    }

    /// Without the ways back that it was about to end with: whether it will end so is open again.
    fn without_ways_back(mut self) -> Self {
        let is_way_back = |record: &Record| match record.event() {
            Some(Event::PatchStaged { title, .. }) => title.starts_with(WAY_BACK),
            _ => false,
        };
        while self.records.pop_if(|record| is_way_back(record)).is_some() {}
        self
    }

    /// The last event of a kind.
    fn of_kind(&self, kind: &str) -> Option<&'r Record> {
        self.records.iter().rev().find(|record| record.kind == kind).copied()
    }

    /// What the user asked for, and what the flags said it is.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    pub(crate) fn request(&self) -> Request {
        let mut request = Request { text: String::new(), intent: None };
        for event in self.records.iter().take(4).filter_map(|record| record.event()) {
            match event {
                Event::TurnAdded { speaker, text } if speaker == "user" => request.text = text,
                Event::RouterDecision { intent, reason } if reason == "flag" => {
                    request.intent = Intent::named(&intent);
                }
                _ => {}
            }
        }
        request
    }

    /// How it ended, in a line.
    fn outcome(&self) -> Option<String> {
        let Some(Event::RunFinished { delivery, .. }) =
            self.of_kind("RunFinished@v1").and_then(Record::event)
        else {
            return None;
        };
        Some(outcome_line(&self.request().text, &delivery))
    }

    /// What it takes to drive it again. `session` is where content is kept.
    pub(crate) fn again(&self, session: &Path, beyond: Beyond) -> Result<Again, EarlierError> {
        let terms = self.terms(session)?;
        let mut events = Vec::new();
        for record in &self.records {
            let unknown = || EarlierError::Unknown { seq: record.seq, kind: record.kind.clone() };
            let mut event = record.event().ok_or_else(unknown)?;
            for blob in event.effects_mut() {
                blob.content = content(session, blob)?.into();
            }
            events.push(Recorded { seq: record.seq, event, data: record.data.clone() });
        }
        let recording = Arc::new(Recording::new(events, beyond));
        Ok(Again { run: self.id.to_owned(), terms, recording, elapsed: self.elapsed() })
    }

    /// What it keeps to.
    pub(crate) fn terms(&self, session: &Path) -> Result<Terms, EarlierError> {
        let terms = self.config(session).and_then(|config| Terms::new(Arc::new(config)).ok());
        terms.ok_or_else(|| EarlierError::Config { run: self.id.to_owned() })
    }

    fn config(&self, session: &Path) -> Option<Config> {
        let begun = self.config?.event()?;
        let blob = begun.blobs().first().copied().cloned()?;
        config::recorded(&String::from_utf8(content(session, &blob).ok()?).ok()?)
    }

    /// From its first event to its last.
    fn elapsed(&self) -> Duration {
        let time = |record: Option<&&Record>| record?.at.parse::<Timestamp>().ok();
        let ends = time(self.records.first()).zip(time(self.records.last()));
        ends.and_then(|(first, last)| last.duration_since(first).try_into().ok())
            .unwrap_or_default()
    }

    /// The dialogue of the analysis as it was at the end of this run, if it was asked in it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events tell nothing of it")]
    fn analysis(&self, session: &Path) -> Result<Option<Dialogue>, EarlierError> {
        let mut asked = None;
        let mut answered = None;
        for event in self.records.iter().filter(|record| is_call(record)).filter_map(|r| r.event())
        {
            match event {
                Event::ModelRequest { role: AgentRole::Analysis, body, .. } => asked = Some(body),
                Event::ModelReply { role: AgentRole::Analysis, answer, .. } => answered = answer,
                _ => {}
            }
        }
        let Some(body) = asked else { return Ok(None) };
        let Some(Body { messages }) = json(session, &body)? else { return Ok(None) };
        let mut dialogue = Dialogue::going_on(messages, 0);
        if let Some(answer) = answered
            && let Some(reply) = json::<ModelReply>(session, &answer)?
        {
            dialogue.hear(&reply);
        }
        Ok(Some(dialogue))
    }
}

fn is_call(record: &Record) -> bool {
    matches!(record.kind.as_str(), "ModelRequest@v1" | "ModelReply@v1")
}

/// The part of a request body that a dialogue is made of.
#[derive(Deserialize)]
struct Body {
    messages: Vec<Message>,
}

fn json<T: for<'a> Deserialize<'a>>(session: &Path, blob: &Blob) -> Result<Option<T>, ReadError> {
    Ok(serde_json::from_slice(&content(session, blob)?).ok())
}

impl Earlier {
    /// Of a session that begins.
    pub(crate) fn nothing() -> Self {
        Self { analysis: chat::analysis(), outcomes: Vec::new(), cut_short: None }
    }

    /// Of a session with these events, kept in the directory `session`.
    pub(crate) fn read(session: &Path, records: &[Record]) -> Result<Self, EarlierError> {
        let mut runs = runs(records);
        let mut earlier = Self::nothing();
        for run in runs.iter().rev().filter(|run| run.is_finished()) {
            if let Some(dialogue) = run.analysis(session)? {
                earlier.analysis = dialogue;
                break;
            }
        }
        earlier.outcomes = runs.iter().rev().filter_map(RunRecords::outcome).collect();
        if let Some(open) = runs.pop().filter(|run| !run.is_finished()) {
            let request = open.request();
            let again = open.without_ways_back().again(session, Beyond::GoOn)?;
            earlier.cut_short = Some(CutShort { request, again });
        }
        Ok(earlier)
    }
}
