//! Scripted model answers: plans and diffs that keep to the contracts.

/// Returns a plan for `files`, verified by these commands.
pub fn plan(files: &[&str], checks: &[&str]) -> String {
    let mut text = String::from("ARCHITECT_PLAN_V1\nPLAN|do what was asked\n");
    for file in files {
        text.push_str(&format!("FILE|{file}|as asked\n"));
    }
    for check in checks {
        text.push_str(&format!("VERIFY|{check}\n"));
    }
    text + "ACCEPT|the check passes\nARCHITECT_PLAN_END\n"
}

/// Returns a plan that splits a task into lanes, given as numbers and the paths they own.
pub fn team(lanes: impl IntoIterator<Item = (usize, String)>) -> String {
    let line = |(n, own)| format!("LANE|{n:02}|part {n}|make it\nOWN|{n:02}|{own}\n");
    let lanes: String = lanes.into_iter().map(line).collect();
    format!("TEAM_PLAN_V1\n{lanes}TEAM_PLAN_END")
}

/// Returns a diff that replaces `old`, the only line of `path`, by `new`.
pub fn diff(path: &str, old: &str, new: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
}

/// Returns a diff that creates a file of one line.
pub fn created(path: &str, line: &str) -> String {
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n")
}

/// Returns a plan to greet the world.
pub fn greeting_plan() -> String {
    plan(&["greet.txt"], &["grep -q world greet.txt"])
}

/// Returns the diff for [`greeting_plan`].
pub fn greeting_diff() -> String {
    diff("greet.txt", "hello", "hello world")
}
