//! Compares what a build makes of recorded answers with what an earlier build made of them. Pure.

use serde::Serialize;

use crate::results::compare::EvalReport;
use crate::results::record::{AttemptResult, TestVerdict};

/// A recorded case and what a build made of it now.
#[derive(Debug, Clone, Serialize)]
pub struct GuardedCase {
    /// The id of the case.
    pub case: String,
    /// The recorded result.
    pub recorded: AttemptResult,
    /// The result now; `None` if there is none.
    pub now: Option<AttemptResult>,
    /// What got worse; empty if nothing did.
    pub worse: Vec<String>,
}

/// The comparison of all recorded cases.
#[derive(Debug, Clone, Serialize)]
pub struct GuardReport {
    /// The cases.
    pub cases: Vec<GuardedCase>,
    /// Prompt tokens of all cases that have both results: recorded, and now.
    pub prompt_tokens: (u64, u64),
    /// What got worse over all cases.
    pub worse: Vec<String>,
}

impl GuardReport {
    /// Compares recorded results with those of a report's only variant. The prompt tokens of all cases together may grow by the
    /// share `growth`.
    pub fn of(recorded: Vec<(String, AttemptResult)>, report: &EvalReport, growth: f64) -> Self {
        let now = |id: &str| {
            let judged = report.cases.iter().find(|judged| judged.case.id == id)?;
            judged.rows.first()?.attempts.last().cloned()
        };
        let compared = |(case, recorded): (String, AttemptResult)| {
            let now = now(&case);
            let worse = worse(&recorded, now.as_ref());
            GuardedCase { case, recorded, now, worse }
        };
        let cases: Vec<GuardedCase> = recorded.into_iter().map(compared).collect();
        let prompt = |result: &AttemptResult| result.used.prompt();
        let pairs =
            cases.iter().filter_map(|it| Some((prompt(&it.recorded), prompt(it.now.as_ref()?))));
        let prompt_tokens = pairs.fold((0, 0), |(a, b), (x, y)| (a + x, b + y));
        let mut worse = Vec::new();
        if is_more(prompt_tokens, growth) {
            let (before, now) = prompt_tokens;
            worse.push(format!("{now} prompt tokens, {before} recorded"));
        }
        Self { cases, prompt_tokens, worse }
    }

    /// Returns true if nothing got worse.
    pub fn is_passed(&self) -> bool {
        self.worse.is_empty() && self.cases.iter().all(|it| it.worse.is_empty())
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn is_more((before, now): (u64, u64), growth: f64) -> bool {
    now as f64 > before as f64 * (1.0 + growth)
}

/// Returns what got worse in a case.
fn worse(recorded: &AttemptResult, now: Option<&AttemptResult>) -> Vec<String> {
    let Some(now) = now else { return vec!["there is no result".to_owned()] };
    let mut worse = Vec::new();
    let says = |verdict: &TestVerdict| match verdict {
        TestVerdict::Passed => "passed".to_owned(),
        TestVerdict::Failed(why) => format!("failed: {why}"),
        TestVerdict::CannotRun(why) => format!("cannot run: {why}"),
    };
    if recorded.verdict == TestVerdict::Passed && now.verdict != TestVerdict::Passed {
        worse.push(format!("{}; passed when recorded", says(&now.verdict)));
    }
    if now.refusals > recorded.refusals {
        worse
            .push(format!("{} answers refused, {} when recorded", now.refusals, recorded.refusals));
    }
    let (claims, claimed) = (now.own_verdict(), recorded.own_verdict());
    if claims.strength() < claimed.strength() {
        worse.push(format!("{}; {} when recorded", claims.words(), claimed.words()));
    }
    if now.used.calls > recorded.used.calls {
        worse.push(format!("{} calls, {} when recorded", now.used.calls, recorded.used.calls));
    }
    worse
}
