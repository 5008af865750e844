//! Tests that every role survives a domain error, and a caller that leaves before the answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actors::calls::ledger::Ask;
use actors::roles::applier::{ApplyAsk, ApplyError};
use actors::roles::architect::{PlanAsk, PlanWhy};
use actors::roles::editor::DraftAsk;
use actors::roles::verifier::Subject;
use actors::run::file_reader::FileReader;
use actors::talk::dialogue::Dialogue;
use checks::outcome::CheckOutcome;
use facts::grammar::draft::MayEnd;
use futures_util::future::BoxFuture;
use model::ModelError;
use patch::{BaseState, PatchScope};
use testkit::answers::greeting_diff;
use tokio::sync::Notify;
use tools::redact::Redactor;
use tree::RepoPath;

use super::roles::Roles;
use super::testing::{Happens, Stage, World};

/// A hook that, the first time a stage is reached, waits until it is released.
struct Held {
    reached: Arc<Notify>,
    release: Arc<Notify>,
    happens: Happens,
}

fn held_once(stage: Stage) -> Held {
    let (reached, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (reached_stage, wait) = (Arc::clone(&reached), Arc::clone(&release));
    let times = AtomicUsize::new(0);
    let happens: Happens = Arc::new(move |now| {
        if now != stage || times.fetch_add(1, Ordering::SeqCst) > 0 {
            return Box::pin(std::future::ready(Ok(())));
        }
        let (reached_stage, wait) = (Arc::clone(&reached_stage), Arc::clone(&wait));
        Box::pin(async move {
            reached_stage.notify_one();
            wait.notified().await;
            Ok(())
        })
    });
    Held { reached, release, happens }
}

/// Returns a hook that fails the first time a stage is reached.
fn failing_once(stage: Stage) -> Happens {
    let times = AtomicUsize::new(0);
    Arc::new(move |now| {
        let fails = now == stage && times.fetch_add(1, Ordering::SeqCst) == 0;
        let outcome = if fails { Err(refused()) } else { Ok(()) };
        Box::pin(std::future::ready(outcome))
    })
}

fn refused() -> ModelError {
    ModelError::Auth { message: "no".to_owned() }
}

async fn roles(world: &World) -> Roles {
    let (setup, supervisor) = (&world.setup, &world.supervisor);
    let file_reader = FileReader::new(setup.workspace.reader().clone(), setup.run.clone());
    Roles::spawn(setup, &file_reader, supervisor).await.unwrap()
}

fn first_plan() -> PlanAsk {
    let may_end = MayEnd::NothingApplied;
    PlanAsk { why: PlanWhy::First { may_be_question: false }, baseline: String::new(), may_end }
}

fn first_draft() -> DraftAsk {
    let may_end = MayEnd::NothingApplied;
    let (files, baseline) = (Vec::new(), String::new());
    DraftAsk {
        plan: None,
        files,
        feedback: None,
        baseline,
        may_end,
        declared: Vec::new(),
        since: 0,
    }
}

fn patch() -> ApplyAsk {
    let path = RepoPath::parse("greet.txt").unwrap();
    let bases = BTreeMap::from([(path.clone(), BaseState::of("hello\n".into()))]);
    let scope = PatchScope { declared: Some([path].into()), bases };
    let operations = Vec::new();
    ApplyAsk {
        title: "test".to_owned(),
        operations,
        diff: greeting_diff(),
        scope,
        shown_by_check: false,
    }
}

/// Returns true if the role that acts first at this stage succeeds.
async fn works(roles: &Roles, stage: Stage) -> bool {
    match stage {
        Stage::Plan => roles
            .architect
            .plan(Dialogue::new("system".to_owned(), &Redactor::default()), first_plan())
            .await
            .is_ok_and(|(_, planned)| planned.is_ok()),
        Stage::Draft => roles
            .editor
            .draft(Dialogue::new("system".to_owned(), &Redactor::default()), first_draft())
            .await
            .is_ok_and(|(_, drafted)| drafted.is_ok()),
        Stage::Commit | Stage::Committed => roles.applier.apply(patch()).await.is_ok(),
        Stage::Baseline | Stage::Verify => roles
            .verifier
            .verify(vec!["grep -q world greet.txt".to_owned()], Subject::Changed(Vec::new()))
            .await
            .is_ok_and(|verified| verified.unwrap().report.outcome() == CheckOutcome::Passed),
    }
}

const STAGES: [Stage; 4] = [Stage::Plan, Stage::Draft, Stage::Commit, Stage::Verify];

async fn prepared(happens: Happens, stage: Stage) -> (World, Roles) {
    let world = World::new(happens).await;
    if stage == Stage::Verify {
        world.greet("hello world\n");
    }
    let roles = roles(&world).await;
    (world, roles)
}

#[tokio::test]
async fn a_domain_error_leaves_a_role_alive() {
    for stage in [Stage::Plan, Stage::Draft, Stage::Commit] {
        let (_world, roles) = prepared(failing_once(stage), stage).await;
        assert!(!works(&roles, stage).await, "{stage:?}");
        assert!(works(&roles, stage).await, "{stage:?}");
    }
    let (_world, roles) = prepared(failing_once(Stage::Plan), Stage::Verify).await;
    let missing = vec!["no-such-program".to_owned()];
    let verified =
        roles.verifier.verify(missing, Subject::Changed(Vec::new())).await.unwrap().unwrap();
    assert_eq!(verified.report.outcome(), CheckOutcome::CommandMissing);
    assert!(works(&roles, Stage::Verify).await);
}

#[tokio::test]
async fn a_role_survives_a_caller_that_leaves() {
    for stage in STAGES {
        let Held { reached, release, happens } = held_once(stage);
        let (world, roles) = prepared(happens, stage).await;
        let caller: BoxFuture<'_, bool> = Box::pin(works(&roles, stage));
        tokio::select! {
            _ = caller => panic!("{stage:?} was not held"),
            () = reached.notified() => {}
        }
        // The select dropped the caller, so its answer is not received.
        release.notify_one();
        if stage == Stage::Commit {
            let second = roles.applier.apply(patch()).await;
            let alive = matches!(second, Ok(_) | Err(ApplyError::Mismatch(_)));
            assert!(alive, "{second:?}");
            assert_eq!(
                world.greeting(),
                "hello world\n",
                "the commit that had begun was completed"
            );
        } else {
            assert!(works(&roles, stage).await, "{stage:?}");
        }
    }
}

#[tokio::test]
async fn admission_survives_callers_that_leave() {
    let world = World::new(Arc::new(|_| Box::pin(std::future::ready(Ok(()))))).await;
    let admission = world.setup.run.admission.clone();
    let role = &world.setup.run.config().llm.base_model;
    let ask = Ask { prompt_tokens: 10, output_tokens: 10, reasons: false, was_granted: false };
    let first = admission.admit(&role.model, ask).await.unwrap();
    {
        // There is one permit, so the second caller is queued, and then dropped.
        let second = admission.admit(&role.model, ask);
        tokio::pin!(second);
        let waits = futures_util::poll!(&mut second).is_pending();
        assert!(waits);
    }
    drop(first);
    let third = admission.admit(&role.model, ask).await.unwrap();
    let used = facts::amounts::Amount { tokens: 7, calls: 1, ..Default::default() };
    third.settle(facts::amounts::Charge::Known(used));
    assert_eq!(
        admission.spent().await.unwrap().known.tokens,
        7,
        "nothing is charged for a caller that left"
    );
}
