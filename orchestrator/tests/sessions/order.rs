//! Lanes may end in any order: their result is the same, and so are the recorded events of the merge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use facts::delivery::{Delivery, Verified};
use facts::event::{Envelope, Event};
use fastrand::Rng;
use model::{AgentRole, ChatRequest, ModelError};
use testkit::answers::{created, plan, team};
use testkit::{AnswerSource, World};
use tokio::sync::watch;

use crate::in_lanes;

const LANES: usize = 5;

/// A model that lets each lane's Editor answer once the lanes before it in `order` have ended.
struct InOrder {
    order: Vec<usize>,
    ended: watch::Sender<usize>,
}

impl InOrder {
    async fn say(&self, request: &ChatRequest) -> String {
        if request.role == AgentRole::LanePlanner {
            return team((1..=LANES).map(|n| (n, format!("own{n}.txt"))));
        }
        let lane: usize = request.lane.as_deref().unwrap().parse().unwrap();
        let own = format!("own{lane}.txt");
        if request.role == AgentRole::Architect {
            return plan(&[&own, "common.txt"], &["grep -q 6 common.txt"]);
        }
        let before = self.order.iter().position(|it| *it == lane).unwrap();
        self.ended.subscribe().wait_for(|ended| *ended >= before).await.unwrap();
        // The changes of the third and fourth lane conflict; the fourth is planned again, and then fits.
        let shown = String::from_utf8_lossy(&request.body()).into_owned();
        let replanned = shown.contains("THREE");
        let change = match (lane, replanned) {
            (4, false) => "@@ -5,2 +5,2 @@\n-3\n+drei\n 4\n".to_owned(),
            (4, true) => "@@ -5,3 +5,3 @@\n THREE\n-4\n+FOUR\n 5\n".to_owned(),
            (3, _) => "@@ -5,2 +5,2 @@\n-3\n+THREE\n 4\n".to_owned(),
            (1, _) => "@@ -3 +3 @@\n-b\n+one\n".to_owned(),
            (2, _) => "@@ -9 +9 @@\n-8\n+two\n".to_owned(),
            _ => "@@ -1 +1 @@\n-a\n+five\n".to_owned(),
        };
        created(&own, &lane.to_string()) + "--- a/common.txt\n+++ b/common.txt\n" + &change
    }
}

impl AnswerSource for InOrder {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        Ok(self.say(request).await)
    }
}

/// Runs lanes that end in this order; returns the files, the events of the merge, and the actual order.
async fn run(order: Vec<usize>) -> (BTreeMap<String, String>, Vec<String>, Vec<usize>) {
    let (ended, _) = watch::channel(0);
    let world = World::new(&[("common.txt", "a\n1\nb\n2\n3\n4\n5\n6\n8\n")]);
    let model = Arc::new(InOrder { order, ended });
    let heard = |envelope: &Envelope| {
        if let Event::LaneCompleted { attempt: 1, .. } = envelope.event {
            model.ended.send_modify(|ended| *ended += 1);
        }
    };
    let told = in_lanes(&world, &model, &[("policy.mode", "\"yolo\"")], heard).await;
    assert_eq!(told.outcome.delivery, Delivery::Delivered { verified: Verified::Passed });
    let first = |envelope: &Arc<Envelope>| {
        let lane = usize::from(envelope.scope.lane()?.number());
        matches!(envelope.event, Event::LaneCompleted { attempt: 1, .. }).then_some(lane)
    };
    let order = told.events.iter().filter_map(first).collect();
    (world.files(), of_merging(&told.events), order)
}

/// Returns the events of the merge.
fn of_merging(events: &[Arc<Envelope>]) -> Vec<String> {
    let merging = events.iter().filter(|envelope| {
        let kind = envelope.event.kind();
        let is_it = ["Lane", "Verify", "PatchStaged"].iter().any(|it| kind.starts_with(it));
        envelope.scope.lane().is_none() && is_it
    });
    merging.map(|envelope| format!("{} {}", envelope.event.kind(), envelope.event.data())).collect()
}

#[test]
fn the_result_does_not_depend_on_the_order_of_lanes() {
    let mut random = Rng::with_seed(5);
    let mut first = None;
    let mut orders = BTreeSet::new();
    for round in 0..100 {
        let mut order: Vec<usize> = (1..=LANES).collect();
        random.shuffle(&mut order);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (files, events, ended) = runtime.block_on(run(order.clone()));
        assert_eq!(ended, order, "round {round}");
        orders.insert(order);
        let result = (files, events);
        let first = first.get_or_insert_with(|| result.clone());
        assert_eq!(&result, first, "round {round}");
    }
    let (files, events) = first.unwrap();
    assert!(orders.len() > 50, "{} orders", orders.len());
    assert!(files["common.txt"].contains("THREE\nFOUR"), "{files:?}");
    assert!(events.iter().any(|event| event.starts_with("LaneConflicted")), "{events:?}");
}
