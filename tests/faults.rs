//! Every fault of the provider against every role that asks it: delivery, or the documented end; never a hang.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mock::{Behaviour, Replies, Reply};

use crate::support::{Project, Provider, World, diff, left_in, plan};

/// Deadlines of the provider that end within a second, which is as short as they can be said.
const IMPATIENT: &str = r"
[llm]
first_token_timeout_seconds = 1
idle_timeout_seconds = 1
call_timeout_seconds = 2
max_retries = 1
";

/// How a run ends when a fault happens once, and when it does not stop.
#[derive(Clone, Copy)]
enum Fault {
    /// It is an answer like any other.
    Harmless,
    /// It passes, or ends the run as a failure of this class.
    Passing(&'static str),
    /// It ends the run at once as a failure of this class.
    Final(&'static str),
    /// The role is told, and answers better; or has no answer in the end.
    Told,
}

fn fault(behaviour: Behaviour, role: &str) -> Fault {
    match behaviour {
        Behaviour::Text
        | Behaviour::ReasoningText
        // What is said beside a call that cannot be made counts.
        | Behaviour::TextThenToolCall
        | Behaviour::UsageTrailingChunk
        | Behaviour::UsageAbsent
        | Behaviour::KeepaliveThenText
        | Behaviour::ChoicesNull
        | Behaviour::UnknownFields
        | Behaviour::CrlfAndBom
        | Behaviour::Utf8Split
        | Behaviour::OneByteWrites
        | Behaviour::Gzip
        | Behaviour::Slow
        | Behaviour::Random => Fault::Harmless,
        // Whoever is offered tools calls them, and is told that they are not these.
        Behaviour::ToolCall | Behaviour::InvalidJsonArguments if role == "analysis" => Fault::Told,
        Behaviour::ReasoningOnly
        | Behaviour::EmptyStop
        | Behaviour::BlankJson
        | Behaviour::ToolCall
        | Behaviour::InvalidJsonArguments => Fault::Passing("empty"),
        Behaviour::MalformedJsonEvent
        | Behaviour::NonstreamEmptyLines
        | Behaviour::WrongContentType
        | Behaviour::HtmlPage
        | Behaviour::EndlessLine => Fault::Passing("malformed"),
        Behaviour::InsufficientSystemResource => Fault::Passing("out_of_capacity"),
        Behaviour::KeepaliveForever
        | Behaviour::KeepaliveMid
        | Behaviour::EndlessEvents
        | Behaviour::Stutter
        | Behaviour::StallAfterHeaders
        | Behaviour::StallMid => Fault::Passing("timed_out"),
        Behaviour::ResetBeforeHeaders | Behaviour::ResetMid => Fault::Passing("transport"),
        // An event that is not closed is no event, the last one included.
        Behaviour::EofNoDone | Behaviour::DoneWithoutBlankLine => Fault::Passing("truncated"),
        Behaviour::ErrorEvent => Fault::Passing("interrupted"),
        Behaviour::Http429 => Fault::Passing("rate_limited"),
        Behaviour::Http500 | Behaviour::Http502Html | Behaviour::Http503 => Fault::Passing("server"),
        Behaviour::ContentFilter => Fault::Final("content_filter"),
        Behaviour::Http400 | Behaviour::Http413 | Behaviour::Http422 => {
            Fault::Final("invalid_request")
        }
        Behaviour::Http401 => Fault::Final("auth"),
        Behaviour::Http402 => Fault::Final("quota"),
        // What has no end is cut at the limit that the server was told.
        Behaviour::Length
        | Behaviour::LengthMidArguments
        | Behaviour::EndlessText
        | Behaviour::EndlessReasoning => Fault::Told,
    }
}

/// What a role that is faulty is asked for, and what it says when it is well.
fn well(role: &str) -> String {
    match role {
        "architect" => plan(&["greet.txt"]),
        "editor" => diff("greet.txt", "hello", "hello world"),
        _ => "It says hello.".to_owned(),
    }
}

/// How often a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Often {
    Once,
    Always,
}

fn world(role: &'static str, behaviour: Behaviour, often: Often) -> World {
    let first = AtomicBool::new(true);
    let source = Replies::driven(move |request| {
        let asked = request.header("x-agent-role").unwrap_or_default();
        let faulty =
            asked == role && (first.swap(false, Ordering::SeqCst) || often == Often::Always);
        if !faulty {
            return Reply::text(well(asked));
        }
        let has_no_end =
            [Behaviour::EndlessText, Behaviour::EndlessReasoning, Behaviour::EndlessLine];
        let text =
            if has_no_end.contains(&behaviour) { "on and on ".repeat(10_000) } else { well(asked) };
        let chunk_delay_ms = if behaviour == Behaviour::Stutter { 100 } else { 0 };
        Reply { behaviour, chunk_delay_ms, of: vec![Behaviour::Text], ..Reply::text(text) }
    });
    World::of(Project::greeting(), Provider::new(source)).configure(IMPATIENT)
}

fn expected(role: &str, fault: Fault, often: Often) -> String {
    let good = if role == "analysis" { "0 delivered/not_needed" } else { "0 delivered/proven" };
    match (fault, often) {
        (Fault::Harmless, _) | (Fault::Passing(_) | Fault::Told, Often::Once) => good.to_owned(),
        (Fault::Passing(class), Often::Always) | (Fault::Final(class), _) => {
            format!("5 failed/{class}")
        }
        (Fault::Told, Often::Always) if role == "architect" => "1 needs_work/no_plan".to_owned(),
        (Fault::Told, Often::Always) if role == "analysis" => "1 needs_work/no_answer".to_owned(),
        (Fault::Told, Often::Always) => "1 needs_work/no_draft".to_owned(),
    }
}

/// Has a request done in spite of a fault, and tells how it ended and whether it should have.
fn endured(role: &'static str, behaviour: Behaviour, often: Often) -> Result<String, String> {
    let world = world(role, behaviour, often);
    let run = match role {
        "analysis" => world.asks("What is this?"),
        _ => world.chat("Fix the greeting"),
    };
    let (end, wanted) = (run.ending(), expected(role, fault(behaviour, role), often));
    let changed = world.project.changed();
    if end != wanted {
        return Err(format!("{end}, not {wanted}: {}", run.stderr));
    }
    if (end == "0 delivered/proven") == changed.is_empty() {
        return Err(format!("{end}, and changed are {changed:?}"));
    }
    Ok(format!("{end} ({} calls)", world.provider.requests().len()))
}

#[test]
fn every_fault_at_every_role_ends_as_documented() {
    let mut cases = Vec::new();
    for behaviour in Behaviour::ALL {
        for role in ["analysis", "architect", "editor"] {
            cases.extend([Often::Once, Often::Always].map(|often| (*behaviour, role, often)));
        }
    }
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some((behaviour, role, often)) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
            let end = endured(role, *behaviour, *often);
            ends.lock().unwrap().insert((behaviour.name(), *role, *often), end);
        }
    };
    // Most of the time is spent waiting for deadlines.
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(work))));
    let ends = ends.into_inner().unwrap();
    let mut table = String::from("\n| fault | role | once | always |\n|---|---|---|---|\n");
    for ((name, role, often), end) in &ends {
        let said = end.as_ref().unwrap_or_else(|wrong| wrong);
        match often {
            Often::Once => table.push_str(&format!("| {name} | {role} | {said} ")),
            Often::Always => table.push_str(&format!("| {said} |\n")),
        }
    }
    // Past the capture of the test runner: the table is there to be read when all is well, too.
    io::stdout().write_all(table.as_bytes()).unwrap();
    let wrong: Vec<_> = ends.iter().filter(|(_, end)| end.is_err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_call_that_fails_while_the_untouched_tree_is_checked_is_the_only_thing_that_fails() {
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", "sleep 1000\n")]);
    let refused = Reply::of(Behaviour::Http400).to("editor");
    let provider = Provider::new(vec![Reply::text(plan(&["greet.txt"])).to("architect"), refused]);
    let world = World::of(project, provider);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "5 failed/invalid_request", "{}", run.stderr);
    assert!(run.all("RoleCrashed").is_empty(), "who is let go has not crashed");
    assert_eq!(left_in(world.project.root()), [""; 0]);
}
