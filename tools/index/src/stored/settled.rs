//! Decides whether an index on disk is intact. The index is written without syncing, so a power failure may leave it in
//! any state. It counts as intact only if the machine has not been restarted since, or if a file records that all of it
//! was synced.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use tools::regular;
use tree::FileHash;

/// Tantivy's own manifest, which changes with every commit.
pub(crate) const META: &str = "meta.json";
/// Upper bound for its size, in bytes.
pub(crate) const MAX_META_BYTES: u64 = 64 << 20;
/// Contains the id of the boot during which the index was last written.
const WRITTEN: &str = "written";
/// Contains the commit that was completely synced.
const SETTLED: &str = "settled";
const MAX_NOTE_BYTES: u64 = 200;
/// The boot id on Linux; other systems have none.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Returns whether the index in `dir` is intact.
pub(crate) fn is_sound(dir: &Path) -> bool {
    is_of_this_start(dir, boot().as_deref()) || is_settled(dir)
}

/// Records that `dir` is about to be written. Call this before the first write.
pub(crate) fn begin_writing(dir: &Path) -> io::Result<()> {
    let boot = boot();
    if is_of_this_start(dir, boot.as_deref()) {
        return Ok(());
    }
    regular::write_regular_file(&dir.join(WRITTEN), boot.unwrap_or_default().as_bytes())
}

/// Syncs all of `dir` and records that. Concurrent writes by another process are not covered.
pub(crate) fn settle_store(dir: &Path) -> io::Result<()> {
    let Some(meta) = commit(dir) else { return Ok(()) };
    if is_settled(dir) {
        return Ok(());
    }
    for entry in fs::read_dir(dir)?.flatten() {
        match File::open(entry.path()) {
            Ok(file) => file.sync_all()?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let sync_names = || File::open(dir)?.sync_all();
    sync_names()?;
    let mut note = tempfile::NamedTempFile::new_in(dir)?;
    note.write_all(meta.as_bytes())?;
    note.as_file().sync_all()?;
    note.persist(dir.join(SETTLED)).map_err(|error| error.error)?;
    sync_names()
}

fn is_of_this_start(dir: &Path, boot: Option<&str>) -> bool {
    boot.is_some_and(|boot| note(dir, WRITTEN).as_deref() == Some(boot))
}

fn is_settled(dir: &Path) -> bool {
    commit(dir).is_some_and(|meta| note(dir, SETTLED) == Some(meta))
}

/// Returns the current commit, identified by its hash.
fn commit(dir: &Path) -> Option<String> {
    let meta = regular::read_regular_file(&dir.join(META), MAX_META_BYTES).ok()?;
    Some(FileHash::of(&meta).to_string())
}

fn note(dir: &Path, name: &str) -> Option<String> {
    regular::read_text(&dir.join(name), MAX_NOTE_BYTES).ok()
}

/// Returns the id of the current boot, if the system has one.
fn boot() -> Option<String> {
    let boot = fs::read_to_string(BOOT).ok()?;
    Some(boot.trim().to_owned()).filter(|boot| !boot.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_from_an_earlier_boot_is_intact_only_if_it_was_synced() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path();
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
        assert!(!is_sound(dir), "there is no index");
        write(META, "one");
        assert!(!is_sound(dir), "no boot id is recorded");
        begin_writing(dir).unwrap();
        assert_eq!(is_sound(dir), boot().is_some(), "the machine was not restarted");
        write(WRITTEN, "another start");
        assert!(!is_sound(dir), "the machine was restarted");
        settle_store(dir).unwrap();
        assert!(is_sound(dir), "everything was synced");
        write(META, "two");
        assert!(!is_sound(dir), "but not for this commit");
        begin_writing(dir).unwrap();
        assert_eq!(is_sound(dir), boot().is_some());
    }
}
