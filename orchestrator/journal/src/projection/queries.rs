//! What the tables are asked: typed answers, in an order that depends on nothing but the journals.

use std::collections::BTreeMap;

use actors::event::{Blob, StagedFile};
use actors::ledger::Amount;
use bytes::Bytes;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Params, Result, Row};
use serde::de::DeserializeOwned;
use tools::model::Usage;
use tools::model::price::Usd;
use tools::tree::RepoPath;

use super::ProjectionError;
use super::answers::{Call, CallReply, LaneWork, Moment, StoryEvent, Summary};
use crate::staged::StagedPatch;

/// How a row of a table is read.
type Reading = fn(&Row<'_>) -> Result<Moment>;

/// The tables of a workspace, up to date.
pub struct Tables(pub(super) Connection);

impl Tables {
    /// The sessions, newest first.
    pub fn sessions(&self) -> Result<Vec<Summary>, ProjectionError> {
        let mut requests: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let turns = "SELECT session, text FROM turns WHERE speaker = 'user' ORDER BY session, seq";
        for (session, text) in self.rows(turns, [], |row| Ok((row.get(0)?, row.get(1)?)))? {
            requests.entry(session).or_default().push(text);
        }
        let sessions = self.rows("SELECT * FROM sessions ORDER BY session DESC", [], |row| {
            let id: String = row.get("session")?;
            Ok(Summary {
                requests: requests.remove(&id).unwrap_or_default(),
                id,
                started: row.get("started")?,
                workspace: row.get("workspace")?,
                version: row.get("version")?,
                state: row.get("state")?,
                ended: row.get("ended")?,
                applied: row.get("applied")?,
                events: natural(row, "events")?,
            })
        })?;
        Ok(sessions)
    }

    /// All calls of models, oldest first.
    pub fn calls(&self) -> Result<Vec<Call>, ProjectionError> {
        Ok(self.rows("SELECT * FROM calls ORDER BY session, seq", [], call)?)
    }

    /// The patch sets for the workspace, newest first.
    pub fn patches(&self) -> Result<Vec<StagedPatch>, ProjectionError> {
        let query = "SELECT * FROM staged WHERE lane IS NULL ORDER BY session DESC, seq DESC";
        Ok(self.rows(query, [], patch)?)
    }

    /// The lanes of all runs, by number; the newest run first.
    pub fn lanes(&self) -> Result<Vec<LaneWork>, ProjectionError> {
        let attempts = "SELECT * FROM attempts ORDER BY session, seq";
        let mut runs: Vec<BTreeMap<String, LaneWork>> = Vec::new();
        for next in self.rows(attempts, [], attempt)? {
            let is_of_it =
                |lane: &LaneWork| (&lane.session, &lane.run) == (&next.session, &next.run);
            match runs.last_mut().filter(|lanes| lanes.values().any(is_of_it)) {
                Some(lanes) => take_in(lanes, next),
                None => runs.push(BTreeMap::from([(next.lane.clone(), next)])),
            }
        }
        let mut lanes: Vec<LaneWork> =
            runs.into_iter().rev().flat_map(BTreeMap::into_values).collect();
        for (session, run, lane, title, state) in
            self.rows("SELECT session, run, lane, title, state FROM lane_ends", [], lane_end)?
        {
            let is_it =
                |it: &&mut LaneWork| (&it.session, &it.run, &it.lane) == (&session, &run, &lane);
            if let Some(ended) = lanes.iter_mut().find(is_it) {
                (ended.title, ended.state) = (title, state);
            }
        }
        for lane in lanes.iter_mut().filter(|lane| lane.state == "begun") {
            let files = self.applied_since_begun(lane)?;
            if !files.is_empty() {
                lane.files = files;
            }
        }
        Ok(lanes)
    }

    /// What the patches of a lane that did not end came to.
    fn applied_since_begun(&self, lane: &LaneWork) -> Result<Vec<StagedFile>> {
        let query = "SELECT * FROM staged WHERE session = ?1 AND run = ?2 AND lane = ?3 AND applied AND seq > (
            SELECT max(seq) FROM attempts WHERE session = ?1 AND run = ?2 AND lane = ?3) ORDER BY seq";
        let of_it = [&lane.session, &lane.run, &lane.lane];
        let mut all: BTreeMap<RepoPath, StagedFile> = BTreeMap::new();
        for file in self.rows(query, of_it, patch)?.into_iter().flat_map(|patch| patch.files) {
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
        Ok(all.into_values().collect())
    }

    /// All events of a session, in order.
    pub fn story(&self, session: &str) -> Result<Vec<StoryEvent>, ProjectionError> {
        let events = "SELECT seq, at, kind, run, lane FROM events WHERE session = ?1 ORDER BY seq";
        let mut story = self.rows(events, [session], |row| {
            let (at, kind) = (row.get("at")?, row.get("kind")?);
            let (run, lane) = (row.get("run")?, row.get("lane")?);
            Ok(StoryEvent { seq: natural(row, "seq")?, at, kind, run, lane, what: Moment::Other })
        })?;
        let sources: [(&str, Reading); 15] = [
            ("turns", turn),
            ("decisions", decision),
            ("states", state),
            ("stages", stage),
            ("plans", plan),
            ("refusals", refusal),
            ("staged", |row| patch(row).map(Moment::Patch)),
            ("commits", commit),
            ("proposals", proposal),
            ("answers", answer),
            ("commands", command),
            ("verifications", verification),
            ("failures", failure),
            ("calls", |row| Ok(Moment::Call(Box::new(call(row)?)))),
            ("deliveries", delivery),
        ];
        for (table, moment) in sources {
            let query = format!("SELECT * FROM {table} WHERE session = ?1");
            for (seq, what) in
                self.rows(&query, [session], |row| Ok((natural(row, "seq")?, moment(row)?)))?
            {
                if let Moment::Call(call) = &what
                    && let Some(reply) = &call.reply
                {
                    put(&mut story, reply.seq, Moment::Reply { request: seq });
                }
                put(&mut story, seq, what);
            }
        }
        Ok(story)
    }

    fn rows<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.0.prepare(query)?.query_map(params, read)?.collect()
    }
}

/// Says what the event with this number is; the numbers of a journal are contiguous from one.
fn put(story: &mut [StoryEvent], seq: u64, what: Moment) {
    let at = usize::try_from(seq).ok().and_then(|seq| seq.checked_sub(1));
    if let Some(entry) = at.and_then(|at| story.get_mut(at)) {
        entry.what = what;
    }
}

fn turn(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Turn { speaker: row.get("speaker")?, text: row.get("text")? })
}

fn decision(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Decision { intent: row.get("intent")?, reason: row.get("reason")? })
}

fn state(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::State { state: row.get("state")? })
}

fn stage(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Stage { iteration: natural(row, "iteration")? })
}

fn plan(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Plan { version: natural(row, "version")?, plan: json(row, "plan")? })
}

fn refusal(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Refusal { of: row.get("what")?, why: row.get("why")? })
}

fn patch(row: &Row<'_>) -> Result<StagedPatch> {
    Ok(StagedPatch {
        session: row.get("session")?,
        id: row.get("patch")?,
        purpose: word(row, "purpose")?,
        title: row.get("title")?,
        files: json(row, "files")?,
        applied: row.get("applied")?,
    })
}

fn attempt(row: &Row<'_>) -> Result<LaneWork> {
    let files: Option<String> = row.get("files")?;
    Ok(LaneWork {
        session: row.get("session")?,
        run: row.get("run")?,
        lane: row.get("lane")?,
        title: row.get::<_, Option<String>>("title")?.unwrap_or_default(),
        state: row.get("state")?,
        attempt: natural(row, "attempt")?,
        files: if files.is_some() { json(row, "files")? } else { Vec::new() },
    })
}

/// What is known of a lane, with what comes next of it.
fn take_in(lanes: &mut BTreeMap<String, LaneWork>, next: LaneWork) {
    let Some(known) = lanes.get_mut(&next.lane) else {
        lanes.insert(next.lane.clone(), next);
        return;
    };
    known.state = next.state;
    if !next.title.is_empty() {
        known.title = next.title;
    }
    // What an attempt did before is not forgotten for one that did nothing.
    if !next.files.is_empty() || known.files.is_empty() {
        (known.attempt, known.files) = (next.attempt, next.files);
    }
}

fn lane_end(row: &Row<'_>) -> Result<(String, String, String, String, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn commit(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Commit { patch: row.get("patch")?, outcome: row.get("outcome")? })
}

fn proposal(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Proposal { ask: row.get("ask")?, effect: row.get("what")?, why: row.get("why")? })
}

fn answer(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Answer {
        ask: row.get("ask")?,
        answer: row.get("answer")?,
        effect: row.get("what")?,
        why: row.get("why")?,
    })
}

fn command(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Command {
        command: row.get("command")?,
        baseline: row.get("baseline")?,
        outcome: row.get("outcome")?,
        exit: row.get("exit")?,
        elapsed_ms: natural(row, "elapsed_ms")?,
        output: blob(row, "output", "output_bytes")?.ok_or(Error::QueryReturnedNoRows)?,
    })
}

fn verification(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Verification { iteration: natural(row, "iteration")?, outcome: row.get("outcome")? })
}

fn failure(row: &Row<'_>) -> Result<Moment> {
    Ok(Moment::Failure { class: row.get("class")?, errors: natural(row, "errors")? })
}

fn delivery(row: &Row<'_>) -> Result<Moment> {
    let spent = Amount {
        nano_usd: Usd::from_nanos(natural(row, "nano_usd")?),
        tokens: natural(row, "tokens")?,
        calls: natural(row, "calls")?,
    };
    Ok(Moment::Delivery { delivery: json(row, "delivery")?, spent })
}

fn call(row: &Row<'_>) -> Result<Call> {
    Ok(Call {
        session: row.get("session")?,
        seq: natural(row, "seq")?,
        at: row.get("at")?,
        lane: Some(row.get("lane")?).filter(|lane: &String| !lane.is_empty()),
        call: natural(row, "call")?,
        role: row.get("role")?,
        model: row.get("model")?,
        retry: natural(row, "retry")?,
        body: blob(row, "body", "body_bytes")?.ok_or(Error::QueryReturnedNoRows)?,
        reply: match maybe(row, "replied")? {
            Some(seq) => Some(reply(row, seq)?),
            None => None,
        },
    })
}

fn reply(row: &Row<'_>, seq: u64) -> Result<CallReply> {
    let tokens = |column| Ok::<_, Error>(maybe(row, column)?.unwrap_or_default());
    let usage = match maybe(row, "prompt")? {
        Some(prompt) => Some(Usage {
            prompt,
            hit: tokens("hit")?,
            output: tokens("output")?,
            reasoning: tokens("reasoning")?,
        }),
        None => None,
    };
    Ok(CallReply {
        seq,
        outcome: row.get("outcome")?,
        message: row.get("message")?,
        usage,
        cost_nano_usd: maybe(row, "nano_usd")?.map(Usd::from_nanos),
        avoidable_misses: natural(row, "avoidable_misses")?,
        answer: blob(row, "answer", "answer_bytes")?,
    })
}

/// A number that is none less than zero.
fn natural(row: &Row<'_>, column: &str) -> Result<u64> {
    Ok(maybe(row, column)?.unwrap_or_default())
}

/// The same, where there may be none.
fn maybe(row: &Row<'_>, column: &str) -> Result<Option<u64>> {
    let number: Option<i64> = row.get(column)?;
    Ok(number.map(|number| u64::try_from(number).unwrap_or_default()))
}

fn blob(row: &Row<'_>, hash: &str, bytes: &str) -> Result<Option<Blob>> {
    let Some(text) = row.get::<_, Option<String>>(hash)? else { return Ok(None) };
    let blob = text.parse().map_err(|error| malformed(row, hash, error))?;
    Ok(Some(Blob { blob, bytes: natural(row, bytes)?, content: Bytes::new() }))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| malformed(row, column, error))
}

/// An enum that serialises as a word.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T> {
    let word: String = row.get(column)?;
    serde_json::from_value(word.into()).map_err(|error| malformed(row, column, error))
}

/// A column does not hold what was put there.
fn malformed(
    row: &Row<'_>,
    column: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    let at = row.as_ref().column_index(column).unwrap_or_default();
    Error::FromSqlConversionFailure(at, Type::Text, Box::new(error))
}
