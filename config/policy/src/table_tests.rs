//! Tests: the table as a whole, and properties that hold for every case in it.

use config::Mode;

use crate::decide::{Action, CommandKind, Confinement, Patch, Secrecy, ToolKind, Verdict};
use crate::table::{Case, cases, table_lines};

fn all() -> Vec<Case> {
    Confinement::ALL.into_iter().flat_map(cases).collect()
}

fn row(case: &Case) -> String {
    let verdicts = case.verdicts.map(|verdict| verdict.to_string());
    let Case { mode, stage, action, confinement, .. } = case;
    let (stage, action, confinement) = (stage.name(), action.name(), confinement.name());
    format!("{mode:?} | {stage} | {action} | {confinement} | {}", verdicts.join(" | "))
}

#[test]
fn the_whole_table() {
    // Confinement matters only to commands.
    let is_relevant = |case: &&Case| {
        matches!(case.action, Action::Command(_)) || case.confinement == Confinement::Off
    };
    let table: Vec<String> = all().iter().filter(is_relevant).map(row).collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn the_table_in_short() {
    let lines = table_lines(Confinement::Full).into_iter().map(|line| {
        let stages: Vec<&str> = line.stages.iter().map(|stage| stage.name()).collect();
        let actions: Vec<&str> = line.actions.iter().map(|action| action.name()).collect();
        let verdicts = line.verdicts.map(|verdict| verdict.name());
        let (stages, actions) = (stages.join(", "), actions.join(", "));
        format!("{:?} | {stages} | {actions} | {}", line.mode, verdicts.join(" | "))
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

/// Whether an action starts a process or writes.
fn has_effect(action: Action) -> bool {
    match action {
        Action::Read(Secrecy::Plain | Secrecy::Secret) | Action::Tool(ToolKind::Reading) => false,
        Action::Patch(Patch::Within | Patch::Larger | Patch::Executed | Patch::Protected)
        | Action::Command(CommandKind::Listed | CommandKind::Other | CommandKind::Denied)
        | Action::Network
        | Action::Tool(ToolKind::Changing | ToolKind::Destroying) => true,
    }
}

#[test]
fn plan_mode_never_runs_a_process_or_writes() {
    let mut seen = 0;
    for case in all().iter().filter(|case| case.mode == Mode::Plan && has_effect(case.action)) {
        for verdict in case.verdicts {
            assert!(matches!(verdict, Verdict::Deny { .. }), "{}", row(case));
            seen += 1;
        }
    }
    // Every such action in every stage, at every confinement, under every approval.
    assert_eq!(seen, 10 * 4 * 5 * 3);
}

#[test]
fn suggest_is_stricter_than_auto_and_never_does_not_ask() {
    let is_yes = |verdict: Verdict<_>| verdict == Verdict::Allow;
    for case in all() {
        let [suggest, auto, never] = case.verdicts;
        assert!(!is_yes(suggest) || is_yes(auto), "{}", row(&case));
        assert!(!matches!(never, Verdict::Ask { .. }), "{}", row(&case));
        let barred = matches!(suggest, Verdict::Deny { .. });
        assert!(!barred || case.verdicts.iter().all(|it| matches!(it, Verdict::Deny { .. })));
    }
}

#[test]
fn yolo_skips_questions_and_allows_nothing_that_is_denied() {
    let all = all();
    for yolo in all.iter().filter(|case| case.mode == Mode::Yolo) {
        let same = |case: &&Case| {
            (case.mode, case.stage, case.action, case.confinement)
                == (Mode::Agent, yolo.stage, yolo.action, yolo.confinement)
        };
        let agent = all.iter().find(same).unwrap();
        // Under `suggest`, YOLO denies what the agent denies.
        let is_denied = |case: &Case| matches!(case.verdicts[0], Verdict::Deny { .. });
        assert_eq!(is_denied(yolo), is_denied(agent), "{}", row(yolo));
        let is_unconfined = matches!(yolo.confinement.name(), "floor" | "none");
        if matches!(yolo.verdicts[0], Verdict::Ask { .. }) {
            let is_command = is_unconfined && matches!(yolo.action, Action::Command(_));
            let destroys = yolo.action == Action::Tool(ToolKind::Destroying);
            assert!(is_command || destroys, "{}", row(yolo));
        }
    }
}
