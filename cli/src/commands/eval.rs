//! `deepseek eval`: judges models, settings and builds on past commits of the user's repository, or on exercises. The commands
//! only parse, and show what the crate of evaluations did.

mod draw;
mod exercises;
mod guard;
mod progress;
mod run;
mod shown;
mod site;
mod variants;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use front::error::CliError;

use self::site::EvalSite;
use crate::flags::Global;
use crate::surroundings::Surroundings;

/// Judge models, settings and builds on past commits of this repository, or on exercises.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Draw cases from the history: commits with code and tests. No model is called.
    ///
    /// The hidden tests of each case must fail on its parent and pass on the commit, twice each. Other commits are listed with
    /// the reason why they are left out.
    Draw(draw::DrawArgs),
    /// Have variants work on the cases, and judge each result by the hidden tests. Continues what was interrupted.
    Run(run::EvalRunArgs),
    /// Draw exercises in the layout of the polyglot benchmark, and have variants work on them.
    Exercises(exercises::ExercisesArgs),
    /// Judge this build on recorded answers: verdicts, refusals, calls and tokens must not get worse.
    Guard(guard::GuardArgs),
    /// Show the results of an evaluation, or write them as an HTML page.
    Show(shown::ShowArgs),
    /// List the evaluations.
    List,
    /// Remove an evaluation with its scratch repositories.
    Remove {
        /// The evaluation: its id, or the start or end of it.
        id: String,
    },
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &EvalArgs,
) -> Result<ExitCode, CliError> {
    let site = EvalSite::new(around, global)?;
    match &args.action {
        Action::Draw(args) => draw::draw(&site, args).await,
        Action::Run(args) => run::run(&site, args).await,
        Action::Exercises(args) => exercises::exercises(&site, args).await,
        Action::Guard(args) => return guard::guard(&site, args).await,
        Action::Show(args) => shown::show(&site, args),
        Action::List => {
            shown::list(&site);
            Ok(())
        }
        Action::Remove { id } => shown::remove(&site, id),
    }
    .map(|()| ExitCode::SUCCESS)
}
