//! Every provider fault in every role: the run delivers or ends as documented, and never hangs.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mock::{Behaviour, Replies, ScriptedReply};

use crate::support::{Project, Provider, World, diff, plan, processes_left_in};

/// Provider deadlines of a second or two, about the shortest that can be configured.
const IMPATIENT: &str = r"
[llm]
first_token_timeout_seconds = 1
idle_timeout_seconds = 1
call_timeout_seconds = 2
max_retries = 1
";

/// How a run ends when a fault happens once, and when it persists.
#[derive(Clone, Copy)]
enum Fault {
    /// Treated as a normal answer.
    Harmless,
    /// Retried; if it persists, the run ends as a failure of this class.
    Transient(&'static str),
    /// Ends the run at once as a failure of this class.
    Final(&'static str),
    /// The role is told and can correct its answer; if the fault persists, the run ends without one.
    Correctable,
}

fn fault(behaviour: Behaviour, role: &str) -> Fault {
    match behaviour {
        Behaviour::Text
        | Behaviour::ReasoningText
        // Text next to a tool call that cannot be made counts as the answer.
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
        | Behaviour::EofNoDone
        | Behaviour::DoneWithoutBlankLine
        | Behaviour::WrongContentType
        | Behaviour::NonstreamEmptyLines
        | Behaviour::Random => Fault::Harmless,
        // A role that is offered tools may call them, and is told that it called the wrong ones.
        Behaviour::ToolCall | Behaviour::InvalidJsonArguments if role == "analysis" => Fault::Correctable,
        Behaviour::ReasoningOnly
        | Behaviour::EmptyStop
        | Behaviour::BlankJson
        | Behaviour::ToolCall
        | Behaviour::InvalidJsonArguments => Fault::Transient("empty"),
        // The same request would get an answer of the same form.
        Behaviour::MalformedJsonEvent | Behaviour::HtmlPage | Behaviour::EndlessLine | Behaviour::Raw => {
            Fault::Final("malformed")
        }
        Behaviour::InsufficientSystemResource => Fault::Transient("out_of_capacity"),
        Behaviour::KeepaliveForever
        | Behaviour::KeepaliveMid
        | Behaviour::EndlessEvents
        | Behaviour::Stutter
        | Behaviour::StallAfterHeaders
        | Behaviour::StallMid => Fault::Transient("timed_out"),
        Behaviour::ResetBeforeHeaders | Behaviour::ResetMid => Fault::Transient("transport"),
        Behaviour::ErrorEvent => Fault::Transient("interrupted"),
        Behaviour::Http429 => Fault::Transient("rate_limited"),
        Behaviour::Http500 | Behaviour::Http502Html | Behaviour::Http503 => Fault::Transient("server"),
        Behaviour::ContentFilter => Fault::Final("content_filter"),
        Behaviour::Http400 | Behaviour::Http413 | Behaviour::Http422 => {
            Fault::Final("invalid_request")
        }
        Behaviour::Http401 => Fault::Final("auth"),
        Behaviour::Http402 => Fault::Final("quota"),
        // Endless output is cut off at the limit given to the server.
        Behaviour::Length
        | Behaviour::LengthMidArguments
        | Behaviour::EndlessText
        | Behaviour::EndlessReasoning
        | Behaviour::EndlessUnknownField => Fault::Correctable,
    }
}

/// Returns the correct answer of a role.
fn correct_answer(role: &str) -> String {
    match role {
        "architect" => plan(&["greet.txt"]),
        "editor" => diff("greet.txt", "hello", "hello world"),
        _ => "It says hello.".to_owned(),
    }
}

/// How often the fault happens.
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
            return ScriptedReply::text(correct_answer(asked));
        }
        let text = if Behaviour::ENDLESS_TEXTS.contains(&behaviour) {
            "on and on ".repeat(10_000)
        } else {
            correct_answer(asked)
        };
        let chunk_delay_ms = if behaviour == Behaviour::Stutter { 100 } else { 0 };
        ScriptedReply {
            behaviour,
            chunk_delay_ms,
            of: vec![Behaviour::Text],
            ..ScriptedReply::text(text)
        }
    });
    World::of(Project::greeting(), Provider::new(source)).configure(IMPATIENT)
}

fn expected(role: &str, fault: Fault, often: Often) -> String {
    let good = if role == "analysis" { "0 delivered/not_needed" } else { "0 delivered/proven" };
    match (fault, often) {
        (Fault::Harmless, _) | (Fault::Transient(_) | Fault::Correctable, Often::Once) => {
            good.to_owned()
        }
        (Fault::Transient(class), Often::Always) | (Fault::Final(class), _) => {
            format!("5 failed/{class}")
        }
        (Fault::Correctable, Often::Always) if role == "architect" => {
            "1 needs_work/no_plan".to_owned()
        }
        (Fault::Correctable, Often::Always) if role == "analysis" => {
            "1 needs_work/no_answer".to_owned()
        }
        (Fault::Correctable, Often::Always) => "1 needs_work/no_draft".to_owned(),
    }
}

/// Runs a request with a fault. Returns the ending and the number of calls, or an error if it ended otherwise than expected.
fn run_with_fault(
    role: &'static str,
    behaviour: Behaviour,
    often: Often,
) -> Result<String, String> {
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
            let end = run_with_fault(role, *behaviour, *often);
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
    // Bypasses the test runner's capture, so that the table can be read even if the test passes.
    io::stdout().write_all(table.as_bytes()).unwrap();
    let wrong: Vec<_> = ends.iter().filter(|(_, end)| end.is_err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_failed_call_during_the_baseline_check_is_the_only_failure() {
    let project = Project::new(&[("greet.txt", "hello\n"), ("check.sh", "sleep 1000\n")]);
    let refused = ScriptedReply::of(Behaviour::Http400).to("editor");
    let provider =
        Provider::new(vec![ScriptedReply::text(plan(&["greet.txt"])).to("architect"), refused]);
    let world = World::of(project, provider);
    let run = world.chat("Fix the greeting");
    assert_eq!(run.ending(), "5 failed/invalid_request", "{}", run.stderr);
    assert!(run.all("RoleCrashed").is_empty(), "a role that was shut down has not crashed");
    assert_eq!(processes_left_in(world.project.root()), [""; 0]);
}
