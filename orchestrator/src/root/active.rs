//! The current request, and how far its work is. Values only.

use std::path::PathBuf;
use std::sync::Arc;

use actors::calls::admission::Slot;
use actors::run::Run;
use actors::talk::brief::Brief;
use facts::amounts::Spending;
use facts::delivery::Delivery;
use facts::team::EndedLane;
use lanes::crew::Crew;
use lanes::crew::undo_patch::Trail;
use lanes::lane::worktrees::Claim;
use lanes::team::Team;
use missions::card::SealedCard;
use missions::card::grant::Grant;
use missions::children::Children;
use patch::PutAside;
use policy::PolicyRules;
use ractor::{ActorCell, RpcReplyPort};
use tokio::sync::watch;

use super::ending::Ending;
use super::outcome::{NotSteered, RequestOutcome};
use crate::gate::memory::GateMemory;
use crate::request::Request;

/// The current request.
pub(crate) struct Active {
    pub(crate) run: Run,
    pub(crate) request: Request,
    pub(crate) reply: RpcReplyPort<RequestOutcome>,
    /// The current rules, for a resumed run: what the user denied after it began must not be done any more.
    pub(crate) current_rules: Option<Arc<PolicyRules>>,
    pub(crate) slot: Slot,
    pub(crate) work: Work,
    pub(crate) gate: GateMemory,
    /// Its changes in the workspace so far.
    pub(crate) trail: Trail,
    /// The parts of applied diffs that were left out.
    pub(crate) put_aside: Vec<PutAside>,
    /// Tells everything that waits for the user to stop waiting.
    pub(crate) stop: watch::Sender<bool>,
}

/// What is done about the current request.
pub(crate) enum Work {
    /// Its intent is decided, and what it begins with is gathered.
    Preparing,
    /// A question is answered, with a pool for child questions.
    Answering(Box<Children>),
    /// A change is reviewed.
    Reviewing,
    /// A crew works on it. The worktrees are those of a team that declined before.
    Crew(Crew, Option<Claim>),
    /// Worktrees are claimed for a team.
    Claiming,
    Team(TeamAtWork),
    Mission(Box<MissionAtWork>),
    /// Its end is decided. It takes effect when everything is stopped.
    Stopping(Box<Stopping>),
}

/// A team, and the worktrees of its lanes.
pub(crate) struct TeamAtWork {
    pub(crate) team: Team,
    pub(crate) claim: Claim,
}

/// A mission, with the brief it began with and the pool for its child questions.
pub(crate) struct MissionAtWork {
    pub(crate) brief: Brief,
    pub(crate) children: Children,
    pub(crate) stage: MissionStage,
}

/// How far a mission is.
pub(crate) enum MissionStage {
    /// Its card is made, or awaits approval.
    Card,
    /// Its approved card is carried out.
    Execution {
        card: Box<SealedCard>,
        /// What the card allows.
        grant: Arc<Grant>,
        /// What the mission had spent when its card was approved.
        spent_before: Spending,
        lanes: MissionLanes,
    },
}

/// The lanes of a mission.
pub(crate) enum MissionLanes {
    NotBegun,
    Working(TeamAtWork),
    /// The end is taken out for the report.
    Ended(Claim, Option<Box<LanesEnd>>),
}

/// How the lanes of a mission ended: the delivery, each lane, and the worktrees that were kept.
pub(crate) type LanesEnd = (Delivery, Vec<EndedLane>, Vec<PathBuf>);

/// A request whose end is decided.
pub(crate) struct Stopping {
    pub(crate) ending: Ending,
    /// The worktrees of its lanes.
    pub(crate) claim: Option<Claim>,
    /// The approved card.
    pub(crate) card: Option<SealedCard>,
}

/// What has to stop before a request ends.
#[derive(Default)]
pub(crate) struct ToStop {
    pub(crate) actors: Vec<ActorCell>,
    pub(crate) children: Option<Children>,
}

impl Active {
    /// Decides how the request ends, and returns what has to stop first; `None` if that is decided already.
    pub(crate) fn stop_with(&mut self, ending: Ending) -> Option<ToStop> {
        let (to_stop, claim, card) = match std::mem::replace(&mut self.work, Work::Preparing) {
            decided @ Work::Stopping(_) => {
                self.work = decided;
                return None;
            }
            Work::Preparing | Work::Claiming | Work::Reviewing => (ToStop::default(), None, None),
            Work::Answering(children) => (ToStop::of(Vec::new(), *children), None, None),
            Work::Crew(crew, claim) => (ToStop::actor(crew.cell()), claim, None),
            Work::Team(TeamAtWork { team, claim }) => {
                (ToStop::actor(team.cell()), Some(claim), None)
            }
            Work::Mission(mission) => {
                let MissionAtWork { children, stage, .. } = *mission;
                let (card, lanes) = match stage {
                    MissionStage::Card => (None, MissionLanes::NotBegun),
                    MissionStage::Execution { card, lanes, .. } => (Some(*card), lanes),
                };
                let (team, claim) = match lanes {
                    MissionLanes::NotBegun => (Vec::new(), None),
                    MissionLanes::Working(TeamAtWork { team, claim }) => {
                        (vec![team.cell()], Some(claim))
                    }
                    MissionLanes::Ended(claim, _) => (Vec::new(), Some(claim)),
                };
                (ToStop::of(team, children), claim, card)
            }
        };
        // A replayed run may reach another end before the recorded cancellation arrives.
        let recorded = self.run.publisher.recording().and_then(|recording| recording.stops_here());
        let ending = recorded.map_or(ending, Ending::from);
        self.work = Work::Stopping(Box::new(Stopping { ending, claim, card }));
        Some(to_stop)
    }

    /// Returns the permissions of a mission's approved card.
    pub(crate) fn grant(&self) -> Option<&Arc<Grant>> {
        match self.work.mission_stage() {
            Some(MissionStage::Execution { grant, .. }) => Some(grant),
            Some(MissionStage::Card) | None => None,
        }
    }
}

impl Work {
    /// Returns true if the end of the request is decided.
    pub(crate) const fn is_stopping(&self) -> bool {
        matches!(self, Self::Stopping(_))
    }

    /// Has a crew go on with it. A team that declined leaves its worktrees.
    pub(crate) fn by_crew(self, crew: Crew) -> Self {
        match self {
            Self::Team(TeamAtWork { claim, .. }) => Self::Crew(crew, Some(claim)),
            Self::Preparing
            | Self::Answering(_)
            | Self::Reviewing
            | Self::Crew(..)
            | Self::Claiming
            | Self::Mission(_)
            | Self::Stopping(_) => Self::Crew(crew, None),
        }
    }

    /// Returns why a message of the user cannot reach the next model call, if it cannot.
    pub(crate) const fn deaf(&self) -> Option<NotSteered> {
        match self {
            Self::Preparing | Self::Answering(_) | Self::Reviewing | Self::Crew(..) => None,
            Self::Claiming | Self::Team(_) => Some(NotSteered::Lanes),
            Self::Mission(_) => Some(NotSteered::Mission),
            Self::Stopping(_) => Some(NotSteered::NothingAtWork),
        }
    }

    /// Returns the stage of a mission.
    pub(crate) const fn mission_stage(&self) -> Option<&MissionStage> {
        match self {
            Self::Mission(mission) => Some(&mission.stage),
            Self::Preparing
            | Self::Answering(_)
            | Self::Reviewing
            | Self::Crew(..)
            | Self::Claiming
            | Self::Team(_)
            | Self::Stopping(_) => None,
        }
    }

    /// As [`Self::mission_stage`], to change the mission.
    pub(crate) fn mission_mut(&mut self) -> Option<&mut MissionAtWork> {
        match self {
            Self::Mission(mission) => Some(mission),
            Self::Preparing
            | Self::Answering(_)
            | Self::Reviewing
            | Self::Crew(..)
            | Self::Claiming
            | Self::Team(_)
            | Self::Stopping(_) => None,
        }
    }

    /// Returns what the loss of an actor means to the request, if it cannot go on without it.
    pub(crate) fn loss(&self, who: &ActorCell) -> Option<&'static str> {
        let is_it = |cell: ActorCell| cell.get_id() == who.get_id();
        match self {
            Self::Crew(crew, _) => is_it(crew.cell()).then_some("the crew died"),
            Self::Team(work) => is_it(work.team.cell()).then_some("the team died"),
            Self::Mission(mission) => match &mission.stage {
                MissionStage::Execution { lanes: MissionLanes::Working(work), .. } => {
                    is_it(work.team.cell()).then_some("the team died")
                }
                MissionStage::Execution { .. } | MissionStage::Card => None,
            },
            Self::Preparing
            | Self::Answering(_)
            | Self::Reviewing
            | Self::Claiming
            | Self::Stopping(_) => None,
        }
    }
}

impl MissionAtWork {
    /// Notes that the lanes of the approved card have begun.
    pub(crate) fn begin_lanes(&mut self, at_work: TeamAtWork) {
        if let MissionStage::Execution { lanes, .. } = &mut self.stage {
            *lanes = MissionLanes::Working(at_work);
        }
    }

    /// Notes how the lanes ended.
    pub(crate) fn end_lanes(&mut self, end: LanesEnd) {
        if let MissionStage::Execution { lanes, .. } = &mut self.stage {
            let before = std::mem::replace(lanes, MissionLanes::NotBegun);
            *lanes = match before {
                MissionLanes::Working(work) => MissionLanes::Ended(work.claim, Some(Box::new(end))),
                before @ (MissionLanes::NotBegun | MissionLanes::Ended(..)) => before,
            };
        }
    }

    /// Returns what the mission had spent when its card was approved, and takes out how its lanes ended.
    pub(crate) fn take_end(&mut self) -> (Spending, Option<LanesEnd>) {
        match &mut self.stage {
            MissionStage::Execution { spent_before, lanes, .. } => {
                let end = match lanes {
                    MissionLanes::Ended(_, end) => end.take().map(|end| *end),
                    MissionLanes::NotBegun | MissionLanes::Working(_) => None,
                };
                (*spent_before, end)
            }
            MissionStage::Card => (Spending::default(), None),
        }
    }
}

impl ToStop {
    fn actor(actor: ActorCell) -> Self {
        Self { actors: vec![actor], children: None }
    }

    /// These actors first, and then the pool of child questions.
    fn of(mut actors: Vec<ActorCell>, children: Children) -> Self {
        actors.push(children.cell());
        Self { actors, children: Some(children) }
    }
}
