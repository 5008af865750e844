//! Whether an effect may happen: policy decides, the user is asked where it says so, and the answer is journaled.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use actors::closed::JournalClosed;
use actors::effect::{Effect, Position, Trace};
use actors::event::Event;
use actors::publisher::{Answer, Holds, Proposal};
use actors::run::{Run, UserWord};
use actors::wording::Wording;
use actors::words::{Asked, DeniedBy};
use actors::workspace::{Denied, Extent, LeftOut, Purpose, Taken};
use policy::{Act, Author, Confinement, Stage, Verdict, quoted};
use sandbox::{Confining, Degree, Network};
use shell::{CommandLine, confinement};
use tree::{Change, RepoPath};

use super::super::SaidTo;
use super::{Gate, lines_of};

impl Gate {
    /// What policy says.
    async fn decide(&self, stage: Stage, act: Act<'_>, goes: Goes, what: &Asked) -> Verdict {
        let mut decision = Decision { gate: self, stage, act, goes, what };
        let decided = self.run.perform(&mut decision).await;
        decided.unwrap_or_else(|closed| Verdict::Deny { why: closed.to_string() })
    }

    /// Takes the patch of a lane through: commands will run on what it says, before anybody sees the whole.
    pub(super) async fn approve(mut self, patch: &str, changes: &[Change]) -> Result<(), Denied> {
        let lane = self.run.scope().lane().map(|lane| format!(" --lane {lane}"));
        let lane = lane.unwrap_or_default();
        let hint = format!(
            "see it with `deepseek diff{lane}`, or run again with `--approval auto`, which does not ask for patches"
        );
        if self.run.publisher.follows() {
            return self.pass_copy(patch, changes, hint).await;
        }
        // Lanes ask one after the other.
        let said = Arc::clone(&self.said);
        let _turn = said.lock().await;
        self.pass_copy(patch, changes, hint).await
    }

    async fn pass_copy(
        &mut self,
        patch: &str,
        changes: &[Change],
        hint: String,
    ) -> Result<(), Denied> {
        let change = (changes, Taken::Whole);
        self.pass_patch(patch, change, Goes::IntoACopy, hint).await.map(drop)
    }

    /// Takes a patch through, whoever wrote it, or the part of it that the user takes.
    pub(super) async fn pass_patch(
        &mut self,
        patch: &str,
        (changes, taken): (&[Change], Taken),
        goes: Goes,
        hint: String,
    ) -> Result<Extent, Denied> {
        let paths: Vec<&str> =
            changes.iter().flat_map(Change::paths).map(RepoPath::as_str).collect();
        let size = self.written.with(&paths, lines_of(changes));
        let (author, stage) = if self.run.id().is_empty() {
            (Author::User, Stage::User)
        } else {
            (Author::Model, Stage::Executing)
        };
        let what = Asked::Patch(patch.to_owned());
        let act = Act::Patch { author, paths: &paths, size };
        let verdict = self.decide(stage, act, goes, &what).await;
        self.pass(verdict, Proposal::Patch(changes.to_vec(), taken), what, hint).await
    }

    /// Takes a command through, or the network for it.
    pub(super) async fn permit(
        mut self,
        command: &CommandLine,
        purpose: Purpose,
    ) -> Result<(), Denied> {
        let reach = purpose.reach();
        let text = command.text().to_owned();
        let (what, act, proposal) = match reach {
            Network::Own => (
                Asked::Command(text.clone()),
                Act::Command(command.command()),
                Proposal::Command(text, self.holds()),
            ),
            Network::Host => (
                Asked::Network(text.clone()),
                Act::Network(command.command()),
                Proposal::Network(text),
            ),
        };
        let stage = if purpose == Purpose::Trial { Stage::Planning } else { Stage::Verifying };
        let verdict = self.decide(stage, act, Goes::IntoTheWorkspace, &what).await;
        let level = self.run.confinement().await;
        let hint = match reach {
            Network::Own => hint_for(&self.run, command, &verdict, &level),
            Network::Host => "to let commands use the network in this run: --network".to_owned(),
        };
        if !matches!(verdict, Verdict::Ask { .. }) {
            return self.pass(verdict, proposal, what, hint).await.map(drop);
        }
        let mut told = ToldBefore { what: &what, hint: &hint };
        if let Ok(Some(said)) = self.run.perform(&mut told).await {
            return said.result;
        }
        if self.run.publisher.follows() {
            return self.pass(verdict, proposal, what, hint).await.map(drop);
        }
        // Lanes ask one after the other, and nothing is asked twice.
        let said = Arc::clone(&self.said);
        let mut said = said.lock().await;
        let key = (command.command().clone(), reach);
        if let Some(said) = said.get(&key) {
            return self.say_again(what, said).await;
        }
        let result = self.pass(verdict, proposal, what, hint).await.map(drop);
        if result.is_ok()
            && reach == Network::Own
            && matches!(level, Confining::Floor { .. })
            && let Err(error) = self.run.sandbox.accept(&level)
        {
            tracing::warn!(%error, "that the user accepts how far commands are confined could not be noted");
        }
        if let Some((ask, by)) = self.asked.take() {
            said.insert(key, SaidTo { ask, by, result: result.clone() });
        }
        result
    }

    /// For how long a yes to a command can hold.
    const fn holds(&self) -> Holds {
        if self.grant.is_some() { Holds::InThisRun } else { Holds::Always }
    }

    /// Writes down what was said to the same command before, in answer to another lane.
    async fn say_again(&self, what: Asked, said: &SaidTo) -> Result<(), Denied> {
        let ask = said.ask.clone();
        let result = said.result.clone().map_err(|denied| Denied { what, ..denied });
        let event = match &result {
            Ok(()) => Event::ApprovalGiven { ask, left_out: Vec::new(), said: None },
            Err(Denied { what, why, said: words, .. }) => Event::ApprovalDenied {
                ask: Some(ask),
                action: what.clone(),
                by: said.by,
                why: why.clone(),
                said: words.clone(),
            },
        };
        if self.run.record(event).await.is_err() {
            tracing::debug!("what was said before could not be journaled again");
        }
        result
    }

    /// Allows, asks or denies, and writes down what was asked and answered.
    async fn pass(
        &mut self,
        verdict: Verdict,
        proposal: Proposal,
        what: Asked,
        hint: String,
    ) -> Result<Extent, Denied> {
        let hint = Wording::from(hint);
        let why = match verdict {
            Verdict::Allow => return Ok(Extent::Whole),
            // What is staged stays so: it was journaled before it came here.
            Verdict::Stage { why } | Verdict::Deny { why } => {
                let (by, why) = (DeniedBy::Policy, Wording::from(why));
                let (action, why_told) = (what.clone(), why.clone());
                let denied =
                    Event::ApprovalDenied { ask: None, action, by, why: why_told, said: None };
                if self.run.record(denied).await.is_err() {
                    tracing::debug!(
                        "a denial could not be journaled; nothing happens all the same"
                    );
                }
                return Err(Denied { what, why, hint, said: None });
            }
            Verdict::Ask { why } => why,
        };
        let about = about(&proposal);
        match self.ask(proposal, &what, why).await {
            Ok(Reply::Yes(committed)) => {
                if let Extent::Part(LeftOut { paths, said: Some(words) }) = &committed {
                    let to = paths.iter().map(RepoPath::as_str).collect::<Vec<_>>().join(", ");
                    self.objected(to, words.clone());
                }
                Ok(committed)
            }
            Ok(Reply::No { why, said, .. }) => {
                if let Some(words) = said.clone() {
                    self.objected(about, words);
                }
                Err(Denied { what, why, hint, said })
            }
            // That the run is over is told by its end.
            Err(JournalClosed) => {
                let why = "the request was stopped".into();
                Err(Denied { what, why, hint, said: None })
            }
        }
    }

    /// Keeps what the user said against something: it is remembered.
    fn objected(&self, to: String, words: String) {
        let objection = UserWord::Objection { to, words };
        let user_said = self.run.user_said.lock();
        user_said.unwrap_or_else(PoisonError::into_inner).push(objection);
    }

    /// Asks the user.
    async fn ask(
        &mut self,
        proposal: Proposal,
        what: &Asked,
        why: String,
    ) -> Result<Reply, JournalClosed> {
        if *self.run.stop.borrow() {
            return Err(JournalClosed);
        }
        let ask = self.run.fresh_id();
        let proposed = Event::ApprovalAsked {
            ask: ask.clone(),
            action: what.clone(),
            why: why.as_str().into(),
        };
        // Recorded, so that everything before it is on the screen when the question comes.
        self.run.record(proposed).await?;
        let mut question = Question { gate: self, ask: ask.clone(), what, proposal, why };
        let reply = self.run.perform(&mut question).await?;
        let by = if let Reply::No { by, .. } = &reply { *by } else { DeniedBy::Nobody };
        self.asked = Some((ask, by));
        Ok(reply)
    }
}

/// What a proposal is about: the files of a change, or a command.
fn about(proposal: &Proposal) -> String {
    match proposal {
        Proposal::Patch(changes, _) => {
            let paths: Vec<&str> =
                changes.iter().flat_map(Change::paths).map(RepoPath::as_str).collect();
            paths.join(", ")
        }
        Proposal::Command(text, _) => format!("`{text}`"),
        Proposal::Mission(_) => "the card of the mission".to_owned(),
        Proposal::Network(text) => Asked::Network(text.clone()).to_string(),
    }
}

/// How far commands are confined, without what the user thinks of it.
const fn degree(confinement: Confinement) -> Degree {
    match confinement {
        Confinement::Full => Degree::Full,
        Confinement::Floor { .. } => Degree::Floor,
        Confinement::None | Confinement::Off => Degree::None,
    }
}

/// Where the effect happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    /// In the workspace.
    IntoTheWorkspace,
    /// In a copy of it, where commands run.
    IntoACopy,
}

/// The effect of asking policy. What it said in a recorded run is told by the events that followed from it.
struct Decision<'g> {
    gate: &'g Gate,
    stage: Stage,
    act: Act<'g>,
    goes: Goes,
    what: &'g Asked,
}

impl Effect for Decision<'_> {
    type Outcome = Verdict;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Verdict> {
        let recorded = recorded_verdict(event, self.what).unwrap_or(Verdict::Allow);
        // What barred it then is not known now, but that it was barred is.
        let was_barred = matches!(recorded, Verdict::Deny { .. });
        if was_barred || self.gate.run.publisher.takes_requests() || self.could_be(&recorded) {
            Trace::Foretold(recorded)
        } else {
            Trace::Absent
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Verdict, JournalClosed> {
        if let Some(barred) = self.gate.bars(self.stage, self.act) {
            return Ok(barred);
        }
        let confinement = if self.runs() {
            confinement(&run.sandbox, &run.confinement().await)
        } else {
            // Nothing is run by it.
            Confinement::Full
        };
        let verdict = self.verdict(confinement);
        if self.gate.grant.is_some() {
            return Ok(verdict);
        }
        // What runs behind walls harms nothing outside, and what a lane wrote is asked for when it comes out.
        let stays_within = self.goes == Goes::IntoACopy && confinement.is_confined();
        let is_allowed = || match self.what {
            // A lane may have changed what the command runs.
            Asked::Command(text) if run.scope().lane().is_none() => CommandLine::parse(text)
                .is_ok_and(|line| self.gate.always.allows(&line, degree(confinement))),
            Asked::Command(_) | Asked::Network(_) | Asked::Patch(_) => false,
        };
        let is_asked = matches!(verdict, Verdict::Ask { .. });
        Ok(if is_asked && (stays_within || is_allowed()) { Verdict::Allow } else { verdict })
    }
}

impl Decision<'_> {
    /// What policy says, and the approved card of a mission where there is one: it answers what it names, and what it does not
    /// name is asked with the difference, whatever is allowed elsewhere. How far commands are confined it does not answer.
    fn verdict(&self, confinement: Confinement) -> Verdict {
        let rules = &self.gate.run.terms.rules;
        let verdict = rules.decide(self.stage, self.act, confinement);
        let Some(grant) = &self.gate.grant else { return verdict };
        if matches!(verdict, Verdict::Deny { .. } | Verdict::Stage { .. }) {
            return verdict;
        }
        let beyond = match (self.act, self.what) {
            (Act::Patch { paths, .. }, _) => Some(grant.beyond(paths).join(", "))
                .filter(|beyond| !beyond.is_empty())
                .map(|beyond| format!("does not name `{beyond}`")),
            (_, Asked::Command(text)) if grant.names(text) => None,
            (_, Asked::Network(_)) => Some("allows no network".to_owned()),
            (_, Asked::Command(text) | Asked::Patch(text)) => {
                Some(format!("does not name `{text}`"))
            }
        };
        if let Some(beyond) = beyond {
            return Verdict::Ask { why: format!("the approved mission card {beyond}") };
        }
        let at_best = rules.decide(self.stage, self.act, Confinement::Full);
        let is_about_walls = matches!(at_best, Verdict::Allow) || !confinement.is_confined();
        if matches!(verdict, Verdict::Ask { .. }) && is_about_walls && self.runs() {
            return verdict;
        }
        Verdict::Allow
    }

    /// Whether commands run by it.
    fn runs(&self) -> bool {
        matches!(self.act, Act::Command(_)) || self.goes == Goes::IntoACopy
    }

    /// Whether policy says so on some machine: how far commands were confined on the one that it was recorded on is not known.
    fn could_be(&self, recorded: &Verdict) -> bool {
        let levels = if self.runs() { Confinement::ALL.as_slice() } else { &[Confinement::Full] };
        levels.iter().map(|level| self.verdict(*level)).any(|verdict| {
            match (&verdict, recorded) {
                (Verdict::Allow, Verdict::Allow)
                | (Verdict::Ask { .. }, Verdict::Ask { .. })
                | (Verdict::Stage { .. }, Verdict::Stage { .. }) => true,
                // The user had allowed it always, or it stayed within its walls.
                (Verdict::Ask { .. }, Verdict::Allow) => self.runs(),
                _ => false,
            }
        })
    }
}

/// What policy said to `what`, if an event tells that it did not simply let it go ahead.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events come of no verdict")]
fn recorded_verdict(event: &Event, what: &Asked) -> Option<Verdict> {
    match event {
        Event::ApprovalAsked { action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ApprovalDenied { ask: None, action, why, .. } if action == what => {
            Some(Verdict::Deny { why: why.to_string() })
        }
        // What was said to the same command in answer to another lane.
        Event::ApprovalDenied { ask: Some(_), action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ApprovalGiven { .. } => Some(Verdict::Ask { why: String::new() }),
        _ => None,
    }
}

/// The effect of looking whether the answer to a command was given to another lane: an answer without a question before it.
struct ToldBefore<'g> {
    what: &'g Asked,
    hint: &'g str,
}

impl Effect for ToldBefore<'_> {
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

/// What came of a question.
enum Reply {
    Yes(Extent),
    No { by: DeniedBy, why: Wording, said: Option<String> },
}

/// The effect of a question that is journaled: the user answers, or nobody does.
struct Question<'g> {
    gate: &'g Gate,
    ask: String,
    what: &'g Asked,
    proposal: Proposal,
    /// Why it is asked.
    why: String,
}

impl Question<'_> {
    /// What is taken when only these paths are wanted; a no where that is nothing, or where nothing but the whole can be taken.
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

    /// Notes that the command is not asked for again.
    async fn always(&self, run: &Run) {
        let Proposal::Command(command, Holds::Always) = &self.proposal else { return };
        let Ok(line) = CommandLine::parse(command) else { return };
        match self.gate.always.allow(&line, run.confinement().await.degree()) {
            Ok(true) => {}
            Ok(false) => tracing::warn!("what the command runs is too large to allow it always"),
            Err(error) => tracing::warn!(%error, "that the command is allowed could not be noted"),
        }
    }
}

impl Effect for Question<'_> {
    type Outcome = Reply;
    type Stop = JournalClosed;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are no answers")]
    fn look(&mut self, event: &Event) -> Trace<Reply> {
        match event {
            Event::ApprovalGiven { ask, left_out, said } if *ask == self.ask => {
                Trace::Done(Reply::Yes(if left_out.is_empty() {
                    Extent::Whole
                } else {
                    let (paths, said) = (left_out.clone(), said.clone());
                    Extent::Part(LeftOut { paths, said })
                }))
            }
            Event::ApprovalDenied { ask: Some(ask), by, why, said, .. } if *ask == self.ask => {
                Trace::Done(Reply::No { by: *by, why: why.clone(), said: said.clone() })
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Reply, JournalClosed> {
        let patience = Duration::from_secs(run.config().limits.approval_timeout_seconds);
        let mut stop = run.stop.clone();
        let answer = tokio::select! {
            answer = run.publisher.ask(self.proposal.clone(), self.why.clone()) => answer,
            // There was no answer, and none is waited for any more.
            _ = stop.wait_for(|stopped| *stopped) => return Err(JournalClosed),
            () = tokio::time::sleep(patience) => None,
        };
        let is_always = answer == Some(Answer::Always);
        let taken = match answer {
            Some(Answer::Yes | Answer::Always) => Ok(Extent::Whole),
            Some(Answer::Only { paths, why }) => self.part(&paths, why),
            Some(Answer::No) => Err((DeniedBy::User, None)),
            Some(Answer::Because(words)) => Err((DeniedBy::User, Some(words))),
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
                return Ok(Reply::Yes(committed));
            }
            Err(no) => no,
        };
        let why = match (by, &said) {
            (DeniedBy::User, None) => "you said no".to_owned(),
            (DeniedBy::User, Some(words)) => format!("you said no: {words}"),
            (DeniedBy::Nobody | DeniedBy::Policy, _) => {
                format!("{}, and there is no terminal to ask on", self.why)
            }
        };
        let why = Wording::from(why);
        let (ask, action) = (Some(self.ask.clone()), self.what.clone());
        let denied =
            Event::ApprovalDenied { ask, action, by, why: why.clone(), said: said.clone() };
        run.record(denied).await?;
        Ok(Reply::No { by, why, said })
    }
}

/// What would let a command run.
fn hint_for(run: &Run, command: &CommandLine, verdict: &Verdict, level: &Confining) -> String {
    let rules = &run.terms.rules;
    let missing = rules.missing_rules(command.command());
    if rules.denies_by_approval(command.command()) {
        return "to run it in this run: --yolo; with --approval suggest listed commands run, and others are asked for"
            .to_owned();
    }
    // YOLO does not answer the questions on confinement.
    let walls = match level {
        Confining::Floor { .. } if !run.sandbox.is_accepted(level) => {
            "to accept how far commands are confined: deepseek config set sandbox.floor accept"
        }
        Confining::None(_) => "to run commands unconfined: --no-sandbox",
        Confining::Full(_) | Confining::Floor { .. } | Confining::Off => "",
    };
    let rules: Vec<String> = missing.iter().map(|rule| quoted(rule)).collect();
    let listing = match (rules.is_empty(), verdict) {
        (true, Verdict::Deny { .. }) => {
            return "no flag allows it: policy.deny_commands and plan mode come first".to_owned();
        }
        (true, _) if !walls.is_empty() => String::new(),
        (true, _) => "to run it in this run: --yolo".to_owned(),
        (false, _) => format!(
            "to allow it from now on: deepseek config add policy.allow_commands {}{}; for this run only: --yolo",
            if missing.iter().any(|rule| rule.starts_with('-')) { "-- " } else { "" },
            rules.join(" ")
        ),
    };
    let both = [walls, &listing];
    both.into_iter().filter(|hint| !hint.is_empty()).collect::<Vec<_>>().join("; and ")
}
