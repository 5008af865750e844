//! Tests of the text for failed checks, for every ending of a run, and for events from before a resume.

use checks::outcome::{CheckOutcome, Findings};
use checks::test_counts::TestCounts;
use facts::amounts::{Amount, Spending};
use facts::answered::{AnswerFrom, ChildEnd};
use facts::delivery::{
    Delivery, FailureKind, Limit, Missing, MissingKind, NeedsWork, OpenCard, Rollback, UndoTarget,
    Unverified, Verified,
};
use facts::event::{Blob, Envelope, StagedContent};
use facts::scope::Segment;
use facts::signal::Speaker;
use facts::words::MissionPhase;
use model::price::Usd;
use model::{ErrorClass, Usage};
use tree::{Change, FileMode, FileState, Op, RepoPath};

use super::*;
use crate::exit;

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path).unwrap()
}

fn change(at: &str, before: &'static str, after: &'static str) -> Change {
    let state = |text: &'static str| FileState { bytes: text.into(), mode: FileMode::Regular };
    let (before, after) = (Some(state(before)), Some(state(after)));
    Change { path: path(at), op: Op::Modify, before, after }
}

fn options(commands: CommandsGiven, accounts: Accounts) -> ViewOptions {
    let (detail, streams) = (Detail::All, Streams::AtTheEnd);
    let commits = Commits::Offered;
    ViewOptions { paint: Paint::Plain, detail, streams, accounts, commands, commits }
}

fn view(options: ViewOptions, events: Vec<Event>) -> (RunView, String) {
    let mut view = RunView::new(options, Duration::ZERO);
    let mut text = String::new();
    for (event, seq) in events.into_iter().zip(1..) {
        let scope = Scope::SESSION;
        let envelope = Envelope { seq, at: String::new(), scope, event };
        let told = view.signal(&Signal::Event(envelope.into()), Duration::ZERO);
        text.push_str(&lines(told));
    }
    (view, text)
}

fn lines(told: Vec<ViewItem>) -> String {
    let line = |told| match told {
        ViewItem::Line(line) => format!("{line}\n"),
        ViewItem::Piece(piece) => piece,
    };
    told.into_iter().map(line).collect()
}

fn checked(outcome: CheckOutcome, output: &'static str) -> Event {
    Event::VerificationRun {
        command: "cargo test".to_owned(),
        baseline: false,
        outcome,
        exit: "exit 101".to_owned(),
        elapsed_ms: 2_100,
        output: Blob::new(output),
        findings: None,
    }
}

fn replied() -> Event {
    Event::ModelReply {
        call: 1,
        role: AgentRole::Editor,
        outcome: "ok".to_owned(),
        message: None,
        error: None,
        usage: Some(Usage { prompt: 11_877, hit: Some(9_000), output: 504, reasoning: Some(0) }),
        cost_nano_usd: Some(Usd::from_nanos(2_900_000)),
        charged: Amount::default(),
        avoidable_misses: 0,
        answer: None,
    }
}

fn saved() -> Event {
    Event::CheckpointCreated {
        checkpoint: 4,
        patch: "p".to_owned(),
        files: 1,
        left_out: Vec::new(),
    }
}

fn staged() -> Event {
    let after = Some(StagedContent { blob: Blob::new("x\n"), mode: FileMode::Regular });
    let file = StagedFile {
        path: path("src/lib.rs"),
        renamed_from: None,
        before: None,
        after,
        added: 29,
        removed: 1,
    };
    Event::PatchStaged {
        patch: "p".to_owned(),
        purpose: facts::delivery::StagedFor::Change,
        title: "add unescape".into(),
        files: vec![file],
        repairs: Vec::new(),
        put_aside: Vec::new(),
        part_of: None,
    }
}

fn ends(delivery: Delivery, changes: Vec<Change>) -> RequestOutcome {
    RequestOutcome {
        run: "r".to_owned(),
        delivery,
        plan: None,
        answer: None,
        review: None,
        card: None,
        changes,
        put_aside: Vec::new(),
        rollbacks: Vec::new(),
        spent: Spending::default(),
        lanes: Vec::new(),
        kept: Vec::new(),
    }
}

/// Returns the text shown at the end after these events, and the error of the command, if it fails.
fn end(events: Vec<Event>, outcome: &RequestOutcome) -> String {
    let (mut view, _) = view(options(CommandsGiven::OfTheShell, Accounts::InALine), events);
    let told = lines(view.outcome(outcome, "01m80aa9hr33yegy", Duration::from_millis(24_400)));
    let error = exit::exit_error(&outcome.delivery, None).err();
    told + &error.map(|error| error.to_string()).unwrap_or_default()
}

fn delivered(verified: Verified) -> RequestOutcome {
    ends(Delivery::Delivered { verified }, vec![change("src/lib.rs", "a\n", "a\nb\n")])
}

#[test]
fn a_failed_check_says_why() {
    let failed = "test adds ... FAILED\n\nthread 'adds' panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  left: 3\n right: 4\nnote: run\n\ntest result: FAILED\n";
    let events = |outcome| vec![checked(outcome, failed)];
    let told =
        |outcome| view(options(CommandsGiven::OfTheShell, Accounts::InALine), events(outcome)).1;
    insta::assert_snapshot!(told(CheckOutcome::CodeFailure), @"
      `cargo test` failed (exit 101) in 2.1 s
        thread 'adds' panicked at src/lib.rs:9:5:
        assertion `left == right` failed
          left: 3
         right: 4
        full output: deepseek explain 1 --full
    ");
    // No reasons are shown for a check that failed before the change as well.
    insta::assert_snapshot!(told(CheckOutcome::PreExisting), @"  `cargo test` fails as before (exit 101) in 2.1 s");
    // A check that ran no test is not shown as passed.
    insta::assert_snapshot!(told(CheckOutcome::Unverified), @"  `cargo test` ran no test (exit 101) in 2.1 s");
    let short = vec![checked(CheckOutcome::CommandMissing, "sh: 1: pytest: not found\n")];
    let in_talk = view(options(CommandsGiven::OfTheConversation, Accounts::InALine), short).1;
    insta::assert_snapshot!(in_talk, @"
      `cargo test` not installed (exit 101) in 2.1 s
        sh: 1: pytest: not found
    ");
}

#[test]
fn skipped_tests_are_counted_beside_the_word() {
    let skips = |tests| {
        let findings = Findings { tests, ..Findings::default() };
        Event::VerificationRun {
            command: "cargo test".to_owned(),
            baseline: false,
            outcome: CheckOutcome::Passed,
            exit: "exit 0".to_owned(),
            elapsed_ms: 2_100,
            output: Blob::new(""),
            findings: Some(findings),
        }
    };
    let none = Some(TestCounts { ran: 5, skipped: 0 });
    let two = Some(TestCounts { ran: 3, skipped: 2 });
    let begins = || Event::VerifyStarted { iteration: 1, commands: Vec::new(), derived: false };
    let told = |events| end(events, &delivered(Verified::Proven));
    assert!(told(vec![begins(), skips(two)]).contains("passes with it (2 tests skipped)"));
    assert!(!told(vec![begins(), skips(none)]).contains("skipped"));
    assert!(!told(vec![skips(two), begins(), skips(none)]).contains("skipped"));
    let run = view(options(CommandsGiven::OfTheShell, Accounts::InALine), vec![skips(two)]).1;
    assert_eq!(run.trim(), "`cargo test` passed in 2.1 s, 2 tests skipped");
}

/// Joins these endings to one text, each under its title.
fn page(endings: Vec<(&str, String)>) -> String {
    let section = |(title, end): (&str, String)| format!("[{title}]\n{}\n", end.trim_end());
    endings.into_iter().map(section).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_activity_says_that_an_answer_arrives() {
    let options = options(CommandsGiven::OfTheConversation, Accounts::InALine);
    let (mut view, _) = view(options, Vec::new());
    let at = Duration::from_secs(3);
    let speaker = Speaker { role: AgentRole::Analysis, scope: Scope::SESSION };
    view.signal(&Signal::Text(speaker, "It i".to_owned()), at);
    assert_eq!(view.progress(at), "answering · 0 s · about 1 token out");
}

#[test]
fn a_program_that_a_model_runs_is_shown_as_text() {
    let calls = |arguments: &str| Event::ToolResult {
        role: AgentRole::Analysis,
        call: "c".to_owned(),
        tool: "rlm_run".to_owned(),
        arguments: arguments.to_owned(),
        ok: true,
        told: Blob::new(Vec::new()),
    };
    let program = r#"{"program": "hits = grep('x', files())\nFINAL(hits)"}"#;
    let lines = lines::said_by_models(&calls(program));
    let shown = ["  the model calls rlm_run", "    hits = grep('x', files())", "    FINAL(hits)"];
    assert_eq!(lines, shown);
    let lines = lines::said_by_models(&calls(r#"{"path": "a.rs"}"#));
    assert_eq!(lines, [r#"  the model calls rlm_run {"path": "a.rs"}"#]);
}

#[test]
fn who_thinks_longer_is_said_once_and_shown_until_the_next_request() {
    use facts::model_choice::{Assessment, ChoiceReason, ModelChoice};
    let decided = |choice, reasons: &[ChoiceReason], model: &str| Event::RouterDecision {
        decision_id: 1,
        role: AgentRole::Analysis,
        selected_model: model.to_owned(),
        thinking: choice == ModelChoice::MaxThink,
        assessment: Assessment {
            features: facts::model_choice::Features::default(),
            score: 0.5,
            confidence: 0.22,
            reasons: reasons.to_vec(),
            choice,
        },
        prompt_hash: String::new(),
        tool_schema_hash: None,
        max_tokens: 1,
    };
    let escalated = Event::RouterEscalation {
        role: AgentRole::Analysis,
        reason_codes: vec![ChoiceReason::NoUsableAnswer],
        from: "flash".to_owned(),
        to: "pro".to_owned(),
    };
    let options = options(CommandsGiven::OfTheConversation, Accounts::InALine);
    let list = [ChoiceReason::Structure];
    let (_, text) = view(options, vec![decided(ModelChoice::Uncertain, &list, "flash")]);
    assert_eq!(text, "");
    let (still, text) = view(options, vec![decided(ModelChoice::Own, &list, "flash")]);
    assert_eq!((text.as_str(), still.thinker()), ("", None));
    let (_, text) = view(options, vec![escalated]);
    assert_eq!(text, "  asking pro to think longer: there was no usable answer\n");
    let why = [ChoiceReason::Structure, ChoiceReason::SmallModel];
    let (mut longer, text) = view(options, vec![decided(ModelChoice::MaxThink, &why, "pro")]);
    let line = "the request has a list or arrows, a small model says that it needs thought";
    assert_eq!(text, format!("  asking pro to think longer: {line}\n"));
    assert_eq!(longer.thinker(), Some("pro"));
    longer.submitted(Duration::ZERO);
    assert_eq!(longer.thinker(), None);
}

#[test]
fn a_request_starts_clean_when_it_is_submitted() {
    let options = options(CommandsGiven::OfTheConversation, Accounts::InALine);
    let (mut view, _) = view(options, vec![staged(), saved(), replied()]);
    let at = Duration::from_secs(70);
    assert!(view.progress(at).contains("70 s") && view.used().cost.is_some());
    view.submitted(at);
    assert_eq!(view.progress(at), "reading the request · 0 s");
    assert_eq!((view.used().prompt, view.used().cost, view.steps().len()), (0, None, 0));
    assert_eq!(view.undo_start(), Some(4), "what was changed before can still be undone");
}

#[test]
fn a_question_does_not_take_away_what_can_be_undone() {
    let options = options(CommandsGiven::OfTheConversation, Accounts::InALine);
    let starts = |intent| Event::RunStarted { intent, request: "r".to_owned() };
    let (mut view, _) =
        view(options, vec![starts(RequestIntent::Edit), saved(), starts(RequestIntent::Answer)]);
    assert_eq!(view.undo_start(), Some(4));
    for (intent, checkpoint, start) in
        [(RequestIntent::Edit, 5, 5), (RequestIntent::Review, 6, 5), (RequestIntent::Edit, 7, 7)]
    {
        for event in [
            starts(intent),
            Event::CheckpointCreated {
                checkpoint,
                patch: "p".to_owned(),
                files: 1,
                left_out: Vec::new(),
            },
        ] {
            view.earlier(&Scope::SESSION, &event, Duration::ZERO);
        }
        assert_eq!(view.undo_start(), Some(start));
    }
}

#[test]
fn a_delivered_run_shows_how_far_it_is_verified_and_how_to_undo_it() {
    let done = |verified| end(vec![saved(), replied()], &delivered(verified));
    let many: Vec<Change> =
        ["a", "b", "c", "d", "e", "f"].map(|at| change(at, "1\n", "2\n3\n")).into();
    let many = ends(Delivery::Delivered { verified: Verified::Passed }, many);
    let in_talk = options(CommandsGiven::OfTheConversation, Accounts::InFull);
    let (mut in_talk, _) = view(in_talk, vec![saved(), replied()]);
    let told = in_talk.outcome(&delivered(Verified::Passed), "01m8", Duration::from_secs(2));
    let missing =
        Missing { kind: MissingKind::Program, name: Some("pytest".to_owned()), cure: None };
    let answered = Delivery::Delivered { verified: Verified::NotNeeded };
    let answered =
        RequestOutcome { answer: Some("It is 4.".to_owned()), ..ends(answered, Vec::new()) };
    let reason = "it says so already".into();
    let nothing = ends(Delivery::NoEditNeeded { reason }, Vec::new());
    insta::assert_snapshot!(page(vec![
        ("proven", done(Verified::Proven)),
        ("passed", done(Verified::Passed)),
        ("unverified", done(Verified::Unverified(Unverified::NothingCouldFail))),
        ("unverifiable here", done(Verified::Unverified(Unverified::Environment { missing }))),
        ("many files", end(vec![saved()], &many)),
        ("in a conversation, in full", lines(told)),
        ("answered", end(vec![replied()], &answered)),
        ("nothing to edit", end(vec![replied()], &nothing)),
    ]));
}

#[test]
fn an_undelivered_run_shows_what_it_changed_so_far() {
    let staged_only = Delivery::NeedsWork { why: NeedsWork::Staged, detail: "staged".into() };
    let failed = || Delivery::NeedsWork { why: NeedsWork::IterationsUsedUp, detail: "3".into() };
    let rollbacks = vec![
        Rollback { patch: "01p1".to_owned(), to: UndoTarget::Start },
        Rollback { patch: "01p2".to_owned(), to: UndoTarget::Best },
    ];
    let changes = vec![change("src/lib.rs", "a\n", "b\n")];
    let tried = RequestOutcome { rollbacks, ..ends(failed(), changes) };
    let needs = |why| Delivery::NeedsWork { why, detail: "what happened".into() };
    let class = FailureKind::Model(ErrorClass::Auth);
    let unchanged = |delivery| end(vec![replied()], &ends(delivery, Vec::new()));
    insta::assert_snapshot!(page(vec![
        ("staged", end(vec![staged(), replied()], &ends(staged_only, Vec::new()))),
        ("needs work", end(vec![saved(), replied()], &tried)),
        ("needs work, without a checkpoint", end(vec![replied()], &tried)),
        ("needs work, nothing changed", unchanged(failed())),
        (
            "it failed before",
            end(
                vec![saved()],
                &RequestOutcome { delivery: needs(NeedsWork::PreExisting), ..tried.clone() }
            )
        ),
        (
            "it cannot be checked",
            end(
                vec![saved()],
                &RequestOutcome { delivery: needs(NeedsWork::Unverifiable), ..tried }
            )
        ),
        ("no plan", unchanged(needs(NeedsWork::NoPlan))),
        ("no diff", unchanged(needs(NeedsWork::NoDraft))),
        ("no answer", unchanged(needs(NeedsWork::NoAnswer))),
        ("lanes", unchanged(needs(NeedsWork::LanesFailed))),
        ("denied", unchanged(Delivery::denied("patch p".into(), "h".into()))),
        (
            "a card waits",
            unchanged(Delivery::Denied {
                what: "the card waits".into(),
                hint: "h".into(),
                card: Some(OpenCard::Waits),
            }),
        ),
        ("stopped", unchanged(Delivery::Cancelled)),
        ("budget", unchanged(Delivery::BudgetExhausted { limit: Limit::Usd, detail: "d".into() })),
        ("failed", unchanged(Delivery::Failed { class, message: "m".into() })),
    ]));
}

#[test]
fn a_resumed_mission_shows_its_earlier_progress() {
    let mut view =
        RunView::new(options(CommandsGiven::OfTheConversation, Accounts::InALine), Duration::ZERO);
    let run = Scope::of_run("r");
    let question = |number| (run.within(Segment::Child(number)), Blob::new("what is it?"));
    let phase =
        Event::MissionPhaseChanged { from: MissionPhase::Drafting, to: MissionPhase::Researching };
    view.earlier(&run, &phase, Duration::ZERO);
    for number in [1, 2] {
        let (scope, question) = question(number);
        let key = tree::FileHash::of(b"what is it?");
        let asked = Event::ChildAsked { question, key, known: None };
        view.earlier(&scope, &asked, Duration::ZERO);
    }
    let end = ChildEnd::Answered(AnswerFrom::Model);
    view.earlier(&question(1).0, &Event::ChildEnded { end }, Duration::ZERO);
    let rows = view.mission_rows(80);
    assert_eq!(rows[..2], ["  ● research  ○ card  ○ execute", "  1 of 2 questions · 1 queued"]);
}
