//! The autopilot's state on disk, for `status` and `resume`, and instructions from other terminals.

use std::path::{Path, PathBuf};

use front::error::{CliError, CliErrorKind};
use orchestrator::session::autopilot::PilotState;
use serde::{Deserialize, Serialize};
use tools::regular;

use crate::surroundings::Surroundings;

/// The largest state file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The autopilot's saved state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptWork {
    pub(super) session: String,
    pub(super) pid: u32,
    /// When the state was last written.
    pub(super) heartbeat: String,
    /// What the autopilot has been doing since then.
    pub(super) doing: Doing,
    /// The current step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) step: Option<String>,
    /// The configuration that the steps are taken with. Absent in states of early versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) settings: Option<String>,
    pub(super) work: PilotState,
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

/// The files for state and instructions.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) state: PathBuf,
    pub(super) wish: PathBuf,
}

impl Desk {
    pub(super) fn of(around: &Surroundings, workspace: &Path) -> Result<Self, CliError> {
        let own = around.workspace_state(workspace)?;
        Ok(Self { state: own.join("autopilot.json"), wish: own.join("autopilot.wish") })
    }

    pub(super) fn kept(&self) -> Result<KeptWork, CliError> {
        let none = || {
            CliError::new(CliErrorKind::Usage, "no autopilot has run in this workspace yet")
                .hint("deepseek autopilot \"TASK\" --until \"cargo test\"")
        };
        let text = regular::read_text(&self.state, MAX_BYTES).map_err(|_| none())?;
        serde_json::from_str(&text)
            .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
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
pub(super) fn is_alive(kept: &KeptWork) -> bool {
    kept.doing != Doing::Ended && Path::new(&format!("/proc/{}", kept.pid)).exists()
}
