//! Decides whether an effect may happen: by policy, or by asking the user if policy requires it. The answer is recorded.

use std::sync::{Arc, PoisonError};

use actors::run::workspace::{Denied, Extent, LeftOut, Purpose};
use actors::run::{Run, UserWord};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::signal::Acceptance;
use facts::signal::{Holds, Proposal};
use facts::words::{DeniedBy, EffectToApprove};
use policy::{Act, Author, Confinement, PolicyRules, Stage, ToolKind, Verdict, quoted_word};
use sandbox::{ConfinementLevel, Network};
use shell::CommandLine;
use tools::ids::short_id;
use tree::{Change, RepoPath};

use super::decision::{GateDecision, Goes};
use super::memory::SaidTo;
use super::question::{AnsweredBefore, ApprovalReply, GateQuestion, subject_of};
use super::{Gate, touched};

impl Gate {
    /// Returns the decision of policy.
    async fn decide(
        &self,
        stage: Stage,
        act: Act<'_>,
        goes: Goes,
        what: &EffectToApprove,
    ) -> Verdict {
        let mut decision = GateDecision { gate: self, stage, act, goes, what };
        let decided = self.run.perform(&mut decision).await;
        decided.unwrap_or_else(|closed| Verdict::Deny { why: closed.to_string() })
    }

    /// Approves a lane's patch: commands will run on it before the user sees the combined result.
    pub(crate) async fn approve(mut self, patch: &str, changes: &[Change]) -> Result<(), Denied> {
        let lane = self.run.scope().lane().map(|lane| format!(" --lane {lane}"));
        let lane = lane.unwrap_or_default();
        let hint = format!("see it with `deepseek diff{lane}`");
        if self.run.publisher.follows() {
            return self.pass_copy(patch, changes, hint).await;
        }
        // Lanes ask one at a time.
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
        let change = (changes.into(), Acceptance::Whole);
        self.pass_patch(patch, change, Goes::IntoACopy, hint).await.map(drop)
    }

    /// Approves a patch, whoever wrote it, or the part of it that the user accepts.
    pub(super) async fn pass_patch(
        &mut self,
        patch: &str,
        (changes, taken): (Arc<[Change]>, Acceptance),
        goes: Goes,
        hint: String,
    ) -> Result<Extent, Denied> {
        let paths: Vec<&str> =
            changes.iter().flat_map(Change::paths).map(RepoPath::as_str).collect();
        let rules = Arc::clone(&self.run.terms.rules);
        let size = rules.sized(&self.written, &touched(&changes));
        let (author, stage) = if self.run.id().is_empty() {
            (Author::User, Stage::User)
        } else {
            (Author::Model, Stage::Executing)
        };
        let what = EffectToApprove::Patch(patch.to_owned());
        let act = Act::Patch { author, paths: &paths, size };
        let verdict = self.decide(stage, act, goes, &what).await;
        // No flag widens what a card allows.
        let flag = rules.flag_for(stage, act, Confinement::Full).filter(|_| self.grant.is_none());
        let hint = flag.map_or(hint.clone(), |flag| format!("{hint}, or run again with `{flag}`"));
        self.pass(verdict, Proposal::Patch(Arc::clone(&changes), taken), what, hint).await
    }

    /// Approves a command, or network access for it.
    pub(crate) async fn permit(
        mut self,
        command: &CommandLine,
        purpose: Purpose,
    ) -> Result<(), Denied> {
        let reach = purpose.reach();
        let text = command.text().to_owned();
        let (what, act, proposal) = match reach {
            Network::Own => (
                EffectToApprove::Command(text.clone()),
                Act::Command(command.command()),
                Proposal::Command(text, self.holds()),
            ),
            Network::Host => (
                EffectToApprove::Network(text.clone()),
                Act::Network(command.command()),
                Proposal::Network(text),
            ),
        };
        let stage = if purpose == Purpose::Trial { Stage::Planning } else { Stage::Verifying };
        let verdict = self.decide(stage, act, Goes::IntoTheWorkspace, &what).await;
        let level = self.run.confinement().await;
        let hint = match reach {
            Network::Own => hint_for(
                &self.run.terms.rules,
                command,
                &verdict,
                to_leave_walls(&self.run, &level),
            ),
            // A check that is refused the network leaves the change unverified, and that says how to allow it.
            Network::Host => String::new(),
        };
        if !matches!(verdict, Verdict::Ask { .. }) {
            return self.pass(verdict, proposal, what, hint).await.map(drop);
        }
        let mut told = AnsweredBefore { what: &what, hint: &hint };
        if let Ok(Some(said)) = self.run.perform(&mut told).await {
            return said.result;
        }
        if self.run.publisher.follows() {
            return self.pass(verdict, proposal, what, hint).await.map(drop);
        }
        // Lanes ask one at a time, and nothing is asked twice.
        let said = Arc::clone(&self.said);
        let mut said = said.lock().await;
        let key = (command.command().clone(), reach, level.degree());
        if let Some(said) = said.get(&key) {
            return self.repeat_answer(what, said).await;
        }
        let result = self.pass(verdict, proposal, what, hint).await.map(drop);
        if result.is_ok()
            && reach == Network::Own
            && matches!(level, ConfinementLevel::Floor { .. })
            && let Err(error) = self.run.sandbox.accept(&level)
        {
            tracing::warn!(%error, "could not save that the user accepts this level of confinement");
        }
        if let Some((ask, by)) = self.asked.take() {
            said.insert(key, SaidTo { ask, by, result: result.clone() });
        }
        result
    }

    /// Approves a call of a server's tool. Each is decided for itself.
    pub(crate) async fn permit_tool(mut self, kind: ToolKind, call: String) -> Result<(), Denied> {
        let what = EffectToApprove::Tool(call.clone());
        let act = Act::Tool(kind);
        let verdict = self.decide(Stage::Planning, act, Goes::IntoTheWorkspace, &what).await;
        let flag = self.run.terms.rules.flag_for(Stage::Planning, act, Confinement::Full);
        let flag = flag.filter(|_| self.grant.is_none());
        let hint = flag.map(|flag| format!("run again with `{flag}`")).unwrap_or_default();
        // Lanes ask one at a time.
        let said = Arc::clone(&self.said);
        let _turn = if self.run.publisher.follows() { None } else { Some(said.lock().await) };
        self.pass(verdict, Proposal::Tool(call), what, hint).await.map(drop)
    }

    /// Returns how long an approval of a command can last.
    const fn holds(&self) -> Holds {
        if self.grant.is_some() { Holds::InThisRun } else { Holds::Always }
    }

    /// Records the earlier answer about the same command for this lane.
    async fn repeat_answer(&self, what: EffectToApprove, said: &SaidTo) -> Result<(), Denied> {
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
            tracing::debug!("an earlier answer could not be recorded again");
        }
        result
    }

    /// Allows, asks or denies; records the question and the answer.
    async fn pass(
        &mut self,
        verdict: Verdict,
        proposal: Proposal,
        what: EffectToApprove,
        hint: String,
    ) -> Result<Extent, Denied> {
        let hint = Wording::from(hint);
        let why = match verdict {
            Verdict::Allow => return Ok(Extent::Whole),
            // A staged patch stays staged: it was recorded before it came here.
            Verdict::Stage { why } | Verdict::Deny { why } => {
                let (by, why) = (DeniedBy::Policy, Wording::from(why));
                let (action, reason) = (what.clone(), why.clone());
                let denied =
                    Event::ApprovalDenied { ask: None, action, by, why: reason, said: None };
                if self.run.record(denied).await.is_err() {
                    tracing::debug!("a denial could not be journaled; the effect does not happen");
                }
                return Err(Denied { what, why, hint, said: None });
            }
            Verdict::Ask { why } => why,
        };
        let about = subject_of(&proposal);
        match self.ask(proposal, &what, why).await {
            Ok(ApprovalReply::Yes(committed)) => {
                if let Extent::Part(LeftOut { paths, said: Some(words) }) = &committed {
                    let to = paths.iter().map(RepoPath::as_str).collect::<Vec<_>>().join(", ");
                    self.objected(to, words.clone());
                }
                Ok(committed)
            }
            Ok(ApprovalReply::No { by, why, said }) => {
                if let Some(words) = said.clone() {
                    self.objected(about, words);
                }
                // A user who just said no is not told how to skip the question.
                let hint = if by == DeniedBy::User { self.after_no(&what).into() } else { hint };
                Err(Denied { what, why, hint, said })
            }
            // The end of the run reports that it is over.
            Err(JournalClosed) => {
                let why = "the request was stopped".into();
                Err(Denied { what, why, hint, said: None })
            }
        }
    }

    /// Returns what the user can do after a no.
    fn after_no(&self, what: &EffectToApprove) -> String {
        match (what, self.run.scope().lane()) {
            (EffectToApprove::Patch(_), Some(lane)) => {
                format!(
                    "`deepseek diff --lane {lane}` shows the change; say what should be different"
                )
            }
            (EffectToApprove::Patch(patch), None) => {
                let patch = short_id(patch);
                format!(
                    "the patch is kept, not applied: `deepseek diff {patch}` shows it, `deepseek apply {patch}` applies it; or say what should be different"
                )
            }
            (
                EffectToApprove::Command(_)
                | EffectToApprove::Network(_)
                | EffectToApprove::Tool(_),
                _,
            ) => "say what should be run instead".to_owned(),
        }
    }

    /// Records an objection of the user, so that it can be remembered.
    fn objected(&self, to: String, words: String) {
        let objection = UserWord::Objection { to, words };
        let user_said = self.run.user_said.lock();
        user_said.unwrap_or_else(PoisonError::into_inner).push(objection);
    }

    /// Asks the user.
    async fn ask(
        &mut self,
        proposal: Proposal,
        what: &EffectToApprove,
        why: String,
    ) -> Result<ApprovalReply, JournalClosed> {
        if *self.run.stop.borrow() {
            return Err(JournalClosed);
        }
        let ask = self.run.fresh_id();
        let proposed = Event::ApprovalAsked {
            ask: ask.clone(),
            action: what.clone(),
            why: why.as_str().into(),
        };
        // Waits until it is recorded, so that everything before it is on the screen when the question appears.
        self.run.record(proposed).await?;
        let mut question = GateQuestion { gate: self, ask: ask.clone(), what, proposal, why };
        let reply = self.run.perform(&mut question).await?;
        let by = if let ApprovalReply::No { by, .. } = &reply { *by } else { DeniedBy::Nobody };
        self.asked = Some((ask, by));
        Ok(reply)
    }
}

/// Returns what would let a command run in spite of this level of confinement; empty if the level is no obstacle.
fn to_leave_walls(run: &Run, level: &ConfinementLevel) -> &'static str {
    match level {
        ConfinementLevel::Floor { .. } if !run.sandbox.is_accepted(level) => {
            "to accept this level of confinement: deepseek config set sandbox.floor accept"
        }
        ConfinementLevel::None(_) => "to run commands unconfined: --no-sandbox",
        ConfinementLevel::Full(_) | ConfinementLevel::Floor { .. } | ConfinementLevel::Off => "",
    }
}

/// Returns a hint on what would let a command run, with what its confinement asks for.
fn hint_for(rules: &PolicyRules, command: &CommandLine, verdict: &Verdict, walls: &str) -> String {
    let missing = rules.missing_rules(command.command());
    if rules.denies_by_approval(command.command()) {
        return "to run it in this run: --yolo; with `--approval suggest`, listed commands run and others need approval"
            .to_owned();
    }
    // YOLO mode does not answer questions about confinement.
    let rules: Vec<String> = missing.iter().map(|rule| quoted_word(rule)).collect();
    let listing = match (rules.is_empty(), verdict) {
        (true, Verdict::Deny { .. }) => {
            return "no flag allows it: policy.deny_commands and plan mode take precedence"
                .to_owned();
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

#[cfg(test)]
mod tests {
    use config::{Approval, Mode, Policy};

    use super::*;

    #[test]
    fn the_hint_for_a_command_names_what_is_in_its_way() {
        let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let hint = |approval, mode, command: &str, walls: &str| {
            let policy = Policy { approval, mode, ..config.policy.clone() };
            let rules = PolicyRules::new(&policy, config.agent_loop.safety_gate).unwrap();
            let denied = mode == Mode::Plan;
            let why = "why".to_owned();
            let verdict = if denied { Verdict::Deny { why } } else { Verdict::Ask { why } };
            hint_for(&rules, &CommandLine::parse(command).unwrap(), &verdict, walls)
        };
        let yolo = "to run it in this run: --yolo";
        let listed = "to allow it from now on: deepseek config add policy.allow_commands 'touch a'; for this run only: --yolo";
        let (auto, agent) = (Approval::Auto, Mode::Agent);
        assert_eq!(hint(auto, agent, "touch a", ""), listed);
        assert_eq!(hint(auto, agent, "touch a", "walls"), format!("walls; and {listed}"));
        assert_eq!(hint(auto, agent, "cargo test $(cat a)", ""), yolo);
        assert_eq!(hint(auto, agent, "cargo test $(cat a)", "walls"), "walls");
        assert_eq!(
            hint(Approval::Never, agent, "touch a", ""),
            "to run it in this run: --yolo; with `--approval suggest`, listed commands run and others need approval"
        );
        let none = "no flag allows it: policy.deny_commands and plan mode take precedence";
        assert_eq!(hint(auto, Mode::Plan, "touch a", ""), none);
    }
}
