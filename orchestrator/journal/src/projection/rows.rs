//! The rows that an event is worth. Pure: the tables are described in `schema.sql`, and filled elsewhere.
//!
//! Each event stands for itself: its rows depend on nothing before it, so that a journal that goes on only adds rows.

use actors::delivery::Delivery;
use actors::event::{Blob, Event};
use actors::team::{EndedLane, LaneEnd};
use serde::Serialize;

use crate::read::Record;

/// What stands in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    /// Nothing, or nobody knows.
    Null,
    /// A number.
    Number(i64),
    /// Text.
    Text(String),
}

/// A table of the schema that events are projected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Table {
    Events,
    Starts,
    States,
    Turns,
    Decisions,
    Runs,
    Deliveries,
    Stages,
    Plans,
    Steps,
    Marks,
    Refusals,
    Patches,
    Commits,
    Checkpoints,
    Proposals,
    Answers,
    Commands,
    Verifications,
    Failures,
    Attempts,
    LaneEnds,
    Requests,
    Replies,
}

impl Table {
    /// All of them.
    pub(super) const ALL: [Self; 24] = [
        Self::Events,
        Self::Starts,
        Self::States,
        Self::Turns,
        Self::Decisions,
        Self::Runs,
        Self::Deliveries,
        Self::Stages,
        Self::Plans,
        Self::Steps,
        Self::Marks,
        Self::Refusals,
        Self::Patches,
        Self::Commits,
        Self::Checkpoints,
        Self::Proposals,
        Self::Answers,
        Self::Commands,
        Self::Verifications,
        Self::Failures,
        Self::Attempts,
        Self::LaneEnds,
        Self::Requests,
        Self::Replies,
    ];

    /// Its name in the schema.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Starts => "starts",
            Self::States => "states",
            Self::Turns => "turns",
            Self::Decisions => "decisions",
            Self::Runs => "runs",
            Self::Deliveries => "deliveries",
            Self::Stages => "stages",
            Self::Plans => "plans",
            Self::Steps => "steps",
            Self::Marks => "marks",
            Self::Refusals => "refusals",
            Self::Patches => "patches",
            Self::Commits => "commits",
            Self::Checkpoints => "checkpoints",
            Self::Proposals => "proposals",
            Self::Answers => "answers",
            Self::Commands => "commands",
            Self::Verifications => "verifications",
            Self::Failures => "failures",
            Self::Attempts => "attempts",
            Self::LaneEnds => "lane_ends",
            Self::Requests => "requests",
            Self::Replies => "replies",
        }
    }
}

/// A row of a table: all columns but the session, which comes first in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Where it goes.
    pub(super) table: Table,
    /// In the order of the schema; the first is the event's number.
    pub(super) cells: Vec<Cell>,
}

/// The rows of one line of a journal. A kind that this version does not know is worth a row in `events` all the same.
pub(super) fn rows(record: &Record) -> Vec<Row> {
    let at_all: [Cell; 4] = [
        text(&record.at),
        text(&record.kind),
        record.run.as_ref().map_or(Cell::Null, text),
        record.lane.as_ref().map_or(Cell::Null, text),
    ];
    let whose = Whose {
        run: record.run.as_deref().unwrap_or_default(),
        lane: record.lane.as_deref().unwrap_or_default(),
    };
    let own = record.event().map(|event| own_rows(event, whose)).unwrap_or_default();
    let rows = std::iter::once((Table::Events, at_all.to_vec())).chain(own);
    let seq = number(record.seq);
    rows.map(|(table, mut cells)| {
        cells.insert(0, seq.clone());
        Row { table, cells }
    })
    .collect()
}

/// The run and the lane that an event belongs to; each is empty when there is none.
#[derive(Debug, Clone, Copy)]
struct Whose<'r> {
    run: &'r str,
    lane: &'r str,
}

/// What an event says, but for its number.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "many kinds are worth no more than to be listed"
)]
fn own_rows(event: Event, whose: Whose<'_>) -> Vec<(Table, Vec<Cell>)> {
    let row = match event {
        Event::SessionStarted { workspace, version, .. } => {
            (Table::Starts, vec![text(workspace), text(version)])
        }
        Event::SessionStateChanged { to, .. } => (Table::States, vec![text(to.to_string())]),
        Event::TurnAdded { speaker, text: said, .. } => {
            (Table::Turns, vec![text(speaker.name()), text(said)])
        }
        Event::RouterDecision { intent, reason } => {
            (Table::Decisions, vec![text(intent.name()), text(reason.name())])
        }
        Event::RunStarted { intent, request } => {
            (Table::Runs, vec![text(intent.name()), text(request)])
        }
        Event::PlanCreated { version, plan, .. } | Event::PlanRevised { version, plan, .. } => {
            let steps = plan.steps.iter().zip(1_u64..);
            let steps = steps.map(|(step, n)| (Table::Steps, vec![number(n), text(step)]));
            let plan = (Table::Plans, vec![number(version), json(&plan)]);
            return std::iter::once(plan).chain(steps).collect();
        }
        Event::StepMarked { plan, step, mark } => {
            (Table::Marks, vec![number(plan), number(step as u64), word(&mark)])
        }
        Event::ArchitectStarted { iteration }
        | Event::EditorStarted { iteration }
        | Event::ApplyStarted { iteration }
        | Event::VerifyStarted { iteration, .. } => (Table::Stages, vec![number(iteration)]),
        Event::PlanRefused { error } => (Table::Refusals, vec![text("plan"), words(&error)]),
        Event::DraftRefused { error } => (Table::Refusals, vec![text("draft"), words(&error)]),
        Event::PatchRefused { reasons, .. } => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            (Table::Refusals, vec![text("patch"), text(reasons.join("\n"))])
        }
        Event::PatchStaged { patch, purpose, title, files, .. } => {
            (Table::Patches, vec![text(patch), word(&purpose), words(&title), json(&files)])
        }
        Event::PatchApplied { patch } => (Table::Commits, vec![text(patch), text("applied")]),
        Event::CommitSettled { patch, outcome, .. } => {
            (Table::Commits, vec![text(patch), word(&outcome)])
        }
        Event::CheckpointCreated { checkpoint, patch, .. } => {
            (Table::Checkpoints, vec![number(checkpoint), text(patch)])
        }
        Event::ToolProposed { ask, action, why } => {
            (Table::Proposals, vec![text(ask), words(&action), words(&why)])
        }
        Event::ToolApproved { ask } => {
            (Table::Answers, vec![text(ask), text("approved"), Cell::Null, Cell::Null])
        }
        Event::ToolDenied { ask, action, why, .. } => {
            let ask = text(ask.unwrap_or_default());
            (Table::Answers, vec![ask, text("denied"), words(&action), words(&why)])
        }
        Event::VerifyCompleted { iteration, outcome } => {
            (Table::Verifications, vec![number(iteration), word(&outcome)])
        }
        Event::FailureClassified { class, errors } => {
            (Table::Failures, vec![word(&class), number(errors as u64)])
        }
        Event::RunFinished { delivery, spent, .. } => {
            let spent = [spent.nano_usd.nanos(), spent.tokens, spent.calls].map(number);
            let ended = [text(ending(&delivery)), json(&delivery)];
            (Table::Deliveries, ended.into_iter().chain(spent).collect())
        }
        Event::LanesFinished { lanes } => {
            let ended = |lane: EndedLane| {
                let state = lane_state(&lane.end);
                let cells = [whose.run, &lane.lane.to_string(), &lane.title, state].map(text);
                (Table::LaneEnds, cells.to_vec())
            };
            return lanes.into_iter().map(ended).collect();
        }
        event => return work(event, whose).into_iter().collect(),
    };
    vec![row]
}

/// What models and commands did.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are rows above, or none")]
fn work(event: Event, whose: Whose<'_>) -> Option<(Table, Vec<Cell>)> {
    let row = match event {
        Event::VerificationRun { command, baseline, outcome, exit, elapsed_ms, output, .. } => {
            let [output, bytes] = blob(Some(&output));
            let how = [text(command), number(u8::from(baseline)), word(&outcome), text(exit)];
            let cells = how.into_iter().chain([number(elapsed_ms), output, bytes]);
            (Table::Commands, cells.collect())
        }
        Event::ModelRequest { call, role, model, retry, body, .. } => {
            let [body, bytes] = blob(Some(&body));
            let who = [text(role.as_str()), text(model), number(retry)];
            let cells = whose.call(call).into_iter().chain(who).chain([body, bytes]);
            (Table::Requests, cells.collect())
        }
        Event::CallDropped { call, charged } => {
            let how = whose.call(call).into_iter().chain([text("dropped"), text("")]);
            let tokens = [const { Cell::Null }; 4];
            let cost = [number(charged.nano_usd.nanos()), number(0_u64)];
            (Table::Replies, how.chain(tokens).chain(cost).chain(blob(None)).collect())
        }
        Event::ModelReply {
            call,
            outcome,
            message,
            usage,
            cost_nano_usd,
            avoidable_misses,
            answer,
            ..
        } => {
            let tokens = usage.map_or([const { Cell::Null }; 4], |usage| {
                [usage.prompt, usage.hit, usage.output, usage.reasoning].map(number)
            });
            let cost = cost_nano_usd.map_or(Cell::Null, |cost| number(cost.nanos()));
            let how = whose
                .call(call)
                .into_iter()
                .chain([text(outcome), message.as_ref().map_or_else(|| text(""), words)]);
            let spent = tokens.into_iter().chain([cost, number(avoidable_misses)]);
            (Table::Replies, how.chain(spent).chain(blob(answer.as_ref())).collect())
        }
        Event::LaneSpawned { attempt, title, .. } => {
            (Table::Attempts, whose.attempt(attempt, "begun", text(title), Cell::Null))
        }
        Event::LaneCompleted { attempt, files, .. } => {
            (Table::Attempts, whose.attempt(attempt, "completed", Cell::Null, json(&files)))
        }
        Event::LaneFailed { attempt, files, .. } => {
            (Table::Attempts, whose.attempt(attempt, "failed", Cell::Null, json(&files)))
        }
        _ => return None,
    };
    Some(row)
}

impl Whose<'_> {
    /// What names a call.
    fn call(self, call: u64) -> [Cell; 3] {
        [text(self.run), text(self.lane), number(call)]
    }

    /// A row of an attempt of a lane.
    fn attempt(self, attempt: u32, state: &str, title: Cell, files: Cell) -> Vec<Cell> {
        vec![text(self.run), text(self.lane), number(attempt), text(state), title, files]
    }
}

/// The state of a lane, as it is written in the journal.
const fn lane_state(end: &LaneEnd) -> &'static str {
    match end {
        LaneEnd::Merged => "merged",
        LaneEnd::Staged => "staged",
        LaneEnd::Empty => "empty",
        LaneEnd::Failed { .. } => "failed",
        LaneEnd::Conflicted { .. } => "conflicted",
    }
}

/// The state of a delivery, as it is written in the journal.
fn ending(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Delivered { .. } => "delivered",
        Delivery::NoEditNeeded { .. } => "no_edit_needed",
        Delivery::NeedsWork { .. } => "needs_work",
        Delivery::Denied { .. } => "denied",
        Delivery::Cancelled => "cancelled",
        Delivery::BudgetExhausted { .. } => "budget_exhausted",
        Delivery::Failed { .. } => "failed",
    }
}

fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// What is shown of something.
fn words(shown: &impl ToString) -> Cell {
    Cell::Text(shown.to_string())
}

/// A number; one that is larger than any real one is the largest there is.
fn number(number: impl Into<u64>) -> Cell {
    Cell::Number(i64::try_from(number.into()).unwrap_or(i64::MAX))
}

/// An enum that serialises as a word.
fn word(value: &impl Serialize) -> Cell {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Cell::Text(word),
        Ok(_) | Err(_) => Cell::Null,
    }
}

fn json(value: &impl Serialize) -> Cell {
    serde_json::to_string(value).map_or(Cell::Null, Cell::Text)
}

/// Hash and length of content.
fn blob(blob: Option<&Blob>) -> [Cell; 2] {
    blob.map_or([const { Cell::Null }; 2], |blob| [text(blob.blob.to_string()), number(blob.bytes)])
}
