//! Copies the beginning of a session's journal so that a new session can continue from there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use facts::event::{Event, Origin};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tools::regular;

use super::read::Record;
use super::{EVENTS, Line, SUM_DIGITS};

/// Creates the session `to` from the events of `from` up to number `at`, with `workspace` as its workspace. The log
/// is renamed into place last, so the session is complete or absent. Fails if `to` exists.
pub fn fork(
    from: &Path,
    records: &[Record],
    at: u64,
    to: &Path,
    workspace: &Path,
) -> io::Result<()> {
    let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let origin = Origin { session: name, seq: at };
    let mut text = Vec::new();
    let mut prev = "0".repeat(SUM_DIGITS);
    for record in records.iter().take_while(|record| record.seq <= at) {
        let data = match record.event() {
            Some(begun @ Event::SessionStarted { .. }) => {
                to_raw_value(&begins_as(begun, workspace, &origin))?
            }
            Some(_) | None => record.data.clone(),
        };
        let line = Line {
            seq: record.seq,
            at: &record.at,
            kind: &record.kind,
            run: record.run.as_deref(),
            lane: record.scope().lane(),
            part: record.part.clone(),
            data: &data,
            prev: &prev,
        };
        prev = line.append_to(&mut text)?;
    }
    let private = |dir: &Path| DirBuilder::new().mode(0o700).create(dir);
    private(to)?;
    let blobs = to.join("blobs");
    let copied =
        private(&blobs).and_then(|()| copy_blobs(&from.join("blobs"), &blobs)).and_then(|()| {
            let half = to.join("events.tmp");
            regular::write_regular_file(&half, &text)?;
            fs::File::open(&half)?.sync_all()?;
            fs::rename(half, to.join(EVENTS))
        });
    if copied.is_err() {
        fs::remove_dir_all(to)?;
    }
    copied
}

/// Returns the first event with the fork's workspace and origin.
fn begins_as(begun: Event, workspace: &Path, origin: &Origin) -> Value {
    let Event::SessionStarted { version, config, prompts, format, salt, .. } = begun else {
        return begun.data();
    };
    let workspace = workspace.display().to_string();
    let forked_from = Some(origin.clone());
    Event::SessionStarted { workspace, version, config, prompts, format, salt, forked_from }.data()
}

/// Links or copies the content. It is named by its hash and never changed, so both sessions can share the files.
fn copy_blobs(from: &Path, to: &Path) -> io::Result<()> {
    for blob in fs::read_dir(from)? {
        let blob = blob?;
        let target = to.join(blob.file_name());
        if fs::hard_link(blob.path(), &target).is_err() {
            fs::copy(blob.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longest path that a system call accepts, in bytes.
    const MAX_PATH: usize = 4095;

    #[test]
    fn a_session_is_complete_or_absent_and_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        let from = home.path().join("from");
        fs::create_dir_all(from.join("blobs")).unwrap();
        let to = |name: &Path| fork(&from, &[], 0, &home.path().join(name), Path::new("/"));
        to(Path::new("fork")).unwrap();
        let log = home.path().join("fork").join(EVENTS);
        fs::write(&log, "continued").unwrap();
        assert_eq!(to(Path::new("fork")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&log).unwrap(), b"continued");

        // The directory can be created, but not `blobs` in it: its path would be too long.
        let mut deep = home.path().to_owned();
        while deep.as_os_str().len() < MAX_PATH - 250 {
            deep.push("d".repeat(200));
        }
        fs::create_dir_all(&deep).unwrap();
        deep.push("d".repeat(MAX_PATH - 2 - deep.as_os_str().len()));
        to(&deep).unwrap_err();
        assert!(!deep.exists());
    }
}
