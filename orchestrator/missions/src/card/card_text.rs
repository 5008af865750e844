//! Formats cards and reports for people. Pure.

use std::fmt::{self, Display};

use checks::wording::short_number;
use facts::amounts::{Allowance, Amount};
use facts::lane_id::LaneId;
use tools::count::counted;

use crate::card::{
    Capabilities, Card, CardLimits, Coverage, Estimate, EstimateRange, Group, SealedCard, SubTask,
};
use crate::research::finding::{Confidence, Observation};

/// A range, shown as one number if both ends are equal.
struct Span(EstimateRange);

impl Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((least, most)) = self;
        let (least, most) = (short_number(*least), short_number(*most));
        if least == most { f.write_str(&least) } else { write!(f, "{least} to {most}") }
    }
}

impl Span {
    /// Formats the range with its noun.
    fn of(&self, noun: &str) -> String {
        let plural = if self.0 == (1, 1) { "" } else { "s" };
        format!("{self} {noun}{plural}")
    }
}

/// Formats a duration, in minutes from two minutes on.
fn lasting((least, most): EstimateRange) -> String {
    if most < 120 { format!("{least} to {most} s") } else { format!("up to {} min", most / 60) }
}

fn dollars(nanos: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
    let dollars = nanos as f64 / 1e9;
    format!("${dollars:.4}")
}

/// Formats limits, and how much of each is spent.
pub(crate) fn limits(limits: &CardLimits, spent: Option<Amount>) -> String {
    let CardLimits { budget, wall_seconds, max_subagents } = limits;
    let Allowance { usd, tokens, calls, reasoning } = budget;
    let of = |limit: String, spent: Option<String>| match spent {
        Some(spent) => format!("{limit} ({spent} spent so far)"),
        None => limit,
    };
    let seconds = (*wall_seconds > 0).then(|| format!("{wall_seconds} s"));
    let parts = [
        usd.map(|usd| of(usd.in_full(), spent.map(|it| it.nano_usd.in_full()))),
        tokens.map(|most| of(counted(most, "token"), spent.map(|it| it.tokens.to_string()))),
        calls.map(|most| of(counted(most, "call"), spent.map(|it| it.calls.to_string()))),
        reasoning.map(|most| {
            let limit = format!("{} for reasoning", counted(most, "token"));
            of(limit, spent.map(|it| it.reasoning.to_string()))
        }),
        seconds,
        Some(format!("{max_subagents} at once")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl Display for SealedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Hash     {}", self.card(), self.hash())
    }
}

/// The card without its hash; every line ends with a line break.
impl Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Mission card, version {}", self.version)?;
        writeln!(f, "Goal: {}\n", self.goal)?;
        f.write_str("Findings\n")?;
        self.group(f, None, 1)?;
        let grouped = |finding: &&Observation| {
            self.groups.iter().any(|group| group.findings.contains(&finding.id))
        };
        let others: Vec<&Observation> = self.findings.iter().filter(|it| !grouped(it)).collect();
        let depth = if self.groups.is_empty() { 1 } else { 2 };
        if depth > 1 && !others.is_empty() {
            f.write_str("  other\n")?;
        }
        // Unchecked findings that the plan does not rest on would only hide the tasks.
        let (told, left_out): (Vec<&Observation>, Vec<&Observation>) = others
            .into_iter()
            .partition(|it| depth == 1 || it.confidence() != Confidence::Unchecked);
        for finding in told {
            line(f, finding, depth)?;
        }
        if !left_out.is_empty() {
            writeln!(f, "    {} more, not checked; see `--output json`", left_out.len())?;
        }
        if self.findings.is_empty() {
            f.write_str("  none\n")?;
        }
        f.write_str("\nTasks\n")?;
        for task in &self.subtasks {
            task_lines(f, task)?;
        }
        if !self.changes.is_empty() {
            writeln!(f, "\nChanges since version {}", self.version.saturating_sub(1))?;
            for change in &self.changes {
                writeln!(f, "  {change}")?;
            }
        }
        writeln!(f, "\nMay      {}", self.may())?;
        writeln!(f, "Models   {}", self.carried_out_by())?;
        writeln!(f, "Estimate {}", self.estimated())?;
        writeln!(f, "Limits   {}", self.limited())?;
        writeln!(f, "Read     {}", self.covered())?;
        if self.cut_by.is_some() {
            f.write_str("The budget ended the research early.\n")?;
        }
        Ok(())
    }
}

impl Card {
    /// Lists what the mission may do.
    pub fn may(&self) -> String {
        let Capabilities { write, shell, network } = self.capabilities;
        let may = [(write, "write"), (shell, "run commands"), (network, "use the network")];
        let may: Vec<&str> = may.iter().filter(|(may, _)| *may).map(|(_, what)| *what).collect();
        if may.is_empty() { "only read".to_owned() } else { may.join(", ") }
    }

    /// Lists the models that work on it.
    pub fn carried_out_by(&self) -> String {
        self.models().into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Formats the limits, and how much of each the research has spent.
    pub fn limited(&self) -> String {
        limits(&self.limits, Some(self.spent))
    }

    /// Formats the estimated cost.
    pub fn estimated(&self) -> String {
        let Estimate { calls, tokens, nano_usd, wall_seconds } = self.estimate;
        let money =
            nano_usd.map(|(least, most)| format!("{} to {}", dollars(least), dollars(most)));
        let parts = [
            Some(Span(calls).of("call")),
            Some(Span(tokens).of("token")),
            money,
            Some(lasting(wall_seconds)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Formats how much was read for the card.
    pub fn covered(&self) -> String {
        let Coverage { files_seen, files_total, bytes_seen, bytes_total } = self.coverage;
        let share = bytes_seen.saturating_mul(100) / bytes_total.max(1);
        format!("{files_seen} of {}, {share} % of the text", counted(files_total, "file"))
    }

    /// Formats the actual cost next to the estimate, and that of the whole mission.
    pub fn receipt(&self, spent: Amount) -> String {
        let Estimate { calls, tokens, nano_usd, .. } = self.estimate;
        let whole = self.spent.plus(spent);
        let money = nano_usd.map_or_else(String::new, |(least, most)| {
            let spent = dollars(spent.nano_usd.nanos());
            format!(", {spent} (estimated {} to {})", dollars(least), dollars(most))
        });
        format!(
            "{} (estimated {}), {} tokens (estimated {}){money}; with the research {}, {} tokens, {}",
            counted(spent.calls, "call"),
            Span(calls),
            short_number(spent.tokens),
            Span(tokens),
            counted(whole.calls, "call"),
            short_number(whole.tokens),
            dollars(whole.nano_usd.nanos()),
        )
    }

    fn group(&self, f: &mut fmt::Formatter<'_>, above: Option<u32>, depth: usize) -> fmt::Result {
        for Group { id, text, findings, .. } in self.groups.iter().filter(|it| it.above == above) {
            writeln!(f, "{:indent$}{text}", "", indent = depth * 2)?;
            for finding in self.findings.iter().filter(|it| findings.contains(&it.id)) {
                line(f, finding, depth + 1)?;
            }
            self.group(f, Some(*id), depth + 1)?;
        }
        Ok(())
    }
}

fn task_lines(f: &mut fmt::Formatter<'_>, task: &SubTask) -> fmt::Result {
    let SubTask { id, kind, title, goal, .. } = task;
    writeln!(f, "  {id} {}: {title}", kind.name())?;
    writeln!(f, "     {goal}")?;
    let mut list = |name: &str, items: Vec<String>| -> fmt::Result {
        if items.is_empty() { Ok(()) } else { writeln!(f, "     {name} {}", items.join(", ")) }
    };
    list("reads", task.reads.iter().map(ToString::to_string).collect())?;
    list("writes", task.writes.iter().map(ToString::to_string).collect())?;
    list("runs", task.commands.iter().map(|it| format!("`{it}`")).collect())?;
    list("expects", task.expected.iter().cloned().collect())?;
    list("accepted if:", task.acceptance.clone())?;
    list("after", task.after.iter().map(ToString::to_string).collect())
}

fn line(f: &mut fmt::Formatter<'_>, finding: &Observation, depth: usize) -> fmt::Result {
    let confidence = finding.confidence();
    let sure = match (confidence, finding.objection()) {
        (Confidence::High, _) => String::new(),
        (Confidence::Low, Some(why)) => format!(" ({}: {why})", confidence.name()),
        (Confidence::Low | Confidence::Unchecked, _) => format!(" ({})", confidence.name()),
    };
    let Observation { id, claim, evidence, .. } = finding;
    writeln!(f, "{:indent$}{id}. {claim} [{evidence}]{sure}", "", indent = depth * 2)
}

/// The result of a mission, with its cost next to the estimate.
pub struct MissionReport<'r> {
    /// The card that was carried out.
    pub card: &'r Card,
    /// Answers of the tasks that only read; `None` if there was no answer.
    pub answers: Vec<(LaneId, Option<String>)>,
    /// Numbers of findings whose lines have changed.
    pub stale: &'r [u32],
    /// The actual cost of the calls whose cost is known.
    pub spent: Amount,
    /// The most that the other calls can have cost.
    pub unknown: Amount,
}

impl Display for MissionReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { card, answers, stale, spent, unknown } = self;
        let title = |id: LaneId| card.task(id).map(|task| task.title.as_str()).unwrap_or_default();
        for (id, answer) in answers {
            let answer = answer.as_deref().unwrap_or("There was no answer.");
            writeln!(f, "## {id} {}\n\n{}\n", title(*id), answer.trim_end())?;
        }
        let criteria =
            card.subtasks.iter().flat_map(|task| task.acceptance.iter().map(|it| (task.id, it)));
        let criteria: Vec<String> =
            criteria.map(|(id, it)| format!("- {id}: {it} — not checked\n")).collect();
        if !criteria.is_empty() {
            writeln!(f, "Accepted if:\n{}", criteria.concat())?;
        }
        if !stale.is_empty() {
            let numbers: Vec<String> = stale.iter().map(ToString::to_string).collect();
            writeln!(f, "The lines of findings {} have changed since.\n", numbers.join(", "))?;
        }
        write!(f, "Receipt: {}", card.receipt(*spent))?;
        if unknown.calls > 0 {
            write!(f, "; not counting {} of unknown cost", counted(unknown.calls, "call"))?;
        }
        Ok(())
    }
}
