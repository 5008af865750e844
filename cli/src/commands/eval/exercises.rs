//! `deepseek eval exercises`: draws exercises from a directory, and has variants work on them.

use std::path::PathBuf;

use clap::Args;
use eval::ExerciseOptions;
use front::error::CliError;

use super::progress::sink;
use super::run::{WorkArgs, work};
use super::shown;
use super::site::{EvalSite, failed};

/// Draw exercises, and have variants work on them.
#[derive(Debug, Args)]
pub(super) struct ExercisesArgs {
    /// The directory with `LANGUAGE/exercises/practice/NAME`.
    dir: PathBuf,
    /// Only exercises in this language; can be repeated.
    #[arg(long, value_name = "LANGUAGE")]
    language: Vec<String>,
    /// Number of exercises [default: all].
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// The seed of the order in which they are drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How often a variant may try; from the second time on it is told what the tests printed [default: eval.tries].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tries: Option<u32>,
    /// Only check that the tests fail for the stub and pass for the reference; no model is called.
    #[arg(long)]
    only_check: bool,
    #[command(flatten)]
    work: WorkArgs,
}

/// Runs the command.
pub(super) async fn exercises(site: &EvalSite<'_>, args: &ExercisesArgs) -> Result<(), CliError> {
    let dir = site.around.cwd.join(&args.dir);
    let evaluation = site.open(site.fresh(), None, Vec::new()).await?;
    let options = ExerciseOptions {
        dir: dir.canonicalize().unwrap_or(dir),
        languages: args.language.clone(),
        count: args.count,
        seed: args.seed,
        tries: args.tries.unwrap_or(evaluation.config().eval.tries),
    };
    evaluation.draw_exercises(&options).await.map_err(|error| failed(&error))?;
    let checked = evaluation.check(args.work.parallel, &sink(site.global.output)).await;
    checked.map_err(|error| failed(&error))?;
    if args.only_check {
        if let Some(report) = evaluation.report() {
            shown::print(&report, site.global.output);
        }
        return Ok(());
    }
    work(site, &evaluation, &args.work).await
}
