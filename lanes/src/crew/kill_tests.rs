//! Every role killed at every stage, and every role that panics: the run is delivered at the price of one attempt.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actors::delivery::{Delivery, Verified};
use actors::event::Event;
use ractor::ActorCell;
use testkit::hired;

use super::testing::{Happens, Stage, World};
use super::{Crew, CrewReport};

const ROLES: [&str; 4] = ["architect", "editor", "applier", "verifier"];
const STAGES: [Stage; 5] =
    [Stage::Plan, Stage::Draft, Stage::Commit, Stage::Committed, Stage::Verify];

/// The crew that something happens to, once it is there.
type TheCrew = Arc<OnceLock<ActorCell>>;

/// Works to the end in a world where `happens` happens.
async fn worked(the_crew: &TheCrew, happens: Happens) -> (World, CrewReport) {
    let world = World::new(happens).await;
    let crew = Crew::spawn(world.setup.clone(), world.supervisor.clone()).await.unwrap();
    the_crew.set(crew.cell()).unwrap();
    let working = tokio::time::timeout(Duration::from_secs(30), crew.work());
    let report = working.await.expect("it hangs").unwrap();
    (world, report)
}

/// Has `role` killed when `stage` is reached for the first time. Whoever had reached it never hears the end of it.
fn killing(role: &'static str, stage: Stage, the_crew: &TheCrew) -> Happens {
    let (the_crew, done) = (Arc::clone(the_crew), AtomicBool::new(false));
    Arc::new(move |reached| {
        if reached != stage || done.swap(true, Ordering::SeqCst) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let place = ROLES.iter().position(|name| *name == role).unwrap();
        hired(the_crew.get().unwrap())[place].kill();
        Box::pin(std::future::pending())
    })
}

/// Roles that crashed, and the attempt that was verified last.
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
    // Past the capture of the test runner: the table is there to be read when all is well, too.
    io::stdout().write_all(table.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_role_whose_world_panics_costs_one_attempt() {
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
            Delivery::NeedsWork { why: actors::delivery::NeedsWork::Crashed, .. }
        ),
        "{:?}",
        report.delivery
    );
    assert_eq!(crashes(&world.events().await).0.len(), 6, "an attempt each");
    assert_eq!(world.greeting(), "hello\n");
}
