//! A run as people see it: results on standard output, progress on standard error, questions at the terminal.

mod team;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use actors::checks::{CheckOutcome, Findings};
use actors::delivery::{Delivery, Target, Verified};
use actors::draft::NeededFile;
use actors::event::{Envelope, Event, StagedFile};
use actors::lane_id::LaneId;
use actors::look::Look;
use actors::plan::{Criterion, Plan};
use actors::publisher::{Attendance, OpenQuestion, Proposal, Question, Signal};
use actors::router::Choice;
use actors::wording::Wording;
use actors::words::{Intent, IntentBy, Side};
use anstyle::{AnsiColor, Style};
use futures_util::future::BoxFuture;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::AgentRole;
use model::ModelError;
use model::price::Usd;
use orchestrator::orchestrator::Outcome;

use super::ask::{Offers, OnScreen, answer_in_words, ask};
use super::diff::harmless;
use super::lanes::LaneTable;
use super::lanes::lines::{file_line, labelled};
use super::told::{criteria, routed};
use super::{Paint, View, changes_as_text};
use crate::flags::Global;
use crate::render::told;
use crate::surroundings::Surroundings;

/// The provider's cache keeps prompts in units of so many tokens.
const CACHE_UNIT_TOKENS: u64 = 128;

/// What was used so far, as the events told it.
#[derive(Debug, Clone, Default)]
struct Tally {
    calls: u64,
    prompt: u64,
    hit: u64,
    output: u64,
    in_units: u64,
    lost: u64,
    cost: Option<Usd>,
    cost_unknown: bool,
    usage_unknown: u64,
    /// Prompt tokens of each role: those the provider read anew, and those from its cache.
    roles: BTreeMap<&'static str, [u64; 2]>,
}

impl Tally {
    /// What each role had the provider read, in a line of its own.
    fn by_role(&self) -> String {
        let role = |(role, [new, cached]): (&&str, &[u64; 2])| {
            format!("{role} {new} new, {cached} cached")
        };
        let roles: Vec<String> = self.roles.iter().map(role).collect();
        if roles.is_empty() { String::new() } else { format!("{}\n", roles.join(" · ")) }
    }
}

/// The view for people.
pub(crate) struct Terminal {
    paint: Paint,
    /// The line that moves while somebody waits; only on a terminal, and away while text or a question is there.
    bar: Option<ProgressBar>,
    moves: bool,
    attendance: Attendance,
    streams: bool,
    phase: String,
    waiting: Option<String>,
    since: Instant,
    started: Instant,
    heard: usize,
    plan_only: bool,
    /// The files of the last patch set, shown once it is applied.
    staged: String,
    /// Where the last diff was read tolerantly, in each lane: whoever approves it is told.
    tolerated: BTreeMap<Option<LaneId>, String>,
    /// The workspace as it was before the first change of the run.
    start: Option<u64>,
    /// The last failure of a call, so that it is told once.
    last_failure: Option<ModelError>,
    streamed: String,
    tally: Tally,
    /// How far commands are confined, as it was told last.
    confined: String,
    /// The lanes of the run, if it has any.
    lanes: LaneTable,
}

impl Terminal {
    /// A view for what is around.
    pub(crate) fn new(around: &Surroundings, global: &Global) -> Self {
        let now = Instant::now();
        Self {
            paint: if around.colour(global.color) { Paint::Colour } else { Paint::Plain },
            bar: None,
            moves: around.stderr_is_terminal,
            attendance: if around.stdin_is_terminal && around.stderr_is_terminal {
                Attendance::Attended
            } else {
                Attendance::Unattended
            },
            streams: around.stdout_is_terminal,
            phase: "reading the request".to_owned(),
            waiting: None,
            since: now,
            started: now,
            heard: 0,
            plan_only: false,
            staged: String::new(),
            tolerated: BTreeMap::new(),
            start: None,
            last_failure: None,
            streamed: String::new(),
            tally: Tally::default(),
            confined: String::new(),
            lanes: LaneTable::default(),
        }
    }

    fn say(&self, text: &str) {
        let write = || writeln!(io::stderr(), "{text}").ok();
        match &self.bar {
            Some(bar) => {
                bar.suspend(write);
                to_the_left();
            }
            None => drop(write()),
        }
    }

    /// Takes the moving line away; the next tick brings it back.
    fn rest(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn style(&self, colour: AnsiColor, text: &str) -> String {
        self.paint.with(Style::new().fg_color(Some(colour.into())).bold(), text)
    }

    fn enter(&mut self, phase: &str, more: &str) {
        phase.clone_into(&mut self.phase);
        self.since = Instant::now();
        self.waiting = None;
        self.heard = 0;
        self.say(
            format!("{} {more}", self.style(AnsiColor::Blue, &format!("● {phase}"))).trim_end(),
        );
        self.tick();
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is for the journal and for programs"
    )]
    fn event(&mut self, envelope: &Envelope) {
        let lane = envelope.scope.lane();
        self.lanes.event(lane, &envelope.event, self.started.elapsed());
        self.count(&envelope.event, lane);
        self.note_tolerated(lane, &envelope.event);
        self.note_start(&envelope.event);
        if let Some(lane) = lane {
            self.lane_event(lane, &envelope.event);
            return;
        }
        match &envelope.event {
            Event::TurnAdded { speaker: Side::User, .. } => self.tally = Tally::default(),
            Event::RunStarted { intent, .. } => {
                self.lanes = LaneTable::default();
                self.plan_only = *intent == Intent::Plan;
                self.staged.clear();
                self.last_failure = None;
                self.started = Instant::now();
                "looking around".clone_into(&mut self.phase);
                self.since = self.started;
            }
            Event::EvidenceGathered { items, omitted, tokens, .. } => {
                for line in omitted {
                    self.say(&format!("  not shown: {line}"));
                }
                tracing::debug!(items = items.len(), tokens, "evidence");
            }
            Event::ArchitectStarted { .. } => self.enter("plan", ""),
            // A plan that was all that was wanted is the result, and goes where results go.
            Event::PlanCreated { plan, .. } | Event::PlanRevised { plan, .. }
                if !self.plan_only =>
            {
                self.say(plan_text(plan).trim_end());
            }
            Event::PlanRefused { error }
            | Event::DraftRefused { error }
            | Event::AnswerRefused { error } => {
                self.say(&format!(
                    "  {} {}",
                    self.style(AnsiColor::Yellow, "answer refused:"),
                    harmless(&error.to_string())
                ));
            }
            Event::EditorStarted { iteration } => self.enter(&format!("edit {iteration}"), ""),
            Event::IntentDecided { intent: Intent::Answer, reason }
                if *reason != IntentBy::Flag =>
            {
                self.say("taken for a question; with --force-execute it is done");
            }
            Event::PatchRefused { reasons, .. } => {
                for reason in reasons {
                    let title = self.style(AnsiColor::Yellow, "patch refused, nothing written:");
                    self.say(&format!(
                        "  {title}\n    {}",
                        reason.to_string().trim_end().replace('\n', "\n    ")
                    ));
                }
            }
            Event::PatchStaged { files, repairs, .. } => {
                self.staged = self.files_text(files) + &tolerated(repairs);
            }
            Event::PatchApplied { .. } => {
                let staged = std::mem::take(&mut self.staged);
                self.say(staged.trim_end());
            }
            Event::CommitSettled { patch, outcome, left } => {
                self.say(&super::settled(patch, *outcome, left));
            }
            Event::ApprovalDenied { action, why, .. } => {
                self.say(&format!("  {} {action}: {why}", self.style(AnsiColor::Red, "denied:")));
            }
            Event::VerifyStarted { commands, .. } if !self.lanes.is_empty() => {
                self.enter(&format!("verify {}", self.lanes.together()), "");
                tracing::debug!(commands = commands.len(), "of all lanes, and of the project");
            }
            Event::VerifyStarted { commands, derived, .. } => {
                let how = if *derived { "derived from the project" } else { "" };
                self.enter("verify", how);
                if commands.is_empty() {
                    self.say("  there is no command that could show whether it works");
                }
            }
            Event::VerificationRun { findings, .. } => {
                self.show_check(&envelope.event);
                self.show_walls(findings.as_ref());
            }
            Event::RoleCrashed { role } => {
                self.say(&format!(
                    "  {} the {} died; a new one takes over",
                    self.style(AnsiColor::Red, "!"),
                    role.name()
                ));
            }
            event => {
                for line in said_by_models(event) {
                    self.say(&line);
                }
                self.team_event(event);
            }
        }
    }

    /// Remembers how to get back to where the run began.
    fn note_start(&mut self, event: &Event) {
        if let Event::RunStarted { .. } = event {
            self.start = None;
        }
        if let Event::CheckpointCreated { checkpoint, .. } = event {
            self.start.get_or_insert(*checkpoint);
        }
    }

    /// Says how far commands are confined, once as long as it stays so.
    fn tell_confined(&mut self, level: &str) {
        if self.confined != level {
            level.clone_into(&mut self.confined);
            self.say(&format!("  {level}"));
        }
    }

    fn files_text(&self, files: &[StagedFile]) -> String {
        let mut text = String::new();
        for file in files {
            writeln!(text, "  {}", file_line(file, self.paint)).ok();
        }
        text
    }

    fn note_tolerated(&mut self, lane: Option<LaneId>, event: &Event) {
        if let Event::PatchStaged { repairs, .. } = event {
            self.tolerated.insert(lane, tolerated(repairs));
        }
    }

    fn show_check(&self, event: &Event) {
        let Event::VerificationRun { command, baseline, outcome, exit, elapsed_ms, .. } = event
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
        self.say(&format!("  `{}` {}{exit}{when}", harmless(command), self.style(colour, word)));
    }

    /// Says how a command was confined where it was not wholly, what it changed and was not kept, and what is not shown of it.
    fn show_walls(&self, findings: Option<&Findings>) {
        let walls = told::walls(findings).trim_start_matches(", ");
        if !walls.is_empty() {
            self.say(&format!("    {}", self.style(AnsiColor::Yellow, walls)));
        }
        let discarded = findings.map(|it| it.discarded.as_slice()).unwrap_or_default();
        if let [first, rest @ ..] = discarded {
            let more =
                if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            self.say(&format!("    it changed {}{more}, which is not kept", harmless(first)));
        }
        if let Some(masked) = told::masked(findings) {
            self.say(&format!("    {masked}"));
        }
    }

    /// Adds up what a call used, and tells once why it failed.
    fn count(&mut self, event: &Event, lane: Option<LaneId>) {
        let Event::ModelReply {
            role,
            outcome,
            message,
            error,
            usage,
            cost_nano_usd: cost,
            avoidable_misses,
            ..
        } = event
        else {
            return;
        };
        let tally = &mut self.tally;
        tally.calls += 1;
        match usage {
            Some(usage) => {
                tally.prompt += usage.prompt;
                tally.hit += usage.hit;
                tally.output += usage.output;
                let [new, cached] = tally.roles.entry(role.as_str()).or_default();
                *new += usage.prompt.saturating_sub(usage.hit);
                *cached += usage.hit;
                // What lies in the last unit of a prompt is kept by no cache, because the unit was not full.
                let in_unit = (*avoidable_misses).min(CACHE_UNIT_TOKENS - 1);
                tally.in_units += in_unit;
                tally.lost += avoidable_misses - in_unit;
            }
            None => tally.usage_unknown += 1,
        }
        match cost {
            Some(cost) => tally.cost = Some(tally.cost.unwrap_or_default() + *cost),
            None => tally.cost_unknown = true,
        }
        if outcome != "ok" {
            if !self.streamed.is_empty() {
                super::line("");
                self.streamed.clear();
            }
            // What ends the request is told when it ends.
            let is_told_later = lane.is_none() && error.as_ref().is_some_and(ModelError::is_final);
            if *error != self.last_failure && !is_told_later {
                error.clone_into(&mut self.last_failure);
                let message = message.as_ref().map(ToString::to_string).unwrap_or_default();
                let title = self.style(AnsiColor::Yellow, "a call failed:");
                let label = lane.map_or("  ".to_owned(), |lane| labelled(lane, self.paint));
                self.say(&format!("{label}{title} {}", harmless(&message)));
            }
        }
    }

    /// A piece of an answer: shown at once when it is what the user asked for, else only counted.
    fn hear(&mut self, role: AgentRole, text: &str) {
        self.heard += text.len();
        self.waiting = None;
        if role == AgentRole::Analysis && self.streams {
            self.rest();
            super::text(&harmless_text(text));
            self.streamed.push_str(text);
        }
    }

    async fn ask(&mut self, question: Question) {
        if self.attendance == Attendance::Unattended {
            // There is no terminal: dropping the question says so.
            return;
        }
        let tolerated = self.tolerated.get(&question.scope.lane()).cloned().unwrap_or_default();
        let (shown, asks, offers) = match &question.what {
            Proposal::Patch(changes) => {
                (changes_as_text(changes, self.paint) + &tolerated, "Apply it?", Offers::Once)
            }
            Proposal::Command(command) => {
                (format!("  $ {}\n", harmless(command)), "Run it?", Offers::Always)
            }
            Proposal::Network(command) => {
                (format!("  $ {}\n", harmless(command)), "Run it again with it?", Offers::Once)
            }
        };
        let who = match question.scope.lane() {
            Some(lane) => self.style(AnsiColor::Yellow, &format!("lane {lane} asks: ")),
            None => String::new(),
        };
        self.rest();
        let more =
            if offers == Offers::Always { "; always, no: WHY, show" } else { "; no: WHY, show" };
        let asks = format!("{who}{}. {asks} [y/N{more}] ", question.why);
        ask(OnScreen { shown, asks, offers }, question.answer).await;
    }

    /// Lets the user answer a model in words.
    async fn ask_for_words(&mut self, question: OpenQuestion) {
        if self.attendance == Attendance::Unattended {
            // There is no terminal: dropping the question says so.
            return;
        }
        self.rest();
        let text = harmless(&question.text);
        answer_in_words(
            &format!("{text}\nYour answer (empty: the model decides): "),
            question.answer,
        )
        .await;
    }

    /// What it used, in two lines that fit a narrow terminal.
    fn summary(&self, spent_calls: u64, session: &str) -> String {
        let tally = &self.tally;
        let calls = tally.calls.max(spent_calls);
        let unknown = tally.usage_unknown + (calls - tally.calls);
        let without =
            if unknown > 0 { format!(" ({unknown} without usage)") } else { String::new() };
        let cost = match (tally.cost, tally.cost_unknown || unknown > 0) {
            (Some(cost), false) if cost.to_string().starts_with('<') => cost.to_string(),
            (Some(cost), false) => format!("about {cost}"),
            (Some(cost), true) => format!("more than {cost}"),
            (None, _) => "cost unknown".to_owned(),
        };
        let plural = if calls == 1 { "" } else { "s" };
        let (hit, miss) = (tally.hit, tally.prompt - tally.hit);
        let new = miss.saturating_sub(tally.in_units + tally.lost);
        let seconds = self.started.elapsed().as_secs_f64();
        format!(
            "{calls} call{plural}{without} · {} tokens in, {} out · {cost} · {seconds:.1} s\n\
             cache: {hit} hit, {miss} miss ({new} new, {} in part-filled units, {} avoidable)\n\
             {}session {session}",
            tally.prompt,
            tally.output,
            tally.in_units,
            tally.lost,
            tally.by_role()
        )
    }
}

impl View for Terminal {
    fn attendance(&self) -> Attendance {
        self.attendance
    }

    fn signal(&mut self, signal: Signal) -> BoxFuture<'_, ()> {
        match signal {
            Signal::Event(envelope) => self.event(&envelope),
            Signal::Text(speaker, text) => match speaker.scope.lane() {
                Some(lane) => self.lanes.hear(lane, text.len()),
                None => self.hear(speaker.role, &text),
            },
            Signal::Reasoning(speaker, text) => match speaker.scope.lane() {
                Some(lane) => self.lanes.hear(lane, text.len()),
                None => self.heard += text.len(),
            },
            Signal::Waiting(scope, why) => match scope.lane() {
                Some(lane) => self.lanes.wait(lane, why.into_owned()),
                None => self.waiting = Some(harmless(&why)),
            },
            Signal::Confined(level) => self.tell_confined(&level.to_string()),
            Signal::Question(question) => return Box::pin(self.ask(question)),
            Signal::Asked(question) => return Box::pin(self.ask_for_words(question)),
        }
        Box::pin(std::future::ready(()))
    }

    fn earlier(&mut self, lane: Option<LaneId>, event: &Event) {
        self.lanes.event(lane, event, self.started.elapsed());
        self.note_start(event);
        self.count(event, lane);
    }

    fn tick(&mut self) {
        let mut line = format!("{} · {:.0} s", self.phase, self.since.elapsed().as_secs_f64());
        if let Some(why) = &self.waiting {
            write!(line, " · {why}").ok();
        } else if self.heard > 0 {
            write!(line, " · about {} tokens", self.heard / 4).ok();
        }
        if let Some(cost) = self.tally.cost {
            write!(line, " · {cost} so far").ok();
        }
        if !self.moves || !self.streamed.is_empty() {
            return;
        }
        let rows = self.rows().join("\n");
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{spinner} {wide_msg}\n{prefix}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_message(line);
        bar.set_prefix(rows);
        bar.tick();
        to_the_left();
    }

    fn note(&mut self, text: &str) {
        self.rest();
        if !self.streamed.is_empty() {
            super::line("");
        }
        self.say(text);
    }

    fn outcome(&mut self, outcome: &Outcome, session: &str) {
        self.rest();
        if let (true, Some(plan)) = (self.plan_only, &outcome.plan) {
            super::line(plan_text(plan).trim_end());
        }
        if let Some(answer) = &outcome.answer {
            let streamed = std::mem::take(&mut self.streamed);
            let missing = if streamed == *answer { "\n".to_owned() } else { format!("{answer}\n") };
            super::text(&harmless_text(&missing));
        }
        let line = match &outcome.delivery {
            Delivery::Delivered { verified: verified @ (Verified::Proven | Verified::Passed) } => {
                format!("{}, {verified}", self.style(AnsiColor::Green, "✓ delivered"))
            }
            Delivery::Delivered { verified: verified @ Verified::Unverified(_) } => {
                let verified = harmless(&verified.to_string());
                self.style(AnsiColor::Yellow, &format!("✓ delivered, {verified}"))
            }
            Delivery::Delivered { verified: Verified::NotNeeded } => String::new(),
            Delivery::NoEditNeeded { reason } => {
                format!(
                    "{} {}",
                    self.style(AnsiColor::Green, "✓ nothing to edit:"),
                    harmless(&reason.to_string())
                )
            }
            Delivery::NeedsWork { .. }
            | Delivery::Denied { .. }
            | Delivery::Cancelled
            | Delivery::BudgetExhausted { .. }
            | Delivery::Failed { .. } => self.style(AnsiColor::Red, "✗ not delivered"),
        };
        if !line.is_empty() {
            self.say(&line);
        }
        for Criterion { criterion, shown_by } in criteria(outcome.plan.as_ref(), &outcome.delivery)
        {
            let shown =
                shown_by.map_or("not checked".to_owned(), |it| format!("`{}`", harmless(it)));
            self.say(&format!("  accept: {} — {shown}", harmless(criterion)));
        }
        let done =
            matches!(outcome.delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        if !outcome.changes.is_empty() && !done {
            self.say("  the changes made so far are in the workspace");
        }
        for line in self.lanes.ending(&outcome.lanes, &outcome.kept, self.paint) {
            self.say(&format!("  {line}"));
        }
        for left in &outcome.put_aside {
            self.say(&format!("  put aside, not applied: the changes of {}", left.path));
        }
        for rollback in &outcome.rollbacks {
            let way = match (rollback.to, self.start) {
                (Target::Start, Some(checkpoint)) => format!("rewind {checkpoint}"),
                (Target::Start | Target::Best, _) => format!("apply {}", rollback.patch),
            };
            self.say(&format!("  back to {}: deepseek {way}", rollback.to));
        }
        self.say(&self.summary(outcome.spent.calls, session));
    }
}

/// Where a diff was read tolerantly; what happened several times is told once.
fn tolerated(repairs: &[Wording]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for repair in repairs {
        let line = format!("  read tolerantly: {}\n", harmless(&repair.to_string()));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// Leaves the cursor at the left, so that the `^C` of a terminal does not begin a line that nobody knows of.
fn to_the_left() {
    write!(io::stderr(), "\r").ok();
}

/// What came of a check.
pub(super) const fn check_in_words(outcome: CheckOutcome) -> (AnsiColor, &'static str) {
    match outcome {
        CheckOutcome::Passed => (AnsiColor::Green, "passed"),
        CheckOutcome::Flaky => (AnsiColor::Yellow, "flaky: failed, then passed"),
        CheckOutcome::Unverified => (AnsiColor::Yellow, "not verified"),
        CheckOutcome::Environment => (AnsiColor::Yellow, "cannot run here"),
        CheckOutcome::PreExisting => (AnsiColor::Yellow, "fails as before"),
        CheckOutcome::Infrastructure => (AnsiColor::Red, "the machine failed"),
        CheckOutcome::TimedOut => (AnsiColor::Red, "timed out"),
        CheckOutcome::CommandMissing => (AnsiColor::Red, "not installed"),
        CheckOutcome::PolicyDenied => (AnsiColor::Red, "denied"),
        CheckOutcome::CodeFailure => (AnsiColor::Red, "failed"),
    }
}

/// What models say beside plans and diffs, in lines.
fn said_by_models(event: &Event) -> Vec<String> {
    let who = |role: &AgentRole| match role {
        AgentRole::Architect => "the Architect",
        AgentRole::Editor => "the Editor",
        AgentRole::LanePlanner => "the lane planner",
        AgentRole::Analysis | AgentRole::Intent => "the model",
    };
    if let Event::Looked { role, looks, refused, .. } = event {
        // What was tried is told when it ends.
        let looks = looks.iter().filter(|look| !matches!(look, Look::Run { .. }));
        let looks: Vec<String> = looks.map(|look| harmless(&look.to_string())).collect();
        let at = || format!("  {} looks at {}", who(role), looks.join(", "));
        let refused = refused.iter().map(|line| format!("  {}", harmless(&line.to_string())));
        return (!looks.is_empty()).then(at).into_iter().chain(refused).collect();
    }
    if let Event::ToolResult { role, tool, arguments, ok, .. } = event {
        let failed = if *ok { "" } else { " (in vain)" };
        return vec![format!(
            "  {} calls {} {}{failed}",
            who(role),
            harmless(tool),
            harmless(arguments)
        )];
    }
    if let Event::UserAnswered { answer: None } = event {
        return vec![
            "  no user is there to answer: the model chooses, and says what it assumed".to_owned(),
        ];
    }
    if let Event::RouterDecision { selected_model, assessment, .. } = event {
        let is_own = assessment.choice != Choice::MaxThink;
        let line = || format!("  {}", harmless(&routed(selected_model, assessment)));
        return (!is_own).then(line).into_iter().collect();
    }
    if let Event::RouterEscalation { from, to, .. } = event {
        return vec![format!("  {from} gave no usable answer; {to} is asked")];
    }
    if let Event::CommandTried { role, command, exit, .. } = event {
        return vec![format!("  {} tries `{}`: {}", who(role), harmless(command), harmless(exit))];
    }
    if let Event::FilesNeeded { files } = event {
        let line =
            |file: &NeededFile| format!("  the plan lacks {}: {}", file.path, harmless(&file.why));
        return files.iter().map(line).collect();
    }
    if let Event::EditorDone { reason } = event {
        return vec![format!("  the Editor has nothing to add: {}", harmless(&reason.to_string()))];
    }
    Vec::new()
}

/// As [`harmless`], for text of several lines.
pub(crate) fn harmless_text(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

fn plan_text(plan: &Plan) -> String {
    let mut text = String::new();
    for (at, step) in plan.steps.iter().enumerate() {
        writeln!(text, "  {}. {}", at + 1, harmless(step)).ok();
    }
    for file in &plan.files {
        let lines: Vec<String> =
            file.lines.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        let colon = if lines.is_empty() { "" } else { ":" };
        let (path, lines) = (&file.path, lines.join(","));
        writeln!(text, "  {path}{colon}{lines} — {}", harmless(&file.intent)).ok();
    }
    for look in &plan.show {
        writeln!(text, "  {look} — to read").ok();
    }
    for command in &plan.verify {
        writeln!(text, "  verify: {}", harmless(command)).ok();
    }
    for Criterion { criterion, .. } in plan.criteria() {
        writeln!(text, "  accept: {}", harmless(criterion)).ok();
    }
    text
}
