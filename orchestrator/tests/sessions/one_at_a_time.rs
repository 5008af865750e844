//! A request that comes while another one is running is refused, and the running one is not affected.

use std::sync::Arc;

use actors::Unanswered;
use deepseek_orchestrator::request::Request;
use deepseek_orchestrator::request::intent::RequestIntent;
use deepseek_orchestrator::root::Orchestrator;
use facts::delivery::{Delivery, Verified};
use model::{AgentRole, ChatRequest, ModelError};
use testkit::answers::{greeting_diff, greeting_plan};
use testkit::{AnswerSource, World, ignore};

/// Fixes the greeting.
struct Fixing;

impl AnswerSource for Fixing {
    async fn answer(&self, request: &ChatRequest) -> Result<String, ModelError> {
        let plans = request.role == AgentRole::Architect;
        Ok(if plans { greeting_plan() } else { greeting_diff() })
    }
}

#[tokio::test]
async fn a_second_request_is_refused_while_one_is_running() {
    let world = World::greeting();
    let setup = world.setup(&Arc::new(Fixing), &[("policy.mode", "\"yolo\"")]);
    let (orchestrator, signals) = Orchestrator::start(setup).await.unwrap();
    ignore(signals);
    let request = || Request::new("Fix the greeting", Some(RequestIntent::Edit));
    let (first, second) = (orchestrator.run(request()), orchestrator.run(request()));
    assert_eq!(second.await.unwrap_err(), Unanswered::Stopped);
    let delivery = first.await.unwrap().delivery;
    assert_eq!(delivery, Delivery::Delivered { verified: Verified::Proven });
    assert_eq!(world.read("greet.txt"), "hello world\n");
}
