//! Projections of journals that grow, are truncated, damaged or replaced, in databases that suffer the same.

use std::sync::Arc;

use actors::run::publisher::Publisher;
use facts::amounts::{Allowance, Amount};
use facts::delivery::{Delivery, Limit, StagedFor};
use facts::event::{Blob, Event, FORMAT, StagedContent, StagedFile};
use facts::grammar::plan::Plan;
use facts::lane_id::LaneId;
use facts::team::{EndedLane, LaneEnd};
use facts::words::{DeniedBy, EffectToApprove, IntentBy, RequestIntent, Role, Side};
use model::price::Usd;
use model::{AgentRole, Usage};
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tools::clock::{FixedClock, Timestamp};
use tree::{FileMode, RepoPath};

use super::*;
use crate::EVENTS;
use crate::history::{History, Reach, Tally};
use crate::log::{Capacity, Journal};

const WORKSPACE: &str = "/w";

const TOPICS: [Topic; 5] =
    [Topic::Sessions, Topic::Calls, Topic::Patches, Topic::Commits, Topic::Lanes];

/// A state directory.
struct State(TempDir);

impl State {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn projection(&self, name: &str) -> Projection {
        Projection { database: self.0.path().join(name), workspace: WORKSPACE.to_owned() }
    }

    /// Replaces a session's journal with another file.
    fn write(&self, session: &str, journal: &[u8]) {
        let dir = self.homes().dir(session);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("new"), journal).unwrap();
        fs::rename(dir.join("new"), dir.join(EVENTS)).unwrap();
    }

    fn homes(&self) -> Homes {
        Homes::find(&self.0.path().join("sessions"))
    }

    /// Returns all lines from the file's tables, which must be usable, and the reported damage.
    fn lines(&self, name: &str) -> (Vec<String>, Vec<String>) {
        let at = self.projection(name).folded_at(Place::Kept, &self.homes(), &TOPICS);
        let Gathered::<Vec<KeptEntries>> { value, troubles } = at.unwrap();
        (shown(&value), troubles.iter().map(ToString::to_string).collect())
    }

    /// Returns all lines, wherever the tables had to be put.
    fn asked(&self, name: &str) -> Vec<String> {
        shown(&self.projection(name).kept(&self.homes(), &TOPICS).unwrap().value)
    }
}

/// Lists each session, followed by its lines.
fn shown(sessions: &[KeptEntries]) -> Vec<String> {
    let of = |kept: &KeptEntries| {
        let entries = kept.entries.iter().map(|entry| format!("{entry:?}"));
        let session = format!("{} of {} events", kept.session, kept.events);
        std::iter::once(session).chain(entries).collect::<Vec<_>>()
    };
    sessions.iter().flat_map(of).collect()
}

/// Writes a journal of these events in the workspace.
fn journal(events: Vec<Event>) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let (screen, mut seen) = mpsc::channel(8);
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let capacity = Capacity { queue: 8, patience: Duration::ZERO };
        let (journal, inlet) = Journal::create(dir.path(), clock, capacity, screen).unwrap();
        let publisher = Publisher::new(inlet);
        let watching = tokio::spawn(async move { while seen.recv().await.is_some() {} });
        let (workspace, version) = (WORKSPACE.to_owned(), "1".to_owned());
        let started = Event::SessionStarted {
            workspace,
            version,
            config: None,
            prompts: None,
            format: FORMAT,
            salt: String::new(),
            forked_from: None,
        };
        publisher.publish(started).await.unwrap();
        let publisher = publisher.for_run("r");
        for event in events {
            publisher.publish(event).await.unwrap();
        }
        publisher.record(Event::RoleCrashed { role: Role::Verifier }).await.unwrap();
        drop(publisher);
        drop(journal);
        watching.abort();
    });
    fs::read(dir.path().join(EVENTS)).unwrap()
}

fn turn(text: &str) -> Event {
    Event::TurnAdded {
        speaker: Side::User,
        text: text.to_owned(),
        intent: None,
        card: None,
        course: None,
    }
}

fn three_turns() -> Vec<u8> {
    journal(vec![turn("one"), turn("two"), turn("three")])
}

const LARGEST: Amount =
    Amount { nano_usd: Usd::from_nanos(u64::MAX), tokens: u64::MAX, calls: 1, reasoning: 0 };

/// Generates events of most projected kinds, in no sensible order.
fn any_event() -> impl Strategy<Value = Event> {
    let text = || prop_oneof!["[a-c]", "\\PC{0,8}", Just("a\0b".to_owned())];
    let usage = proptest::option::of((any::<u64>(), any::<u64>()));
    prop_oneof![
        (any::<bool>(), text()).prop_map(|(user, text)| {
            let speaker = if user { Side::User } else { Side::Assistant };
            Event::TurnAdded { speaker, text, intent: None, card: None, course: None }
        }),
        Just(Event::IntentDecided { intent: RequestIntent::Plan, reason: IntentBy::Words }),
        text().prop_map(|request| Event::RunStarted { intent: RequestIntent::Edit, request }),
        any::<u32>().prop_map(|iteration| Event::EditorStarted { iteration, call: None }),
        (any::<u32>(), proptest::collection::vec(text(), 0..3)).prop_map(|(version, steps)| {
            let plan = Plan { steps, ..Plan::default() };
            Event::PlanCreated { version, plan, tolerances: vec![] }
        }),
        (text(), text(), any::<bool>()).prop_map(|(patch, title, back)| Event::PatchStaged {
            patch,
            purpose: if back { StagedFor::WayBack } else { StagedFor::Change },
            title: title.into(),
            files: vec![StagedFile {
                path: RepoPath::parse("a").unwrap(),
                renamed_from: None,
                before: None,
                after: Some(StagedContent { blob: Blob::new("x"), mode: FileMode::Regular }),
                added: 1,
                removed: 0,
            }],
            repairs: vec![],
            put_aside: vec![],
            part_of: None,
        }),
        text().prop_map(|patch| Event::PatchApplied { patch }),
        (text(), text(), text()).prop_map(|(ask, patch, why)| Event::ApprovalAsked {
            ask,
            action: EffectToApprove::Patch(patch),
            why: why.into(),
        }),
        text().prop_map(|ask| Event::ApprovalGiven { ask, left_out: vec![], said: None }),
        (proptest::option::of(text()), text(), text()).prop_map(|(ask, command, why)| {
            let (action, by) = (EffectToApprove::Command(command), DeniedBy::Nobody);
            Event::ApprovalDenied { ask, action, by, why: why.into(), said: None }
        }),
        (text(), any::<bool>(), any::<u64>()).prop_map(|(command, baseline, elapsed_ms)| {
            let outcome = checks::outcome::CheckOutcome::TimedOut;
            Event::VerificationRun {
                command,
                baseline,
                outcome,
                exit: String::new(),
                elapsed_ms,
                output: Blob::new("out"),
                findings: None,
            }
        }),
        (0_u64..4, 0_u32..2).prop_map(|(call, retry)| Event::ModelRequest {
            conversation: String::new(),
            call,
            role: AgentRole::Editor,
            model: "m".to_owned(),
            max_tokens: 1,
            retry,
            reserved: Amount::default(),
            terms: None,
            body: Blob::new("body"),
        }),
        (0_u64..4, text(), usage, proptest::option::of(any::<u64>())).prop_map(
            |(call, outcome, usage, cost)| Event::ModelReply {
                call,
                role: AgentRole::Editor,
                outcome,
                message: None,
                error: None,
                usage: usage.map(|(prompt, hit)| Usage {
                    prompt,
                    hit: Some(hit),
                    ..Usage::default()
                }),
                cost_nano_usd: cost.map(Usd::from_nanos),
                charged: Amount::default(),
                avoidable_misses: 0,
                answer: None,
            }
        ),
        (0_u32..3, text()).prop_map(|(attempt, title)| {
            let tree = serde_json::from_str(&format!("\"{}\"", "0".repeat(40))).unwrap();
            Event::LaneSpawned { attempt, title, base: tree, budget: Allowance::default() }
        }),
        (0_u32..3, text()).prop_map(|(attempt, limit)| Event::LaneFailed {
            attempt,
            why: Delivery::BudgetExhausted { limit: Limit::Usd, detail: limit.into() },
            files: vec![],
            worktree: None,
            spent: Amount::default(),
        }),
        text().prop_map(|title| {
            let (lane, spent) = (LaneId::TOGETHER, Amount::default());
            let ended = EndedLane { lane, title, end: LaneEnd::Empty, spent };
            Event::LanesFinished { lanes: vec![ended] }
        }),
        text().prop_map(finished),
    ]
}

fn finished(limit: String) -> Event {
    Event::RunFinished {
        delivery: Delivery::BudgetExhausted { limit: Limit::Calls, detail: limit.into() },
        spent: LARGEST,
        spent_unknown: Amount::default(),
        rollbacks: vec![],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However a journal reached its present state, its rows equal those of a first read.
    #[test]
    fn incremental_sync_equals_a_full_read(
        events in proptest::collection::vec(any_event(), 0..24),
        cuts in proptest::collection::vec(0.0..1.0, 0..5),
    ) {
        let state = State::new();
        let journal = journal(events);
        for cut in cuts {
            // Anywhere: most cuts leave a torn line, and some remove earlier lines.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a small file")]
            let at = (journal.len() as f64 * cut) as usize;
            state.write("s", &journal[..at]);
            let (_, troubles) = state.lines("grown");
            prop_assert!(troubles.is_empty(), "{troubles:?}");
        }
        state.write("s", &journal);
        let (grown, _) = state.lines("grown");
        prop_assert_eq!(&grown, &state.lines("fresh").0);
        let lines = journal.split(|byte| *byte == b'\n').count() - 1;
        prop_assert_eq!(&grown[0], &format!("s of {lines} events"));
        let history = History::find(state.0.path(), Path::new(WORKSPACE));
        let lanes = history.lanes().unwrap().value;
        prop_assert!(lanes.is_empty(), "no event belongs to a lane: {lanes:?}");
        let (sessions, story) =
            (history.sessions(Reach::Here).unwrap().value, history.story("s").unwrap().value);
        prop_assert_eq!(&sessions[..], std::slice::from_ref(&story.summary), "journal and tables agree");
        prop_assert_eq!(Tally::of(&history.calls(Reach::Here).unwrap().value), story.summary.usage);
        for seq in 1..=lines as u64 {
            let (around, explained) = history.explain("s", seq).unwrap().value;
            prop_assert!(explained.because.iter().all(|cause| *cause < seq), "{explained:?}");
            prop_assert_eq!(around.entry(seq), story.entry(seq));
        }
    }
}

#[test]
fn a_changed_journal_is_projected_again() {
    let (old, new) =
        (three_turns(), journal(vec![turn("other"), turn("words"), turn("here"), turn("now")]));
    let second_line = old.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut flipped = old.clone();
    flipped[second_line + 60] ^= 1;
    for other in [&new[..], &old[..second_line], &flipped[..]] {
        let state = State::new();
        state.write("s", &old);
        let (before, _) = state.lines("grown");
        state.write("s", other);
        let (rows, troubles) = state.lines("grown");
        assert_ne!(rows, before);
        assert_eq!((rows, troubles.clone()), state.lines("fresh"));
        // Damage is reported every time, not only when it is found.
        assert_eq!(troubles, state.lines("grown").1);
        state.write("s", &old);
        assert_eq!(state.lines("grown"), state.lines("again"));
    }
}

#[test]
fn damage_is_reported_with_its_line_and_the_lines_before_it_are_projected() {
    let state = State::new();
    let mut journal = three_turns();
    let end = journal.len();
    journal[end - 40] ^= 1;
    state.write("s", &journal);
    let (rows, troubles) = state.lines("p");
    assert_eq!(rows.iter().filter(|row| row.contains("TurnAdded {")).count(), 3);
    assert!(troubles.len() == 1 && troubles[0].contains("events.jsonl:5: "), "{troubles:?}");
}

#[test]
fn deleted_sessions_and_those_of_other_workspaces_have_no_rows() {
    let state = State::new();
    state.write("a", &three_turns());
    state.write("b", &three_turns());
    let (both, _) = state.lines("p");
    fs::remove_dir_all(state.homes().dir("a")).unwrap();
    assert!(both.len() > state.lines("p").0.len());
    assert_eq!(state.lines("p"), state.lines("fresh"));
    let elsewhere = Projection { workspace: "/elsewhere".to_owned(), ..state.projection("p") };
    assert_eq!(shown(&elsewhere.kept(&state.homes(), &TOPICS).unwrap().value), [""; 0]);
}

#[test]
fn a_damaged_or_outdated_database_is_rebuilt() {
    let state = State::new();
    for session in ["a", "b", "c"] {
        state.write(session, &three_turns());
    }
    let (whole, _) = state.lines("p");
    let path = state.projection("p").database;
    let good = fs::read(&path).unwrap();
    let mut holed = good.clone();
    holed[4096..].fill(0xff);
    let garbage = vec![b'x'; 10_000];
    let renamed = {
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode = DELETE; ALTER TABLE lines RENAME TO talks")
            .unwrap();
        drop(connection);
        fs::read(&path).unwrap()
    };
    let other = {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA user_version = 7").unwrap();
        drop(connection);
        fs::read(&path).unwrap()
    };
    for bad in [&holed[..], &garbage, &good[..good.len() / 2], &good[..10], &renamed, &other, &[]] {
        fs::write(&path, bad).unwrap();
        assert_eq!(state.asked("p"), whole);
        assert_eq!(state.lines("p").0, whole, "the file is usable again");
    }
}

#[test]
fn a_database_in_use_is_not_removed() {
    let state = State::new();
    state.write("a", &three_turns());
    let (whole, _) = state.lines("p");
    let held = state.projection("p").open().unwrap();
    held.tables.execute_batch("PRAGMA user_version = 7").unwrap();
    assert_eq!(state.asked("p"), whole, "from memory");
    assert!(matches!(state.projection("p").open(), Err(ProjectionError::Version)));
    drop(held);
    assert_eq!(state.asked("p"), whole);
    assert!(state.projection("p").open().is_ok());
}

#[test]
fn queries_work_without_a_usable_file() {
    let state = State::new();
    state.write("a", &three_turns());
    fs::write(state.0.path().join("file"), "").unwrap();
    assert_eq!(state.asked("file/p"), state.lines("fresh").0);
    fs::create_dir(state.0.path().join("taken")).unwrap();
    assert_eq!(state.asked("taken"), state.lines("fresh").0);
}

#[test]
fn concurrent_queries_get_the_same_answer() {
    let state = State::new();
    state.lines("p");
    for session in 0..20 {
        state.write(&format!("s{session}"), &three_turns());
    }
    let (whole, _) = state.lines("alone");
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4).map(|_| scope.spawn(|| state.lines("p"))).collect();
        for asked in asking {
            assert_eq!(asked.join().unwrap().0, whole);
        }
    });
}
