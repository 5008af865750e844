//! What of a plan needs approval for what it is, not because every change does: said before anything is drafted where
//! nobody can approve it. Pure.

use facts::grammar::plan::{FileIntent, Plan};
use policy::{Act, Author, Confinement, PatchTotal, PolicyRules, Stage, Touch, Touched, Verdict};
use tree::RepoPath;

/// Returns why the change of a plan will be asked about even under `--approval auto`, and what would allow it: it touches
/// files that other tools execute, or more files that do not exist yet (`new`) than the safety gate allows.
pub fn unapprovable(rules: &PolicyRules, plan: &Plan, new: &[RepoPath]) -> Option<String> {
    // How much of a file changes is not known yet.
    let how = |file: &FileIntent| {
        if new.contains(&file.path) { Touch::Reshaped } else { Touch::Edited }
    };
    let edited = plan.files.iter().map(|file| Touched {
        path: file.path.as_str(),
        lines: 1,
        how: how(file),
    });
    let operated = plan.operations.iter().flat_map(|it| it.operation.paths()).map(|path| Touched {
        path: path.as_str(),
        lines: 1,
        how: Touch::Reshaped,
    });
    let touched: Vec<Touched<'_>> = edited.chain(operated).collect();
    let paths: Vec<&str> = touched.iter().map(|file| file.path).collect();
    let size = rules.sized(&PatchTotal::default(), &touched);
    let act = Act::Patch { author: Author::Model, paths: &paths, size };
    let (stage, confinement) = (Stage::Executing, Confinement::Full);
    let Verdict::Ask { why } = rules.decide(stage, act, confinement) else { return None };
    let flag = rules.flag_for(stage, act, confinement).filter(|flag| *flag == "--yolo")?;
    Some(format!(
        "nobody can approve this here: {why}; the change will be staged, not written; `{flag}` would write it"
    ))
}
