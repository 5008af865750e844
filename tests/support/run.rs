//! What a finished process said: its exit code, its streams, and the events of a `stream-json`.

use std::time::Duration;

use serde_json::Value;

/// A process that has ended.
pub(crate) struct Run {
    /// The exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Everything on standard output.
    pub(crate) stdout: String,
    /// Everything on standard error.
    pub(crate) stderr: String,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// The lines of standard output, where each is a JSON document.
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

    /// The data of the events of this kind, in order, whatever their version.
    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        let name = |event: &Value| {
            event["kind"].as_str().and_then(|it| it.split('@').next()).map(str::to_owned)
        };
        let meant = |event: &&Value| event["kind"] == kind || name(event).as_deref() == Some(kind);
        self.events.iter().filter(meant).map(|event| &event["data"]).collect()
    }

    /// The one event of this kind.
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let all = self.all(kind);
        assert_eq!(all.len(), 1, "{kind}: {all:?}\n{}", self.stderr);
        all[0]
    }

    /// How it ended: the delivery of the one `RunFinished`.
    pub(crate) fn delivery(&self) -> &Value {
        &self.one("RunFinished")["delivery"]
    }

    /// The classes of the failures on the way.
    pub(crate) fn classes(&self) -> Vec<&str> {
        let failures = self.all("FailureClassified");
        failures.iter().map(|data| data["class"].as_str().unwrap()).collect()
    }

    /// Exit code and the state of the delivery, with a failure's reason or class behind it: `1 needs_work/no_plan`.
    pub(crate) fn ending(&self) -> String {
        let code = self.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
        let refused = self.all("TransitionRefused");
        assert!(refused.is_empty(), "a session was led where its state does not lead: {refused:?}");
        let finished = self.all("RunFinished");
        let [finished] = finished.as_slice() else {
            return format!("{code} with {} ends", finished.len());
        };
        let delivery = &finished["delivery"];
        let state = delivery["state"].as_str().unwrap_or_default();
        // What is not verified says why, in a table of that name.
        let word = |value: &Value| match value.as_object() {
            Some(fields) => fields.keys().next().cloned(),
            None => value.as_str().map(str::to_owned),
        };
        let more = ["why", "class", "verified"].iter().find_map(|key| word(&delivery[key]));
        more.map_or_else(|| format!("{code} {state}"), |more| format!("{code} {state}/{more}"))
    }
}
