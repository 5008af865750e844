//! The lines shown for each event of a run, in the order of the events. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::AnsiColor;
use checks::outcome::{CheckOutcome, Findings};
use facts::event::{Envelope, Event, StagedFile};
use facts::lane_id::LaneId;
use facts::scope::Scope;
use facts::words::{IntentBy, LackingServer, RequestIntent, Side};
use model::AgentRole;
use tree::RepoPath;

use super::lines::{check_in_words, plan_text, said_by_models, settled, tolerated, why_it_failed};
use super::{CommandsGiven, Detail, MissionState, RunView, Used};
use crate::describe;
use crate::diff::harmless;
use crate::lanes::LaneTable;
use crate::lanes::lines::{self, file_line, labelled};

/// The phase in which a task is split into lanes.
const PLANNING: &str = "plan lanes";

impl RunView {
    /// Shows the answer to a question if it is not a plain yes.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are not answers")]
    fn answered(&mut self, event: &Event) {
        match event {
            Event::ApprovalGiven { left_out, said, .. } if !left_out.is_empty() => {
                let title = self.style(AnsiColor::Yellow, "left out:");
                let paths: Vec<&str> = left_out.iter().map(RepoPath::as_str).collect();
                let said = said.as_ref().map(|said| format!(": {}", harmless(said)));
                let paths = harmless(&paths.join(", "));
                self.say(format!("  {title} {paths}{}", said.unwrap_or_default()));
            }
            Event::ApprovalDenied { action, why, .. } => {
                self.say(format!("  {} {action}: {why}", self.style(AnsiColor::Red, "denied:")));
            }
            _ => {}
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is for the journal and for programs"
    )]
    pub(super) fn event(&mut self, envelope: &Envelope, at: Duration) {
        let lane = envelope.scope.lane();
        self.lanes.event(lane, &envelope.event, at.saturating_sub(self.started));
        self.note_work(lane, &envelope.event);
        self.count(&envelope.event, lane);
        self.note_tolerated(lane, &envelope.event);
        self.undo.note(&envelope.event);
        if envelope.scope.is_part() {
            self.part_event(&envelope.scope, &envelope.event);
            return;
        }
        match &envelope.event {
            Event::TurnAdded { speaker: Side::User, .. } | Event::AutopilotAsked { .. } => {
                self.begin_turn();
            }
            Event::RunStarted { intent, .. } => self.begin_run(*intent, at),
            Event::EvidenceGathered { items, omitted, tokens, .. } => {
                self.say_omitted(omitted);
                tracing::debug!(items = items.len(), tokens, "evidence");
            }
            Event::InstructionsRead { omitted, .. } => self.say_omitted(omitted),
            Event::ArchitectStarted { .. } => self.enter("plan", "", at),
            // If only a plan was requested, the plan is the result and is printed at the end.
            Event::PlanCreated { plan, .. } | Event::PlanRevised { plan, .. }
                if !self.plan_only =>
            {
                self.say(plan_text(plan).trim_end());
            }
            Event::PlanRefused { error }
            | Event::DraftRefused { error }
            | Event::AnswerRefused { error } => {
                self.refused(harmless(&error.to_string()));
            }
            Event::EditorStarted { iteration, .. } => {
                self.enter(&format!("edit {iteration}"), "", at);
            }
            Event::IntentDecided { intent: RequestIntent::Answer, reason }
                if !matches!(reason, IntentBy::Flag | IntentBy::User) =>
            {
                self.say(taken_for_a_question(*reason, self.options.commands));
            }
            Event::PatchRefused { reasons, .. } => {
                for reason in reasons {
                    let title = self.style(AnsiColor::Yellow, "patch refused, nothing written:");
                    self.say(format!(
                        "  {title}\n    {}",
                        reason.to_string().trim_end().replace('\n', "\n    ")
                    ));
                }
            }
            Event::PatchStaged { files, .. } => self.staged.clone_from(files),
            Event::PatchApplied { .. } => {
                let staged = std::mem::take(&mut self.staged);
                let tolerated = self.tolerated.get(&None).cloned().unwrap_or_default();
                self.say((self.files_text(&staged) + &tolerated).trim_end());
            }
            Event::CommitSettled { patch, outcome, left } => {
                self.say(settled(patch, *outcome, left));
            }
            answer @ (Event::ApprovalGiven { .. } | Event::ApprovalDenied { .. }) => {
                self.answered(answer);
            }
            Event::VerifyStarted { commands, .. } if !self.lanes.is_empty() => {
                self.forget_verification();
                self.enter(&format!("verify {}", self.lanes.merged()), "", at);
                tracing::debug!(commands = commands.len(), "verifying all lanes and the project");
            }
            Event::VerifyStarted { commands, derived, .. } => {
                self.forget_verification();
                let how = if *derived { "derived from the project" } else { "" };
                self.enter("verify", how, at);
                if commands.is_empty() {
                    self.say("  no test command found");
                }
            }
            Event::VerificationRun { findings, .. } => {
                self.show_check(&envelope.event, envelope.seq);
                self.show_walls(findings.as_ref());
            }
            Event::RoleCrashed { role } => {
                self.say(format!(
                    "  {} the {} crashed; a new one was started",
                    self.style(AnsiColor::Red, "!"),
                    role.name()
                ));
            }
            Event::ServerToolsFound { unusable, .. } => self.say_unusable(unusable),
            event => {
                for line in said_by_models(event) {
                    self.say(&line);
                }
                self.team_event(event, at);
                self.mission_event(event, at);
            }
        }
    }

    /// Shows that an answer was refused. A reason is given once, however often it comes up.
    fn refused(&mut self, reason: String) {
        let again = reason == self.last_refusal;
        let title = if again { "answer refused" } else { "answer refused:" };
        let why = if again { "for the same reason" } else { &reason };
        self.say(format!("  {} {why}", self.style(AnsiColor::Yellow, title)));
        self.last_refusal = reason;
    }

    /// Names servers of tools that cannot be used, each once.
    fn say_unusable(&mut self, unusable: &[LackingServer]) {
        for server in unusable {
            let why = harmless(&server.why.to_string());
            if self.unusable.insert(why.clone()) {
                self.say(format!("  {} {why}", self.style(AnsiColor::Yellow, "not used:")));
            }
        }
    }

    /// Resets the counts of the earlier request.
    fn begin_turn(&mut self) {
        (self.used, self.mission) = (Used::default(), MissionState::default());
    }

    /// Forgets the run before.
    fn begin_run(&mut self, intent: RequestIntent, at: Duration) {
        self.lanes = LaneTable::default();
        self.plan_only = intent == RequestIntent::Plan;
        self.staged.clear();
        self.last_failure = None;
        self.started = at;
        "gathering context".clone_into(&mut self.phase);
        self.since = at;
    }

    /// Shows how commands are confined, if that has changed since it was last shown.
    pub(super) fn tell_confined(&mut self, level: &str) {
        if self.confined != level {
            level.clone_into(&mut self.confined);
            self.say(format!("  {level}"));
        }
    }

    fn files_text(&self, files: &[StagedFile]) -> String {
        let mut text = String::new();
        for file in files {
            writeln!(text, "  {}", file_line(file, self.options.paint)).ok();
        }
        text
    }

    fn note_tolerated(&mut self, lane: Option<LaneId>, event: &Event) {
        if let Event::PatchStaged { repairs, .. } = event {
            self.tolerated.insert(lane, tolerated(repairs));
        }
    }

    /// Forgets what the checks before a new verification said.
    fn forget_verification(&mut self) {
        self.on_old_tree = None;
        self.skipped.clear();
    }

    fn show_check(&mut self, event: &Event, seq: u64) {
        let Event::VerificationRun {
            command,
            baseline,
            outcome,
            exit,
            elapsed_ms,
            output,
            findings,
            ..
        } = event
        else {
            return;
        };
        let (baseline, outcome, elapsed_ms) = (*baseline, *outcome, *elapsed_ms);
        let (colour, word) = check_in_words(outcome);
        let exit =
            if outcome == CheckOutcome::Passed { String::new() } else { format!(" ({exit})") };
        let when = if baseline {
            " before the change".to_owned()
        } else {
            format!(" in {:.1} s", Duration::from_millis(elapsed_ms).as_secs_f64())
        };
        let skipped = findings.as_ref().and_then(|it| it.tests).map_or(0, |tests| tests.skipped);
        if !baseline {
            self.skipped.insert(command.clone(), skipped);
        }
        let skipped = describe::skipped(skipped).map(|it| format!(", {it}")).unwrap_or_default();
        let word = self.style(colour, word);
        self.say(format!("  `{}` {word}{exit}{when}{skipped}", harmless(command)));
        let why = if baseline { Vec::new() } else { why_it_failed(outcome, output) };
        for line in &why {
            self.say(format!("    {line}"));
        }
        let printed = output.content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        if !why.is_empty() && printed.count() > why.len() {
            let words = format!("explain {seq} --full");
            if let Some(way) = self.options.commands.way("full output", &words) {
                self.say(format!("    {way}"));
            }
        }
    }

    /// Shows how a command was confined if it was not fully confined, which of its changes were discarded, and how much of its
    /// output was masked.
    fn show_walls(&mut self, findings: Option<&Findings>) {
        let walls = describe::walls(findings).trim_start_matches(", ");
        if !walls.is_empty() {
            self.say(format!("    {}", self.style(AnsiColor::Yellow, walls)));
        }
        let discarded = findings.map(|it| it.discarded.as_slice()).unwrap_or_default();
        if let [first, rest @ ..] = discarded {
            let more =
                if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            self.say(format!("    changes discarded: {}{more}", harmless(first)));
        }
        if let Some(masked) = describe::describe_masked(findings) {
            self.say(format!("    {masked}"));
        }
    }

    /// Shows an event of a lane or of a child question.
    fn part_event(&mut self, scope: &Scope, event: &Event) {
        if let Some(lane) = scope.lane() {
            self.lane_event(lane, event);
        } else if let Some(number) = scope.child() {
            self.child_event(number, event);
        }
    }

    /// Shows an event of a lane. The table must have received it before.
    fn lane_event(&mut self, lane: LaneId, event: &Event) {
        let detail = self.options.detail;
        for line in self.lanes.lines(lane, event, detail, self.options.paint) {
            self.say(&line);
        }
    }

    /// Shows an event about lanes or about the tests of a change.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is for the journal and for programs"
    )]
    fn team_event(&mut self, event: &Event, at: Duration) {
        match event {
            Event::CheckedTreeChanged { moved, written, .. } => {
                for line in describe::after_checks(moved, written) {
                    self.say(format!("  {}", self.style(AnsiColor::Yellow, &line)));
                }
            }
            Event::OldTreeTested { outcome, .. } => {
                self.on_old_tree = Some(*outcome);
                self.say(format!("  {}", describe::on_old_tree(*outcome)));
            }
            Event::ModelRequest { role: AgentRole::LanePlanner, .. } if self.phase != PLANNING => {
                self.enter(PLANNING, "", at);
            }
            Event::LanesPlanned { lanes, .. } => {
                self.say(lines::team_plan_lines(lanes).trim_end());
                self.enter("work in lanes", "", at);
            }
            Event::LanesDeclined { why } => {
                let title = self.style(AnsiColor::Yellow, "not split into lanes:");
                self.say(format!("  {title} {}", harmless(&why.to_string())));
            }
            Event::LaneConflicted { lane, paths, with } => {
                self.say(lines::conflict(*lane, paths, *with, self.options.paint));
            }
            Event::LaneMerged { lane, .. } if self.options.detail == Detail::All => {
                self.say(format!("{}merged", labelled(*lane, self.options.paint)));
            }
            Event::LanesBisected { lanes, .. } => {
                self.say(lines::bisected(lanes, self.options.paint));
            }
            _ => {}
        }
    }
}

fn taken_for_a_question(reason: IntentBy, commands: CommandsGiven) -> String {
    let why = match reason {
        IntentBy::Default => "no model said whether this is an edit: ",
        IntentBy::Flag | IntentBy::Words | IntentBy::Model | IntentBy::User => "",
    };
    format!("{why}taken for a question; {}", commands.edit_hint())
}
