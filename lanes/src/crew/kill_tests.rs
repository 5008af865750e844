//! Kills every role at every stage, and makes every role panic: the run is still delivered, at the cost of one attempt.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::Unanswered;
use facts::delivery::{Delivery, Verified};
use facts::event::Event;
use ractor::ActorCell;
use testkit::children_of;

use super::testing::{Happens, Stage, World};
use super::{Crew, CrewEnd, CrewReport};

const ROLES: [&str; 4] = ["architect", "editor", "applier", "verifier"];
const STAGES: [Stage; 5] =
    [Stage::Plan, Stage::Draft, Stage::Commit, Stage::Committed, Stage::Verify];

/// The crew under test, once it has started.
type TheCrew = Arc<OnceLock<ActorCell>>;

/// Has a crew work to the end in a world with this hook.
async fn worked(the_crew: &TheCrew, happens: Happens) -> (World, CrewReport) {
    let world = World::new(happens).await;
    let crew = Crew::spawn(world.setup.clone(), world.supervisor.clone()).await.unwrap();
    the_crew.set(crew.cell()).unwrap();
    let working = tokio::time::timeout(Duration::from_secs(30), crew.work());
    let end = working.await.expect("the crew finishes in time").unwrap();
    let CrewEnd::Done(report) = end else { panic!("{end:?}") };
    (world, *report)
}

/// Returns a hook that kills `role` when `stage` is first reached, and never returns to the caller.
fn killing(role: &'static str, stage: Stage, the_crew: &TheCrew) -> Happens {
    let (the_crew, done) = (Arc::clone(the_crew), AtomicBool::new(false));
    Arc::new(move |reached| {
        if reached != stage || done.swap(true, Ordering::SeqCst) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let place = ROLES.iter().position(|name| *name == role).unwrap();
        children_of(the_crew.get().unwrap())[place].kill();
        Box::pin(std::future::pending())
    })
}

/// Returns the roles that crashed, and the attempt that was verified last.
fn crashes(events: &[Event]) -> (Vec<&str>, u32) {
    let mut crashed = Vec::new();
    let mut attempt = 0;
    for event in events {
        if let Event::RoleCrashed { role } = event {
            crashed.push(role.name());
        }
        if let Event::VerifyStarted { iteration, .. } = event {
            attempt = *iteration;
        }
    }
    (crashed, attempt)
}

const DELIVERED: Delivery = Delivery::Delivered { verified: Verified::Proven };

#[tokio::test]
async fn a_killed_role_costs_one_attempt() {
    let mut table = String::from("\n| killed | when | crashed | end |\n|---|---|---|---|\n");
    for stage in STAGES {
        for role in ROLES {
            let the_crew = TheCrew::default();
            let (world, report) = worked(&the_crew, killing(role, stage, &the_crew)).await;
            let events = world.events().await;
            let (crashed, attempt) = crashes(&events);
            table.push_str(&format!(
                "| {role} | {stage:?} | {crashed:?} | {:?} at attempt {attempt} |\n",
                report.delivery
            ));
            assert_eq!(report.delivery, DELIVERED, "{role} at {stage:?}");
            assert_eq!(
                (crashed.as_slice(), attempt),
                ([role].as_slice(), 2),
                "{role} at {stage:?}"
            );
            assert_eq!(world.greeting(), "hello world\n");
        }
    }
    // Written past the test runner's capture, so that the table is shown even when the test passes.
    io::stdout().write_all(table.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_role_that_panics_costs_one_attempt() {
    let who = ["architect", "editor", "applier", "applier", "verifier"];
    for (stage, role) in STAGES.into_iter().zip(who) {
        let done = AtomicBool::new(false);
        let happens: Happens = Arc::new(move |reached| {
            let panics = reached == stage && !done.swap(true, Ordering::SeqCst);
            Box::pin(async move {
                assert!(!panics, "this panic is part of the test");
                Ok(())
            })
        });
        let (world, report) = worked(&TheCrew::default(), happens).await;
        assert_eq!(report.delivery, DELIVERED, "{role} at {stage:?}");
        assert_eq!(crashes(&world.events().await), (vec![role], 2), "at {stage:?}");
        assert_eq!(world.greeting(), "hello world\n");
    }
}

#[tokio::test]
async fn a_role_that_always_dies_ends_the_run() {
    let happens: Happens = Arc::new(|reached| {
        Box::pin(async move {
            assert!(reached != Stage::Draft, "this panic is part of the test");
            Ok(())
        })
    });
    let (world, report) = worked(&TheCrew::default(), happens).await;
    assert!(
        matches!(
            report.delivery,
            Delivery::NeedsWork { why: facts::delivery::NeedsWork::Crashed, .. }
        ),
        "{:?}",
        report.delivery
    );
    assert_eq!(crashes(&world.events().await).0.len(), 6, "each attempt crashed");
    assert_eq!(world.greeting(), "hello\n");
}

/// Permits are requested by the step itself, so no role dies of this panic.
#[tokio::test]
async fn a_step_that_panics_ends_the_crew() {
    let happens: Happens = Arc::new(|reached| {
        Box::pin(async move {
            assert!(reached != Stage::Baseline, "this panic is part of the test");
            Ok(())
        })
    });
    let world = World::new(happens).await;
    let crew = Crew::spawn(world.setup.clone(), world.supervisor.clone()).await.unwrap();
    let working = tokio::time::timeout(Duration::from_secs(30), crew.work());
    let end = working.await.expect("the caller hears of it");
    assert!(matches!(end, Err(Unanswered::Stopped)), "{end:?}");
}
