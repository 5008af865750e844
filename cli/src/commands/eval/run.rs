//! `deepseek eval run`: has variants work on the cases of an evaluation, and judges the results.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use eval::answers::{AnswerDesk, AnswersFrom};
use eval::results::record::CaseOrigin;
use eval::{EvalError, Evaluation, RunLimits};
use front::error::CliError;
use model::price::Usd;

use super::draw::at_least_one;
use super::progress::sink;
use super::shown;
use super::site::{EvalSite, failed};
use super::variants::VariantArgs;
use crate::render;

/// How variants work.
#[derive(Debug, Args)]
pub(super) struct WorkArgs {
    #[command(flatten)]
    pub(super) variants: VariantArgs,
    /// Number of attempts at a time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub(super) parallel: usize,
    /// Write each request to this directory and wait for its reply: a person or another model answers. `NNN-ROLE.request.md` is
    /// answered by `NNN-ROLE.reply.md`.
    #[arg(long, value_name = "DIR")]
    pub(super) answers: Option<PathBuf>,
}

/// Have variants work on the cases.
#[derive(Debug, Args)]
pub(super) struct EvalRunArgs {
    /// The evaluation: its id, the start or end of it, or `latest`, the latest of this workspace if it has any.
    #[arg(value_name = "EVALUATION", default_value = "latest")]
    id: String,
    #[command(flatten)]
    work: WorkArgs,
}

/// Runs the command.
pub(super) async fn run(site: &EvalSite<'_>, args: &EvalRunArgs) -> Result<(), CliError> {
    let place = site.called(&args.id)?;
    let report = EvalSite::report(&place)?;
    let is_of_commits = |origin: &CaseOrigin| matches!(origin, CaseOrigin::Commit { .. });
    let of_commits = report.cases.iter().any(|judged| is_of_commits(&judged.case.origin));
    if of_commits && report.cases.iter().any(|judged| judged.ground.is_none()) {
        return Err(failed(&EvalError::HalfDrawn));
    }
    let workspace = of_commits.then(|| PathBuf::from(&report.from));
    let evaluation = site.open(place, workspace, Vec::new()).await?;
    work(site, &evaluation, &args.work).await
}

/// Checks the cases that have not been checked, has variants work on those that hold, and shows the results.
pub(super) async fn work(
    site: &EvalSite<'_>,
    evaluation: &Arc<Evaluation>,
    args: &WorkArgs,
) -> Result<(), CliError> {
    let checked = evaluation.check(args.parallel, &sink(site.global.output)).await;
    checked.map_err(|error| failed(&error))?;
    let names = args.variants.enter(evaluation, site.around, site.global).await?;
    let config = evaluation.config();
    let answers = args.answers.as_ref().map(|dir| {
        let dir = site.around.cwd.join(dir);
        let waiting = |path: &Path| {
            render::warn(&render::harmless(&format!("waits for an answer: {}", path.display())));
        };
        Arc::new(AnswerDesk::new(dir, AnswersFrom::Outside, config, Arc::new(waiting)))
    });
    let budget = site.global.budget_usd.map(Usd::from_dollars);
    let limits = RunLimits { parallel: args.parallel, budget };
    let output = site.global.output;
    let ran = evaluation.run(&names, limits, answers, &sink(output)).await;
    if let Some(report) = evaluation.report() {
        shown::print(&report, output);
    }
    ran.map_err(|error| failed(&error))
}
