//! A question to the user, and the lookup of an answer already given to another lane.

use std::time::Duration;

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::workspace::{Denied, Extent, LeftOut};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::signal::{ApprovalAnswer, Holds, Proposal};
use facts::words::{DeniedBy, EffectToApprove};
use shell::CommandLine;
use tree::{Change, RepoPath};

use super::Gate;
use super::memory::SaidTo;

/// More files than this are counted in a reason, not listed.
const LISTED_FILES: usize = 3;

/// The reply to a question.
pub(super) enum ApprovalReply {
    Yes(Extent),
    No { by: DeniedBy, why: Wording, said: Option<String> },
}

/// The effect of a recorded question: the user answers, or no answer comes.
pub(super) struct GateQuestion<'g> {
    pub(super) gate: &'g Gate,
    pub(super) ask: String,
    pub(super) what: &'g EffectToApprove,
    pub(super) proposal: Proposal,
    /// Why approval is needed.
    pub(super) why: String,
}

impl GateQuestion<'_> {
    /// Returns what is taken if only these paths are wanted; a denial if that is nothing, or if only the whole can be
    /// taken.
    fn part(
        &self,
        wanted: &[String],
        said: Option<String>,
    ) -> Result<Extent, (DeniedBy, Option<String>)> {
        let changes = match &self.proposal {
            Proposal::Patch(changes, taken) if taken.is_by_file() => changes,
            Proposal::Patch(..)
            | Proposal::Command(..)
            | Proposal::Network(_)
            | Proposal::Tool(_)
            | Proposal::Mission(_) => return Err((DeniedBy::User, said)),
        };
        let is_wanted = |change: &&Change| wanted.iter().any(|it| it == change.path.as_str());
        let (taken, rest): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(is_wanted);
        if taken.is_empty() {
            return Err((DeniedBy::User, said));
        }
        let paths: Vec<RepoPath> = rest.iter().map(|change| change.path.clone()).collect();
        let is_whole = paths.is_empty();
        Ok(if is_whole { Extent::Whole } else { Extent::Part(LeftOut { paths, said }) })
    }

    /// Saves that the command is always allowed.
    async fn always(&self, run: &Run) {
        let Proposal::Command(command, Holds::Always) = &self.proposal else { return };
        let Ok(line) = CommandLine::parse(command) else { return };
        match self.gate.always.allow(&line, run.confinement().await.degree()) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("the command cannot always be allowed: what it runs is too large");
            }
            Err(error) => {
                tracing::warn!(%error, "could not save that the command is always allowed");
            }
        }
    }
}

impl Effect for GateQuestion<'_> {
    type Outcome = ApprovalReply;
    type Stop = JournalClosed;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are not answers")]
    fn look(&mut self, event: &Event) -> Trace<ApprovalReply> {
        match event {
            Event::ApprovalGiven { ask, left_out, said } if *ask == self.ask => {
                Trace::Done(ApprovalReply::Yes(if left_out.is_empty() {
                    Extent::Whole
                } else {
                    let (paths, said) = (left_out.clone(), said.clone());
                    Extent::Part(LeftOut { paths, said })
                }))
            }
            Event::ApprovalDenied { ask: Some(ask), by, why, said, .. } if *ask == self.ask => {
                Trace::Done(ApprovalReply::No { by: *by, why: why.clone(), said: said.clone() })
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<ApprovalReply, JournalClosed> {
        let patience = Duration::from_secs(run.config().limits.approval_timeout_seconds);
        let mut stop = run.stop.clone();
        let waits = run.waits("user");
        let asked = run.publisher.ask(self.proposal.clone(), self.why.clone());
        let answer = tokio::select! {
            answer = waits.answer("approval", asked) => answer,
            // The run was stopped before an answer.
            _ = stop.wait_for(|stopped| *stopped) => return Err(JournalClosed),
            () = tokio::time::sleep(patience) => None,
        };
        let is_always = answer == Some(ApprovalAnswer::Always);
        let taken = match answer {
            Some(ApprovalAnswer::Yes | ApprovalAnswer::Always) => Ok(Extent::Whole),
            Some(ApprovalAnswer::Only { paths, why }) => self.part(&paths, why),
            Some(ApprovalAnswer::No) => Err((DeniedBy::User, None)),
            Some(ApprovalAnswer::Because(words)) => Err((DeniedBy::User, Some(words))),
            None => Err((DeniedBy::Nobody, None)),
        };
        let (by, said) = match taken {
            Ok(committed) => {
                let (left_out, said) = match committed.clone() {
                    Extent::Whole => (Vec::new(), None),
                    Extent::Part(LeftOut { paths, said }) => (paths, said),
                };
                let ask = self.ask.clone();
                run.record(Event::ApprovalGiven { ask, left_out, said }).await?;
                if is_always {
                    self.always(run).await;
                }
                return Ok(ApprovalReply::Yes(committed));
            }
            Err(no) => no,
        };
        // An action names a patch only by its id.
        let what = match &self.proposal {
            Proposal::Patch(changes, _) if changes.len() > LISTED_FILES => {
                format!(" the change to {} files", changes.len())
            }
            Proposal::Patch(..) => format!(" the change to {}", subject_of(&self.proposal)),
            Proposal::Command(..)
            | Proposal::Mission(_)
            | Proposal::Network(_)
            | Proposal::Tool(_) => String::new(),
        };
        let why = match (by, &said) {
            (DeniedBy::User, None) => format!("you declined{what}"),
            (DeniedBy::User, Some(words)) => format!("you declined{what}: {words}"),
            (DeniedBy::Nobody | DeniedBy::Policy, _) => {
                format!("{}, and there is no terminal to ask on", self.why)
            }
        };
        let why = Wording::from(why);
        let (ask, action) = (Some(self.ask.clone()), self.what.clone());
        let denied =
            Event::ApprovalDenied { ask, action, by, why: why.clone(), said: said.clone() };
        run.record(denied).await?;
        Ok(ApprovalReply::No { by, why, said })
    }
}

/// The effect of checking whether the command was already answered for another lane, which is recorded as an answer
/// without a question.
pub(super) struct AnsweredBefore<'g> {
    pub(super) what: &'g EffectToApprove,
    pub(super) hint: &'g str,
}

impl Effect for AnsweredBefore<'_> {
    type Outcome = Option<SaidTo>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Option<SaidTo>> {
        if let Event::ApprovalGiven { ask, .. } = event {
            let (ask, by) = (ask.clone(), DeniedBy::Nobody);
            return Trace::Done(Some(SaidTo { ask, by, result: Ok(()) }));
        }
        let Event::ApprovalDenied { ask: Some(ask), action, by, why, said } = event else {
            return Trace::Foretold(None);
        };
        if action != self.what {
            return Trace::Foretold(None);
        }
        let (what, why, hint) = (action.clone(), why.clone(), self.hint.into());
        let denied = Denied { what, why, hint, said: said.clone() };
        Trace::Done(Some(SaidTo { ask: ask.clone(), by: *by, result: Err(denied) }))
    }

    async fn act(&mut self, _: &Run) -> Result<Option<SaidTo>, JournalClosed> {
        Ok(None)
    }
}

/// Returns the files or the command that a proposal is about.
pub(super) fn subject_of(proposal: &Proposal) -> String {
    match proposal {
        Proposal::Patch(changes, _) => {
            let paths: Vec<&str> =
                changes.iter().flat_map(Change::paths).map(RepoPath::as_str).collect();
            paths.join(", ")
        }
        Proposal::Command(text, _) => format!("`{text}`"),
        Proposal::Mission(_) => "the card of the mission".to_owned(),
        Proposal::Network(text) => EffectToApprove::Network(text.clone()).to_string(),
        Proposal::Tool(text) => EffectToApprove::Tool(text.clone()).to_string(),
    }
}
