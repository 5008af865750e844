//! Runs a build of the program to its end, where it sees a scratch tree at the path of the workspace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sandbox::ShownElsewhere;
use shell::{Environment, Exit, ServiceOptions, start_service_elsewhere};
use tokio::io::AsyncReadExt as _;

/// Bytes of standard error kept from its start, and as many from its end.
const KEPT: usize = 16 << 10;
/// Maximum bytes of standard output that are kept.
const MAX_OUTPUT: u64 = 64 << 20;

/// How to run a program.
#[derive(Debug, Clone)]
pub(crate) struct ProgramRun {
    pub(crate) words: Vec<OsString>,
    /// An existing directory.
    pub(crate) cwd: PathBuf,
    pub(crate) vars: BTreeMap<String, String>,
    pub(crate) shown: Option<ShownElsewhere>,
    pub(crate) limit: Duration,
}

/// How a program ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedProgram {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProgramRun {
    /// Runs the program. Dropping the future ends it with everything it started, as does the end of this process.
    pub(crate) async fn run(self) -> io::Result<EndedProgram> {
        let options = ServiceOptions {
            cwd: self.cwd,
            env: Environment { vars: Arc::new(self.vars) },
            fence: None,
            notes: None,
            kill_grace: Duration::from_secs(2),
            keep_stderr_bytes: KEPT,
        };
        let mut service = start_service_elsewhere(&self.words, &options, self.shown).await?;
        let (to, from) = service.take_streams().ok_or(io::ErrorKind::BrokenPipe)?;
        // It reads the end of its input.
        drop(to);
        let mut stdout = Vec::new();
        let ended = async {
            let mut limited = from.take(MAX_OUTPUT);
            limited.read_to_end(&mut stdout).await?;
            Ok::<_, io::Error>(service.wait().await.exit)
        };
        let exit = match tokio::time::timeout(self.limit, ended).await {
            Ok(exit) => exit?,
            Err(_) => Exit::TimedOut,
        };
        let stderr = service.stderr_text();
        if exit == Exit::TimedOut {
            service.end().await;
        }
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        Ok(EndedProgram { exit, stdout, stderr })
    }
}
