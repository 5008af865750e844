//! How a request ends, before it is recorded and answered. Values only.

use std::path::PathBuf;

use facts::delivery::{Delivery, FailureKind, UndoTarget};
use facts::grammar::plan::Plan;
use facts::grammar::review::Review;
use facts::team::EndedLane;
use lanes::crew::CrewReport;
use missions::card::SealedCard;
use ractor::RpcReplyPort;
use tree::Change;

use super::outcome::RequestOutcome;
use crate::session::turn::{FailedCheck, FinishedTurn};

/// How a run ends, and its results.
pub(crate) struct Ending {
    pub(crate) delivery: Delivery,
    pub(crate) plan: Option<Plan>,
    pub(crate) answer: Option<String>,
    pub(crate) review: Option<Review>,
    pub(crate) card: Option<Box<SealedCard>>,
    pub(crate) failing: Vec<FailedCheck>,
    pub(crate) ways_back: Vec<(UndoTarget, Vec<Change>)>,
    pub(crate) lanes: Vec<EndedLane>,
    pub(crate) kept: Vec<PathBuf>,
}

/// A request whose end is recorded.
pub(crate) struct Closed {
    pub(crate) outcome: RequestOutcome,
    pub(crate) reply: RpcReplyPort<RequestOutcome>,
    pub(crate) turn: Option<FinishedTurn>,
    /// The card of a mission that was not carried out, and may be approved again.
    pub(crate) card: Option<SealedCard>,
}

impl From<Delivery> for Ending {
    fn from(delivery: Delivery) -> Self {
        Self {
            delivery,
            plan: None,
            answer: None,
            review: None,
            card: None,
            failing: Vec::new(),
            ways_back: Vec::new(),
            lanes: Vec::new(),
            kept: Vec::new(),
        }
    }
}

impl From<CrewReport> for Ending {
    fn from(report: CrewReport) -> Self {
        let CrewReport { delivery, plan, failing, ways_back, checks: _ } = report;
        let failing = failing.into_iter().map(FailedCheck::from).collect();
        Self { plan, failing, ways_back, ..delivery.into() }
    }
}

pub(crate) fn failed_request(class: FailureKind, message: &str) -> Ending {
    Delivery::failed(class, message).into()
}

pub(crate) fn journal_closed() -> Ending {
    failed_request(FailureKind::Journal, "the journal takes no more events")
}
