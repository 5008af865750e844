//! `deepseek eval guard`: judges a build on recorded answers.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use eval::answers::{AnswerDesk, AnswersFrom, accept_results, recorded_results};
use eval::results::guard::GuardReport;
use eval::{ExerciseOptions, RunLimits};
use front::error::{CliError, CliErrorKind};
use serde_json::json;
use tools::count::counted;

use super::draw::at_least_one;
use super::progress::sink;
use super::site::{EvalSite, failed};
use crate::flags::OutputFormat;
use crate::render;
use crate::surroundings::Surroundings;

/// Judge a build on recorded answers.
#[derive(Debug, Args)]
pub(super) struct GuardArgs {
    /// The directory with `LANGUAGE/exercises/practice/NAME`, and with the recorded answers in `answers/LANGUAGE/NAME`.
    dir: PathBuf,
    /// Judge this build of deepseek [default: this one].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Number of cases at a time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    parallel: usize,
    /// Take the results of this build as the recorded ones from now on.
    #[arg(long)]
    accept: bool,
}

/// Runs the command. The exit code is 1 if something got worse.
pub(super) async fn guard(site: &EvalSite<'_>, args: &GuardArgs) -> Result<ExitCode, CliError> {
    let dir = site.around.cwd.join(&args.dir);
    let dir = dir.canonicalize().unwrap_or(dir);
    let answers = dir.join("answers");
    let recorded = recorded_results(&answers).map_err(|error| {
        let error = format!("cannot read the recorded answers in {}: {error}", answers.display());
        CliError::new(CliErrorKind::Usage, error)
            .hint("`deepseek eval exercises DIR --answers DIR/answers` records them")
    })?;
    let place = site.fresh();
    let evaluation = site.open(place.clone(), None, Vec::new()).await?;
    let options = ExerciseOptions { dir, languages: Vec::new(), count: None, seed: 1, tries: 1 };
    let progress = sink(site.global.output);
    let program = match &args.program {
        Some(program) => site.around.cwd.join(program),
        None => Surroundings::program()?,
    };
    let ran = async {
        evaluation.draw_exercises(&options).await?;
        evaluation.check(args.parallel, &progress).await?;
        let name = evaluation.enter(&program, Vec::new()).await?;
        let desk = AnswerDesk::new(
            answers.clone(),
            AnswersFrom::Recorded,
            evaluation.config(),
            Arc::new(|_| {}),
        );
        let limits = RunLimits { parallel: args.parallel, budget: None };
        evaluation.run(&[name], limits, Some(Arc::new(desk)), &progress).await
    };
    ran.await.map_err(|error| failed(&error))?;
    let Some(report) = evaluation.report() else { return Ok(ExitCode::SUCCESS) };
    let compared = GuardReport::of(recorded, &report, evaluation.config().eval.guard_growth);
    print(&compared, site.global.output);
    if args.accept {
        accept_results(&answers, &compared).map_err(|error| {
            CliError::new(CliErrorKind::NotDelivered, format!("cannot write the results: {error}"))
        })?;
    }
    drop(evaluation);
    place.remove().ok();
    let is_passed = compared.is_passed() || args.accept;
    Ok(if is_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &GuardReport, output: OutputFormat) {
    if output != OutputFormat::Text {
        return render::json_line(&json!(report));
    }
    for case in &report.cases {
        for worse in &case.worse {
            render::print_line(&render::harmless(&format!("✗ {}: {worse}", case.case)));
        }
    }
    let (before, now) = report.prompt_tokens;
    for worse in &report.worse {
        render::print_line(&format!("✗ all: {worse}"));
    }
    let cases = counted(report.cases.len() as u64, "recorded case");
    let worse = report.cases.iter().filter(|case| !case.worse.is_empty()).count();
    render::print_line(&format!("{cases}, {worse} worse; prompt tokens {now}, recorded {before}"));
}
