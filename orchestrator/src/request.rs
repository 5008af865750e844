//! A request of the user, and below it how one begins, is understood and is handed on. What outlasts it belongs to
//! [`crate::session`].

pub(crate) mod begin;
pub(crate) mod deadline;
pub(crate) mod dispatch;
pub(crate) mod evidence;
pub(crate) mod gathering;
pub(crate) mod images;
pub mod intent;
pub(crate) mod question_form;
pub(crate) mod review;
pub(crate) mod router;
pub(crate) mod routing;

use facts::event::Event;
use facts::words::{AnsweredCard, Side};
use tools::redact::Redactor;
use tree::FileHash;

use crate::request::intent::RequestIntent;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The user's words.
    pub text: String,
    /// How to treat it; decided by its form and the Architect if `None`.
    pub intent: Option<RequestIntent>,
    /// The user's answer to the card of an earlier mission.
    pub card: Option<AnsweredCard>,
    /// The part that it has in the course of an autopilot.
    pub pilot: Option<PilotPart>,
}

/// What a request is in the course of an autopilot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PilotPart {
    /// A step.
    Step {
        /// What its models are told in place of the conversation.
        course: String,
    },
    /// The question for the next step, asked in a dialogue of its own. The text of the request is the task.
    Question(SteeringQuestion),
}

/// A question to the model that steers an autopilot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteeringQuestion {
    /// True if it begins a dialogue.
    pub opens: bool,
    /// The command without which the task is not done.
    pub until: Option<String>,
    /// Hash of the diagnostics that the command printed last.
    pub failure: Option<FileHash>,
    /// What it adds to the dialogue.
    pub said: String,
}

impl Request {
    /// Creates a request with an optional intent.
    pub fn new(text: impl Into<String>, intent: Option<RequestIntent>) -> Self {
        Self { text: text.into(), intent, card: None, pilot: None }
    }

    /// Creates a request in the course of an autopilot.
    pub(crate) fn pilot(text: &str, part: PilotPart) -> Self {
        let intent = match part {
            PilotPart::Step { .. } => RequestIntent::Edit,
            PilotPart::Question(_) => RequestIntent::Answer,
        };
        Self { pilot: Some(part), ..Self::new(text, Some(intent)) }
    }

    /// Returns the question to the model that steers an autopilot, if it is one.
    pub(crate) const fn steering(&self) -> Option<&SteeringQuestion> {
        match &self.pilot {
            Some(PilotPart::Question(question)) => Some(question),
            Some(PilotPart::Step { .. }) | None => None,
        }
    }

    /// Returns true if no user waits for its end: it is part of an autopilot or a mission.
    pub(crate) const fn is_long(&self) -> bool {
        self.pilot.is_some()
            || self.card.is_some()
            || matches!(self.intent, Some(RequestIntent::Mission))
    }

    /// Returns true if it is part of the conversation.
    pub(crate) const fn is_turn(&self) -> bool {
        self.steering().is_none()
    }

    /// Returns what a step of an autopilot is told in place of the conversation.
    pub(crate) fn course(&self) -> Option<&str> {
        match &self.pilot {
            Some(PilotPart::Step { course }) => Some(course),
            Some(PilotPart::Question(_)) | None => None,
        }
    }

    /// Returns the first event of its run.
    pub(crate) fn first_event(&self, redactor: &Redactor) -> Event {
        let masked = |text: &str| redactor.redact(text).into_owned();
        let text = masked(&self.text);
        match &self.pilot {
            Some(PilotPart::Question(question)) => {
                let SteeringQuestion { opens, until, failure, said } = question.clone();
                let (until, said) = (until.as_deref().map(masked), masked(&said));
                Event::AutopilotAsked { task: text, opens, until, failure, said }
            }
            Some(PilotPart::Step { .. }) | None => Event::TurnAdded {
                speaker: Side::User,
                text,
                intent: self.intent,
                card: self.card.clone(),
                course: self.course().map(masked),
            },
        }
    }

    /// Restores a request from the first event of its run; `None` if that is not the first of a run.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else begins a run")]
    pub(crate) fn of_first_event(event: Event) -> Option<Self> {
        match event {
            Event::TurnAdded { text, intent, card, course, .. } => {
                let pilot = course.map(|course| PilotPart::Step { course });
                Some(Self { text, intent, card, pilot })
            }
            Event::AutopilotAsked { task, opens, until, failure, said } => {
                let question = SteeringQuestion { opens, until, failure, said };
                Some(Self::pilot(&task, PilotPart::Question(question)))
            }
            _ => None,
        }
    }
}

/// Text of a request to review the changes of the last request.
pub const LAST_REQUEST: &str = "review --last-request";
