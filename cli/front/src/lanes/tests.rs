//! Tests of the table and the lines of lanes, built from events.

use checks::outcome::CheckOutcome;
use facts::amounts::{Allowance, Amount};
use facts::delivery::{Delivery, NeedsWork, StagedFor, Verified};
use facts::event::{Blob, StagedContent};
use facts::team::{Other, PlannedLane};
use model::price::Usd;
use model::{AgentRole, Usage};
use tree::{FileMode, RepoPath, TreeId};
use unicode_width::UnicodeWidthStr as _;

use super::lines::Detail;
use super::*;
use crate::paint::Paint;
use crate::run_view::CommandsGiven;

fn id(number: u8) -> LaneId {
    LaneId::new(number).unwrap()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn tree() -> TreeId {
    serde_json::from_str(&format!("\"{}\"", "0".repeat(40))).unwrap()
}

fn file(path: &str) -> StagedFile {
    let after = Some(StagedContent { blob: Blob::new("x\n"), mode: FileMode::Regular });
    let path = RepoPath::parse(path).unwrap();
    StagedFile { path, renamed_from: None, before: None, after, added: 1, removed: 0 }
}

fn spent() -> Amount {
    Amount { nano_usd: Usd::from_nanos(12_300_000), tokens: 12_345, calls: 1, reasoning: 0 }
}

fn planned(titles: &[&str]) -> Event {
    let lanes = titles.iter().zip(1_u8..).map(|(title, number)| PlannedLane {
        lane: id(number),
        title: (*title).to_owned(),
        goal: String::new(),
        owns: vec![format!("{number}.txt"), "docs/**".to_owned()],
        after: (number == 3).then_some(id(1)).into_iter().collect(),
    });
    Event::LanesPlanned { lanes: lanes.collect(), tolerances: Vec::new() }
}

fn spawned(attempt: u32, title: &str) -> Event {
    let budget = Allowance::default();
    Event::LaneSpawned { attempt, title: title.to_owned(), base: tree(), budget }
}

fn replied() -> Event {
    Event::ModelReply {
        call: 1,
        role: AgentRole::Architect,
        outcome: "ok".to_owned(),
        message: None,
        error: None,
        usage: Some(Usage { prompt: 12_000, hit: Some(9_000), output: 345, reasoning: Some(0) }),
        cost_nano_usd: Some(spent().nano_usd),
        charged: spent(),
        avoidable_misses: 0,
        answer: None,
    }
}

fn checked(command: &str, outcome: CheckOutcome) -> Event {
    Event::VerificationRun {
        command: command.to_owned(),
        baseline: false,
        outcome,
        exit: "exit 1".to_owned(),
        elapsed_ms: 7,
        output: Blob::new(""),
        findings: None,
    }
}

fn completed() -> Event {
    Event::LaneCompleted {
        attempt: 1,
        verified: Verified::Passed,
        tree: tree(),
        files: vec![file("a.txt")],
        left_behind: Vec::new(),
        spent: spent(),
    }
}

fn failed(why: &str) -> Event {
    let why = Delivery::NeedsWork { why: NeedsWork::NoDraft, detail: why.into() };
    Event::LaneFailed { attempt: 1, why, files: Vec::new(), worktree: None, spent: spent() }
}

fn ended(number: u8, title: &str, end: LaneEnd) -> EndedLane {
    EndedLane { lane: id(number), title: title.to_owned(), end, spent: spent() }
}

/// A table that has received these events, one second apart.
fn table(events: &[(Option<LaneId>, Event)]) -> LaneTable {
    let mut table = LaneTable::default();
    for ((lane, event), second) in events.iter().zip(0..) {
        table.event(*lane, event, at(second));
    }
    table
}

/// Returns the rows at 80 columns, without the spaces that align them.
fn rows(table: &LaneTable, seconds: u64) -> Vec<String> {
    let rows = table.rows(80, at(seconds), Paint::Plain);
    rows.iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_stopped_call_is_of_unknown_cost_and_not_added_to_what_is_spent() {
    let one = Some(id(1));
    let dropped = Event::CallDropped { call: 1, charged: spent() };
    let table = table(&[(None, planned(&["a"])), (one, spawned(1, "a")), (one, dropped)]);
    let Lane { spent: now, .. } = table.lanes.get(&id(1)).unwrap();
    assert_eq!(*now, Charge::AtMost(spent()).spending());
    assert_eq!(lines::used(*now), "0 tokens · $0.0000 + 1 call of unknown cost");
}

#[test]
fn a_row_shows_the_stage_of_its_lane() {
    let (one, two) = (Some(id(1)), Some(id(2)));
    let mut table = table(&[(None, planned(&["a", "b", "c"])), (one, spawned(1, "a"))]);
    assert_eq!(rows(&table, 3), ["01 a starting 0:02", "02 b queued", "03 c after 01"]);
    table.wait(id(2), "queued 2.: 1 lanes are at work".to_owned());
    assert_eq!(rows(&table, 3)[1], "02 b queued 2.");

    let steps = [
        (Event::ArchitectStarted { iteration: 1 }, "planning 1:06"),
        (replied(), "planning 1:06 12.3k tok $0.0123 75% hit"),
        (
            Event::EditorStarted { iteration: 2, call: None },
            "editing 2 1:06 12.3k tok $0.0123 75% hit",
        ),
        (Event::ApplyStarted { iteration: 2 }, "applying 1:06 12.3k tok $0.0123 75% hit"),
        (
            Event::VerifyStarted {
                iteration: 2,
                commands: vec!["make".to_owned(), "make test".to_owned()],
                derived: false,
            },
            "checking: make 1:06 12.3k tok $0.0123 75% hit",
        ),
        (
            checked("make", CheckOutcome::Passed),
            "checking: make test 1:06 12.3k tok $0.0123 75% hit",
        ),
        (completed(), "done 0:59 12.3k tok $0.0123 75% hit"),
    ];
    for (event, row) in steps {
        table.event(one, &event, at(60));
        assert_eq!(rows(&table, 67)[0], format!("01 a {row}"));
    }
    table.event(two, &spawned(1, "b"), at(60));
    table.event(two, &failed("no diff"), at(65));
    assert_eq!(rows(&table, 70)[1..], ["02 b failed 0:05", "03 c queued"]);

    let lane = id(1);
    let conflict = Event::LaneConflicted { lane, paths: Vec::new(), with: Other::Lanes };
    table.event(None, &conflict, at(70));
    assert!(rows(&table, 70)[0].starts_with("01 a conflict 0:59"));
    table.event(one, &spawned(2, "a"), at(70));
    table.event(one, &Event::ArchitectStarted { iteration: 1 }, at(70));
    assert!(rows(&table, 71)[0].starts_with("01 a again: planning 1:00"));
    table.event(None, &Event::LaneMerged { lane, tree: tree() }, at(72));
    assert!(rows(&table, 99)[0].starts_with("01 a merged 1:01"));
    let end = Event::LanesFinished { lanes: vec![ended(3, "c", LaneEnd::Empty)] };
    table.event(None, &end, at(73));
    assert_eq!(rows(&table, 99)[2], "03 c empty");
}

#[test]
fn tokens_of_an_unfinished_answer_count_and_a_wait_shows_its_reason() {
    let one = Some(id(1));
    let began = [
        (None, planned(&["a"])),
        (one, spawned(1, "a")),
        (one, Event::ArchitectStarted { iteration: 1 }),
    ];
    let mut table = table(&began);
    table.hear(id(1), 4_000);
    assert_eq!(rows(&table, 1), ["01 a planning 0:00 1.0k tok"]);
    table.wait(id(1), "HTTP 429\u{1b}".to_owned());
    assert_eq!(rows(&table, 1), ["01 a planning · HTTP 429\u{fffd} 0:00 1.0k tok"]);
    table.event(one, &replied(), at(1));
    assert!(rows(&table, 1)[0].starts_with("01 a planning 0:00 12.3k tok"));
}

#[test]
fn no_row_is_wider_than_the_terminal_whatever_is_in_it() {
    let titles = [
        "数字の解析器をもっと速くする仕事です",
        "\u{1b}[31m\ttabs and e\u{301}scapes\u{202e}",
        "x",
    ];
    let mut table = table(&[(None, planned(&titles)), (Some(id(1)), spawned(1, titles[0]))]);
    let commands = vec!["cargo test --workspace -- 数字 and more than fits any column".to_owned()];
    let verify = Event::VerifyStarted { iteration: 1, commands, derived: true };
    table.event(Some(id(1)), &verify, at(1));
    table.event(Some(id(1)), &replied(), at(1));
    for width in 0..300 {
        for row in table.rows(width, at(90_000), Paint::Plain) {
            assert!(row.width() <= width.max(5), "{width}: {row:?}");
            assert!(!row.contains(['\u{1b}', '\t', '\u{202e}']), "{row:?}");
        }
    }
    let shown = |width| table.rows(width, at(61), Paint::Plain)[0].clone();
    assert_eq!(shown(20), "  01 checking: carg…");
    assert_eq!(shown(40), "  01 数字の解…  checking: cargo…    1:00");
    assert_eq!(
        shown(80),
        "  01 数字の解析器を… checking: cargo test …    1:00 12.3k tok   $0.0123  75% hit"
    );
}

/// Returns the lines for an event of the first lane.
fn lines_of(table: &mut LaneTable, event: &Event, detail: Detail) -> String {
    table.event(Some(id(1)), event, at(0));
    table.lines(id(1), event, detail, Paint::Plain).join("\n")
}

#[test]
fn without_a_table_steps_are_shown_in_lines() {
    let mut table = table(&[(None, planned(&["a"]))]);
    let patch = || "p".to_owned();
    let files = vec![file("a.txt"), file("b.txt")];
    let staged = Event::PatchStaged {
        patch: patch(),
        purpose: StagedFor::Change,
        title: patch().into(),
        files,
        repairs: Vec::new(),
        put_aside: Vec::new(),
        part_of: None,
    };
    let reasons = vec!["a.txt: no such line\nmore of it".into()];
    let refused = Event::PatchRefused { reasons, feedback: "".into() };
    let steps = [
        (spawned(1, "a\u{1b}"), "lane 01 · begins: a\u{fffd}", ""),
        (Event::EditorStarted { iteration: 1, call: None }, "", ""),
        (refused, "lane 01 · patch refused, nothing written: a.txt: no such line", ""),
        (staged, "", ""),
        (
            Event::PatchApplied { patch: patch() },
            "lane 01 · a.txt +1 -0\nlane 01 · b.txt +1 -0",
            "",
        ),
        (checked("make", CheckOutcome::Passed), "", ""),
        (checked("make", CheckOutcome::CodeFailure), "lane 01 · `make` failed (exit 1)", ""),
    ];
    for (event, all, beside) in steps {
        assert_eq!(lines_of(&mut table, &event, Detail::All), all);
        assert_eq!(lines_of(&mut table, &event, Detail::Beside), beside);
    }
    let ends = [
        (completed(), "lane 01 · done, checks passed · a.txt · 12345 tokens · $0.0123"),
        (failed("no diff\nat all"), "lane 01 · failed: no diff · 12345 tokens · $0.0123"),
        (spawned(2, "a"), "lane 01 · is planned again on top of the merged work"),
    ];
    for (event, line) in ends {
        assert_eq!(lines_of(&mut table, &event, Detail::All), line);
        assert_eq!(lines_of(&mut table, &event, Detail::Beside), line);
    }
}

#[test]
fn the_end_shows_the_outcome_of_each_lane() {
    let titles = ["a", "b", "c"];
    let mut events = vec![(None, planned(&titles))];
    for lane in [1, 2, 3] {
        events.push((Some(id(lane)), spawned(1, titles[usize::from(lane) - 1])));
        events.push((Some(id(lane)), if lane == 2 { failed("no diff") } else { completed() }));
    }
    let table = table(&events);
    let paths = vec![RepoPath::parse("a.txt").unwrap()];
    let why = Delivery::NeedsWork { why: NeedsWork::NoDraft, detail: "no diff".into() };
    let ends = [
        ended(1, "a", LaneEnd::Merged),
        ended(2, "b", LaneEnd::Failed { why }),
        ended(3, "c", LaneEnd::Conflicted { paths, with: Other::User }),
    ];
    let kept = ["/s/lanes/r/02-1".into()];
    assert_eq!(
        table.ending(&ends, &kept, Paint::Plain, CommandsGiven::OfTheShell),
        [
            "lane 01 a — merged · a.txt · 12345 tokens · $0.0123",
            "lane 02 b — failed: no diff · 12345 tokens · $0.0123",
            "  its worktree: /s/lanes/r/02-1",
            "lane 03 c — conflict with your own changes in a.txt · a.txt · 12345 tokens · $0.0123",
            "what a lane changed: deepseek diff --lane NN",
        ]
    );
}

#[test]
fn a_stopped_run_shows_the_progress_of_its_lanes() {
    let began = [
        (None, planned(&["a", "b"])),
        (Some(id(1)), spawned(1, "a")),
        (Some(id(1)), Event::EditorStarted { iteration: 2, call: None }),
    ];
    assert_eq!(
        table(&began).ending(&[], &[], Paint::Plain, CommandsGiven::OfTheShell),
        [
            "lane 01 a — stopped while editing 2 · 0 tokens · $0.0000",
            "lane 02 b — never started · 0 tokens · $0.0000",
        ]
    );
    assert!(
        LaneTable::default().ending(&[], &[], Paint::Plain, CommandsGiven::OfTheShell).is_empty()
    );
}
