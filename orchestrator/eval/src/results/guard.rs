//! Compares what a build makes of recorded answers with what an earlier build made of them. Pure, but for reading the records.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::answers::RESULT;
use crate::results::compare::EvalReport;
use crate::results::record::{AttemptResult, TestVerdict};

/// By how much the prompt tokens of all cases together may grow.
const TOLERANCE: f64 = 0.02;

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
    /// Compares recorded results with those of a report's only variant.
    pub fn of(recorded: Vec<(String, AttemptResult)>, report: &EvalReport) -> Self {
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
        let prompt =
            |result: &AttemptResult| result.used.new + result.used.cached + result.used.unknown;
        let pairs =
            cases.iter().filter_map(|it| Some((prompt(&it.recorded), prompt(it.now.as_ref()?))));
        let prompt_tokens = pairs.fold((0, 0), |(a, b), (x, y)| (a + x, b + y));
        let mut worse = Vec::new();
        if is_more(prompt_tokens) {
            let (before, now) = prompt_tokens;
            worse.push(format!("{now} prompt tokens, {before} recorded"));
        }
        Self { cases, prompt_tokens, worse }
    }

    /// Writes the results of now over the recorded ones in `dir`. Blocks.
    pub fn accept(&self, dir: &Path) -> io::Result<()> {
        for case in &self.cases {
            let Some(now) = &case.now else { continue };
            let text = serde_json::to_string_pretty(now)?;
            fs::write(dir.join(&case.case).join(RESULT), text + "\n")?;
        }
        Ok(())
    }

    /// Returns true if nothing got worse.
    pub fn is_passed(&self) -> bool {
        self.worse.is_empty() && self.cases.iter().all(|it| it.worse.is_empty())
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn is_more((before, now): (u64, u64)) -> bool {
    now as f64 > before as f64 * (1.0 + TOLERANCE)
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
    let rank = |result: &AttemptResult| match result.verified() {
        "proven" => 3,
        "passed" => 2,
        "not verified" => 1,
        _ => 0,
    };
    if rank(now) < rank(recorded) {
        worse.push(format!("{}; {} when recorded", now.verified(), recorded.verified()));
    }
    if now.used.calls > recorded.used.calls {
        worse.push(format!("{} calls, {} when recorded", now.used.calls, recorded.used.calls));
    }
    worse
}

/// Reads the recorded results below `dir`, each with the id of its case: the path of its directory. Blocks.
pub fn recorded_results(dir: &Path) -> io::Result<Vec<(String, AttemptResult)>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(dir.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if entry.file_name() == RESULT {
                let text = fs::read(entry.path())?;
                found.push((below.display().to_string(), serde_json::from_slice(&text)?));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}
