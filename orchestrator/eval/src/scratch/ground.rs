//! Finds out whether a case is one: its hidden tests must pass with the reference and fail without it, twice each.

use std::path::Path;
use std::sync::Arc;

use tools::blocking::on_a_thread;

use crate::eval_error::EvalError;
use crate::results::record::{CaseGround, EvalCase, TestVerdict};
use crate::scratch::hidden::CaseFiles;
use crate::scratch::later::later_versions;
use crate::scratch::repository::{Carried, Scratch};
use crate::scratch::trial::commands_for;
use crate::scratch::workshop::Workshop;

/// How often each side must have the same result.
const TIMES: usize = 2;

/// Checks a case in a scratch repository in `dir`, which is removed afterwards.
pub(crate) async fn check_case(
    workshop: &Workshop,
    case: &EvalCase,
    dir: &Path,
) -> Result<CaseGround, EvalError> {
    let (scratch, carried) = {
        let (case, source, dir) = (case.clone(), workshop.source.clone(), dir.to_owned());
        on_a_thread(move || Scratch::make(&case, &source, &dir)).await?
    };
    let files = workshop.files_of(case).await?;
    let ground = if let Some(why) = cannot_be_seen(workshop, &scratch, &carried) {
        CaseGround::CannotRun { why }
    } else {
        let (ground, output) = try_both(workshop, case, &scratch, files).await?;
        let at = dir.with_extension("txt");
        on_a_thread(move || std::fs::write(at, output)).await.ok();
        ground
    };
    let ground = with_notes(workshop, ground, &scratch, &carried).await;
    workshop.remove(dir).await;
    Ok(ground)
}

/// Returns why the installed packages of the user cannot be used: they name the directory of the workspace, at which a
/// scratch tree is seen only with namespaces.
fn cannot_be_seen(workshop: &Workshop, scratch: &Scratch, carried: &Carried) -> Option<String> {
    let first = carried.environments.first().filter(|_| scratch.top != scratch.seen)?;
    (!workshop.is_seen_in_place()).then(|| {
        format!(
            "{} names the directory of the workspace, and a scratch tree cannot be seen there without namespaces",
            first.display()
        )
    })
}

/// Runs the tests on both sides. Returns also what they printed last.
async fn try_both(
    workshop: &Workshop,
    case: &EvalCase,
    scratch: &Scratch,
    files: CaseFiles,
) -> Result<(CaseGround, String), EvalError> {
    workshop.put(scratch, files.after.clone()).await?;
    workshop.put_tests(scratch, files.clone()).await?;
    let commands = match workshop.commands.as_slice() {
        [] => {
            let (root, config) = (scratch.workspace(), Arc::clone(&workshop.config));
            let tests = scratch.below_workspace(&files.test_paths());
            if let Some(command) = workshop.exercise_command(case) {
                vec![command]
            } else {
                let env = workshop.environment_in(scratch);
                on_a_thread(move || commands_for(&root, &tests, &config, &env)).await
            }
        }
        given => given.to_vec(),
    };
    let mut output = String::new();
    for _ in 0..TIMES {
        let trial = workshop.run_tests(&commands, scratch).await;
        output = trial.output;
        let why = match trial.verdict {
            TestVerdict::Passed => continue,
            TestVerdict::CannotRun(why) => CaseGround::CannotRun { why },
            TestVerdict::Failed(why) if trial.missing.is_some() => CaseGround::CannotRun { why },
            TestVerdict::Failed(why) => {
                CaseGround::NoCase { why: format!("the tests fail with the reference: {why}") }
            }
        };
        return Ok((why, output));
    }
    workshop.put(scratch, files.before.clone()).await?;
    workshop.put_tests(scratch, files).await?;
    for _ in 0..TIMES {
        let trial = workshop.run_tests(&commands, scratch).await;
        output = trial.output;
        let why = match trial.verdict {
            TestVerdict::Failed(_) => continue,
            TestVerdict::CannotRun(why) => CaseGround::CannotRun { why },
            TestVerdict::Passed => {
                CaseGround::NoCase { why: "the tests pass without the reference".to_owned() }
            }
        };
        return Ok((why, output));
    }
    Ok((CaseGround::Holds { commands, notes: Vec::new() }, output))
}

/// Adds what a reader of the results should know.
async fn with_notes(
    workshop: &Workshop,
    ground: CaseGround,
    scratch: &Scratch,
    carried: &Carried,
) -> CaseGround {
    let CaseGround::Holds { commands, mut notes } = ground else { return ground };
    let left = carried.left.iter();
    notes.extend(left.map(|dir| format!("{} is too large to be copied", dir.display())));
    let (root, places) = (scratch.workspace(), workshop.package_places.clone());
    let own: Vec<_> = carried.environments.iter().map(|dir| scratch.top.join(dir)).collect();
    let later = on_a_thread(move || later_versions(&root, &[places, own].concat())).await;
    // The scratch tree has the packages of the user's.
    let (top, seen) = (scratch.top.display().to_string(), scratch.seen.display().to_string());
    notes.extend(later.into_iter().map(|note| note.replace(&top, &seen)));
    CaseGround::Holds { commands, notes }
}
