//! The table of decisions, written out: every case, and a summary with equal cases combined. Pure.

use config::{Approval, Mode};

use crate::decide::{Action, Confinement, Stage, Verdict, VerdictReason, decide};

/// All modes, narrowest first.
const MODES: [Mode; 3] = [Mode::Plan, Mode::Agent, Mode::Yolo];

/// One case, with the verdicts under `suggest`, `auto` and `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// How far the run may go.
    pub mode: Mode,
    /// What the session is doing.
    pub stage: Stage,
    /// The kind of action.
    pub action: Action,
    /// How far commands are confined.
    pub confinement: Confinement,
    /// The verdicts under `suggest`, `auto`, `never`.
    pub verdicts: [Verdict<VerdictReason>; 3],
}

/// Cases with the same verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLine {
    /// The mode they share.
    pub mode: Mode,
    /// The stages.
    pub stages: Vec<Stage>,
    /// The actions.
    pub actions: Vec<Action>,
    /// The verdicts under `suggest`, `auto`, `never`.
    pub verdicts: [Verdict<VerdictReason>; 3],
}

/// Returns every case at this confinement.
pub fn cases(confinement: Confinement) -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in MODES {
        for stage in Stage::ALL {
            for action in Action::ALL {
                let verdict = |approval| decide(mode, approval, stage, action, confinement);
                let verdicts = [Approval::Suggest, Approval::Auto, Approval::Never].map(verdict);
                cases.push(Case { mode, stage, action, confinement, verdicts });
            }
        }
    }
    cases
}

/// Returns the cases as a short table: for each action, stages with equal verdicts are combined, then actions with
/// equal verdicts in the same stages.
pub fn table_lines(confinement: Confinement) -> Vec<TableLine> {
    let cases = cases(confinement);
    let mut lines: Vec<TableLine> = Vec::new();
    for mode in MODES {
        for action in Action::ALL {
            let of_action = cases.iter().filter(|case| (case.mode, case.action) == (mode, action));
            for (stages, verdicts) in by_verdicts(of_action) {
                let same = lines.iter_mut().find(|line| {
                    (line.mode, &line.stages, names(line.verdicts))
                        == (mode, &stages, names(verdicts))
                });
                match same {
                    Some(line) => line.actions.push(action),
                    None => lines.push(TableLine { mode, stages, actions: vec![action], verdicts }),
                }
            }
        }
    }
    lines
}

/// Groups the stages of one action by their verdicts.
fn by_verdicts<'a>(
    cases: impl Iterator<Item = &'a Case>,
) -> Vec<(Vec<Stage>, [Verdict<VerdictReason>; 3])> {
    let mut found: Vec<(Vec<Stage>, [Verdict<VerdictReason>; 3])> = Vec::new();
    for case in cases {
        match found.iter_mut().find(|(_, verdicts)| names(*verdicts) == names(case.verdicts)) {
            Some((stages, _)) => stages.push(case.stage),
            None => found.push((vec![case.stage], case.verdicts)),
        }
    }
    found
}

/// Returns the verdicts without their reasons.
fn names(verdicts: [Verdict<VerdictReason>; 3]) -> [&'static str; 3] {
    verdicts.map(|verdict| verdict.name())
}
