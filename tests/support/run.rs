//! The result of a finished process: its exit code, its output, and the events of `--output stream-json`.

use std::time::Duration;

use serde_json::Value;

/// The result of a process that has ended.
pub(crate) struct Run {
    /// The exit code; `None` if a signal ended the process.
    pub(crate) code: Option<i32>,
    /// Everything on standard output.
    pub(crate) stdout: String,
    /// Everything on standard error.
    pub(crate) stderr: String,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// The lines of standard output as JSON documents; empty unless every line is one.
    pub(crate) events: Vec<Value>,
}

impl Run {
    pub(super) fn new(
        code: Option<i32>,
        stdout: String,
        stderr: String,
        elapsed: Duration,
    ) -> Self {
        let events: Result<_, _> = stdout.lines().map(serde_json::from_str).collect();
        Self { code, stdout, stderr, elapsed, events: events.unwrap_or_default() }
    }

    /// Returns the data of the events of this kind, in order. Without a version in `kind`, any version matches.
    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        let name = |event: &Value| {
            event["kind"].as_str().and_then(|it| it.split('@').next()).map(str::to_owned)
        };
        let meant = |event: &&Value| event["kind"] == kind || name(event).as_deref() == Some(kind);
        self.events.iter().filter(meant).map(|event| &event["data"]).collect()
    }

    /// Returns the data of the only event of this kind. Panics if there is not exactly one.
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let all = self.all(kind);
        assert_eq!(all.len(), 1, "{kind}: {all:?}\n{}", self.stderr);
        all[0]
    }

    /// Returns the delivery of the only `RunFinished`.
    pub(crate) fn delivery(&self) -> &Value {
        &self.one("RunFinished")["delivery"]
    }

    /// Returns the failure classes of the run, in order.
    pub(crate) fn classes(&self) -> Vec<&str> {
        let failures = self.all("FailureClassified");
        failures.iter().map(|data| data["class"].as_str().unwrap()).collect()
    }

    /// Returns the exit code and the delivery's state, followed by the reason or the class if there is one:
    /// `1 needs_work/no_plan`.
    pub(crate) fn ending(&self) -> String {
        let code = self.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
        let refused = self.all("TransitionRefused");
        assert!(refused.is_empty(), "a session made an invalid state transition: {refused:?}");
        let finished = self.all("RunFinished");
        let [finished] = finished.as_slice() else {
            return format!("{code} with {} ends", finished.len());
        };
        let delivery = &finished["delivery"];
        let state = delivery["state"].as_str().unwrap_or_default();
        // An unverified delivery gives its reason in a table of that name.
        let word = |value: &Value| match value.as_object() {
            Some(fields) => fields.keys().next().cloned(),
            None => value.as_str().map(str::to_owned),
        };
        let more = ["why", "class", "verified"].iter().find_map(|key| word(&delivery[key]));
        more.map_or_else(|| format!("{code} {state}"), |more| format!("{code} {state}/{more}"))
    }
}
