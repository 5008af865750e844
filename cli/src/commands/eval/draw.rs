//! `deepseek eval draw`: draws cases from the history of the workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use eval::DrawOptions;
use front::error::{CliError, CliErrorKind};
use tools::count::counted;
use tools::ids::short_id;
use tools::regular;

use super::progress::sink;
use super::shown;
use super::site::{EvalSite, failed};
use crate::flags::OutputFormat;
use crate::render;

/// The largest file with texts of issues, in bytes.
const MAX_ISSUES_BYTES: u64 = 64 << 20;

/// Draw cases from the history.
#[derive(Debug, Args)]
pub(super) struct DrawArgs {
    /// The commits to draw from, in the syntax of `git log`, for example v1.0..main.
    #[arg(value_name = "RANGE", default_value = "HEAD")]
    range: String,
    /// Number of cases [default: eval.cases].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    count: Option<usize>,
    /// The seed of the order in which commits are looked at.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only commits that change code at this path or below it; can be repeated.
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// Only commits whose message contains this text.
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    /// A JSON object with what is asked instead of a commit's message: keys are starts of commit ids, or #NUMBER.
    #[arg(long, value_name = "FILE")]
    issues: Option<PathBuf>,
    /// The command that runs hidden tests, instead of one derived from the project; can be repeated.
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
}

/// Parses a number of cases.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("not a number".to_owned()),
    }
}

/// Runs the command.
pub(super) async fn draw(site: &EvalSite<'_>, args: &DrawArgs) -> Result<(), CliError> {
    let workspace = site.around.workspace(site.global)?;
    let issues = args.issues.as_ref().map(|file| read_issues(&site.around.cwd.join(file)));
    let place = site.fresh();
    let evaluation = site.open(place.clone(), Some(workspace), args.check.clone()).await?;
    let options = DrawOptions {
        range: args.range.clone(),
        count: args.count.unwrap_or(evaluation.config().eval.cases),
        seed: args.seed,
        paths: args.path.clone(),
        grep: args.grep.clone(),
        max_files: evaluation.config().eval.max_files,
        issues: issues.transpose()?.unwrap_or_default(),
    };
    let output = site.global.output;
    let drawn = evaluation.draw_commits(&options, &sink(output)).await;
    drawn.map_err(|error| failed(&error))?;
    let Some(report) = evaluation.report() else { return Ok(()) };
    if output != OutputFormat::Text {
        render::json_line(&shown::as_json(&report));
        return Ok(());
    }
    let cases = counted(report.cases.len() as u64, "case");
    let left = counted(report.left_out.len() as u64, "commit");
    render::print_line(&format!(
        "{cases} drawn; {left} left out, {} not looked at · evaluation {}",
        report.not_looked_at,
        short_id(place.id())
    ));
    for judged in &report.cases {
        let case = &judged.case;
        render::print_line(&render::harmless(&format!("  {}  {}", case.id, case.title)));
    }
    if !report.cases.is_empty() {
        render::print_line("next: `deepseek eval run --budget-usd 1`");
    }
    Ok(())
}

/// Reads the texts of issues.
fn read_issues(file: &std::path::Path) -> Result<BTreeMap<String, String>, CliError> {
    let unusable = |why: String| {
        let error = format!("cannot use {}: {why}", file.display());
        CliError::new(CliErrorKind::Usage, error).hint(
            "it needs one JSON object of texts, such as {\"1a2b3c4d\": \"…\", \"#12\": \"…\"}",
        )
    };
    let text = regular::read_text(file, MAX_ISSUES_BYTES).map_err(|it| unusable(it.to_string()))?;
    serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))
}
