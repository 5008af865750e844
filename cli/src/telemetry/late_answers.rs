//! Keeps who waits for whom in a file of the session while an answer is late, so that another process can tell.
//!
//! Nothing is written as long as every answer comes in time.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tools::clock::{Clock as _, SystemClock, Timestamp};
use tools::regular::{self, MAX_NOTE_BYTES};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The file of a session.
const FILE: &str = "waits.json";

/// A wait for an answer was long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LateAnswer {
    since: Timestamp,
    who: String,
    whom: String,
    what: String,
    scope: String,
}

impl LateAnswer {
    /// Returns what a session waits for, the longest wait first.
    pub(crate) fn of_session(dir: &Path) -> Vec<Self> {
        let text = regular::read_text(&dir.join(FILE), MAX_NOTE_BYTES).unwrap_or_default();
        let mut late: Vec<Self> = serde_json::from_str(&text).unwrap_or_default();
        late.sort();
        late
    }
}

impl fmt::Display for LateAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { since, who, whom, what, scope } = self;
        let waited = SystemClock.now().duration_since(*since).as_secs();
        write!(f, "{scope}: {who} waits for {whom} ({what}) for {waited} s")
    }
}

/// Follows the spans of late answers.
pub(super) struct LateAnswers {
    sessions: PathBuf,
    /// What is late, with its session.
    late: Mutex<BTreeMap<u64, (String, LateAnswer)>>,
}

impl LateAnswers {
    /// Creates it for the sessions in this directory.
    pub(super) fn new(sessions: PathBuf) -> Self {
        Self { sessions, late: Mutex::default() }
    }

    /// Changes what is late, and writes the file of the session that the change belongs to.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<u64, (String, LateAnswer)>) -> Option<String>,
    ) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = change(&mut late) else { return };
        let of_session = late.values().filter(|(of, _)| *of == session).map(|(_, late)| late);
        // A session without a directory is not read by anybody.
        write(&self.sessions.join(&session).join(FILE), &of_session.collect::<Vec<_>>()).ok();
    }
}

impl<S: Subscriber> Layer<S> for LateAnswers {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut take = |name| fields.0.remove(name).unwrap_or_default();
        let (session, now) = (take("session"), SystemClock.now());
        let waited = jiff::SignedDuration::from_secs(take("after").parse().unwrap_or_default());
        let since = now.checked_sub(waited).unwrap_or(now);
        let (who, whom, what, scope) = (take("who"), take("whom"), take("what"), take("scope"));
        let answer = LateAnswer { since, who, whom, what, scope };
        self.change(|late| {
            late.insert(id.into_u64(), (session.clone(), answer));
            Some(session)
        });
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.change(|late| late.remove(&id.into_u64()).map(|(session, _)| session));
    }
}

/// Replaces the file, so that no other process reads half of it.
fn write(file: &Path, late: &[&LateAnswer]) -> io::Result<()> {
    if late.is_empty() {
        return fs::remove_file(file);
    }
    let new = file.with_extension("new");
    regular::write_regular_file(&new, &serde_json::to_vec(late)?)?;
    fs::rename(new, file)
}

/// The fields of a span, as text.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
