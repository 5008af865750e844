//! Which session the autopilot of a workspace flies in, for `status` and `resume`, and instructions from other terminals. What
//! it has done is in the journal of that session.

use std::path::{Path, PathBuf};

use front::error::{CliError, CliErrorKind};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tools::clock::{Clock as _, SystemClock};
use tools::regular;

use crate::surroundings::Surroundings;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Where the autopilot is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Whereabouts {
    pub(super) session: String,
    pub(super) pid: u32,
    /// When this was last written.
    pub(super) heartbeat: String,
    /// What the autopilot has been doing since then.
    pub(super) doing: Doing,
    /// Early versions kept the work here, and not in the journal.
    #[serde(skip_serializing, default)]
    work: Option<IgnoredAny>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Doing {
    /// Choosing the next step.
    Choosing,
    /// Working on a step.
    Working,
    /// Waiting to be resumed.
    Paused,
    /// Ended.
    Ended,
}

/// An instruction from another terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Wish {
    Pause,
    Stop,
}

/// The files for whereabouts and instructions.
#[derive(Clone)]
pub(super) struct Desk {
    state: PathBuf,
    wish: PathBuf,
}

impl Desk {
    pub(super) fn of(around: &Surroundings, workspace: &Path) -> Result<Self, CliError> {
        let own = around.workspace_state(workspace)?;
        Ok(Self { state: own.join("autopilot.json"), wish: own.join("autopilot.wish") })
    }

    pub(super) fn whereabouts(&self) -> Result<Whereabouts, CliError> {
        let none = || {
            CliError::new(CliErrorKind::Usage, "no autopilot has run in this workspace yet")
                .hint("deepseek autopilot \"TASK\" --until \"cargo test\"")
        };
        let text = regular::read_text(&self.state, MAX_BYTES).map_err(|_| none())?;
        let found: Whereabouts = serde_json::from_str(&text)
            .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
        if found.work.is_some() {
            let what = "the last autopilot here was run by an earlier version of deepseek, and cannot be resumed";
            return Err(CliError::new(CliErrorKind::Usage, what)
                .hint("its delivered steps are in the workspace; start another with `deepseek autopilot \"…\"`"));
        }
        Ok(found)
    }

    /// Notes what the autopilot of this process does.
    pub(super) fn note(&self, session: &str, doing: Doing) -> Result<(), CliError> {
        let failed = |error: std::io::Error| CliError::caused(CliErrorKind::Internal, &error);
        let now = Whereabouts {
            session: session.to_owned(),
            pid: std::process::id(),
            heartbeat: SystemClock.now().to_string(),
            doing,
            work: None,
        };
        let text = serde_json::to_vec(&now).map_err(|error| failed(error.into()))?;
        let half = self.state.with_extension("half");
        regular::write_regular_file(&half, &text).map_err(failed)?;
        std::fs::rename(half, &self.state).map_err(failed)
    }

    pub(super) fn wish(&self) -> Option<Wish> {
        match regular::read_text(&self.wish, 16).ok()?.trim() {
            "pause" => Some(Wish::Pause),
            "stop" => Some(Wish::Stop),
            _ => None,
        }
    }

    pub(super) fn wishes(&self, word: Option<&str>) -> Result<(), CliError> {
        let failed = |error: std::io::Error| CliError::caused(CliErrorKind::Internal, &error);
        match word {
            Some(word) => regular::write_regular_file(&self.wish, word.as_bytes()).map_err(failed),
            None => match std::fs::remove_file(&self.wish) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                Ok(()) | Err(_) => Ok(()),
            },
        }
    }
}

/// Returns true if the process that wrote this is still running the autopilot.
pub(super) fn is_alive(it: &Whereabouts) -> bool {
    it.doing != Doing::Ended && Path::new(&format!("/proc/{}", it.pid)).exists()
}
