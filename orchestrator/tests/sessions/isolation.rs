//! A failure of one lane affects only that lane: the others finish, and their changes are merged.

use std::sync::Arc;
use std::time::Duration;

use facts::delivery::{Delivery, NeedsWork};
use facts::event::{Envelope, Event};
use facts::team::{EndedLane, LaneEnd};
use model::{AgentRole, ChatRequest, ModelError};
use testkit::answers::{created, plan, team};
use testkit::{AnswerSource, RunRecord, World};

use crate::in_lanes;

/// The behaviour of the second lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    /// Its Editor panics on every call.
    Panics,
    /// Its model never answers.
    Hangs,
    /// It exceeds its share of the budget.
    Spends,
    /// Its command needs approval.
    Asks,
}

impl Second {
    async fn say(self, request: &ChatRequest) -> String {
        if request.role == AgentRole::LanePlanner {
            return team((1..=3).map(|n| (n, format!("own{n}.txt"))));
        }
        let lane = request.lane.as_deref().unwrap();
        let is_second = lane == "02";
        match (self, request.role) {
            (Self::Panics, AgentRole::Editor) if is_second => {
                std::panic::resume_unwind(Box::new("a bug"));
            }
            (Self::Hangs, AgentRole::Editor) if is_second => {
                std::future::pending::<()>().await;
            }
            (Self::Spends, AgentRole::Editor) if is_second => return "not yet".to_owned(),
            _ => {}
        }
        let own = format!("own{}.txt", lane.trim_start_matches('0'));
        if request.role == AgentRole::Editor {
            return created(&own, lane);
        }
        // The first and the second lane use the same command.
        let check =
            if self == Self::Asks && lane != "03" { "sh ask.sh" } else { "grep -q 0 ask.sh" };
        plan(&[&own], &[check])
    }
}

impl AnswerSource for Second {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        Ok(self.say(request).await)
    }
}

async fn told(second: Second, flags: &[(&'static str, &str)]) -> (RunRecord, World) {
    let world = World::new(&[("ask.sh", "exit 0\n")]);
    let model = Arc::new(second);
    let work = in_lanes(&world, &model, flags, |_| ());
    let told = tokio::time::timeout(Duration::from_mins(1), work).await.unwrap();
    (told, world)
}

/// Returns how the second lane ended; the others must be merged.
fn of_second<'a>(told: &'a RunRecord, world: &World) -> &'a LaneEnd {
    let [EndedLane { end: LaneEnd::Merged, .. }, second, EndedLane { end: LaneEnd::Merged, .. }] =
        told.outcome.lanes.as_slice()
    else {
        panic!("{:?}", told.outcome.lanes)
    };
    for own in ["own1.txt", "own3.txt"] {
        assert!(world.files().contains_key(own), "{:?}", world.files());
    }
    &second.end
}

const YOLO: (&str, &str) = ("policy.mode", "\"yolo\"");

#[tokio::test]
async fn a_lane_that_keeps_crashing_is_given_up() {
    let (told, world) = told(Second::Panics, &[YOLO]).await;
    let LaneEnd::Failed { why: Delivery::NeedsWork { why, .. } } = of_second(&told, &world) else {
        panic!("{:?}", told.outcome.lanes)
    };
    assert_eq!(*why, NeedsWork::Crashed);
    assert!(!world.files().contains_key("own2.txt"));
    let Delivery::NeedsWork { why: NeedsWork::LanesFailed, detail } = told.outcome.delivery else {
        panic!("{:?}", told.outcome.delivery)
    };
    assert!(detail.to_string().contains("lane 02 (part 2)"), "{detail}");
}

#[tokio::test]
async fn a_lane_whose_model_never_answers_fails_after_the_role_timeout() {
    let (told, world) = told(Second::Hangs, &[YOLO, ("limits.role_timeout_seconds", "1")]).await;
    assert!(matches!(of_second(&told, &world), LaneEnd::Failed { .. }), "{:?}", told.outcome.lanes);
}

#[tokio::test]
async fn a_lane_cannot_exceed_its_share_of_the_budget() {
    // Eight calls in four parts: one call was the planner's, and each lane gets two.
    let (told, world) = told(Second::Spends, &[YOLO, ("budget.calls", "9")]).await;
    let LaneEnd::Failed { why: Delivery::BudgetExhausted { .. } } = of_second(&told, &world) else {
        panic!("{:?}", told.outcome.lanes)
    };
    assert!(matches!(told.outcome.delivery, Delivery::BudgetExhausted { .. }));
    assert!(told.outcome.spent.at_most().calls <= 9, "{:?}", told.outcome.spent);
    let budgets = told.events.iter().filter_map(|envelope| {
        let Event::LaneSpawned { budget, .. } = envelope.event else { return None };
        Some(budget.calls)
    });
    assert_eq!(budgets.collect::<Vec<_>>(), [Some(2); 3]);
}

#[tokio::test]
async fn a_question_of_two_lanes_is_asked_once_and_answered_for_both() {
    let (told, world) = told(Second::Asks, &[("policy.approval", "\"auto\"")]).await;
    assert_eq!(*of_second(&told, &world), LaneEnd::Merged);
    let [question] = told.questions.as_slice() else { panic!("{:?}", told.questions) };
    assert!(question.contains("sh ask.sh"), "{question}");
    assert!(question.contains("LaneId(1)") || question.contains("LaneId(2)"), "{question}");
    let yes = |envelope: &&Arc<Envelope>| matches!(envelope.event, Event::ApprovalGiven { .. });
    let lanes: Vec<_> =
        told.events.iter().filter(yes).map(|envelope| envelope.scope.lane()).collect();
    assert_eq!(lanes.len(), 3, "both lanes, and the combined result: {lanes:?}");
}
