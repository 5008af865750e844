//! Whether an index is what was written. It is written without waiting for the disk, so after a power cut it may be anything: it
//! counts only if the machine has not been started again since, or if all of it was on the disk and a note says so.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use tools::regular;
use tree::FileHash;

/// What tantivy keeps as its own manifest: another one with every commit.
pub(crate) const META: &str = "meta.json";
/// Bytes that it never has.
pub(crate) const MAX_META_BYTES: u64 = 64 << 20;
/// Names the start of the machine during which the index was written last.
const WRITTEN: &str = "written";
/// Names the commit of which all is on the disk.
const SETTLED: &str = "settled";
const MAX_NOTE_BYTES: u64 = 200;
/// Where Linux names the start of the machine; elsewhere nothing is known of it.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Whether what is in `dir` is what was written there.
pub(crate) fn is_sound(dir: &Path) -> bool {
    is_of_this_start(dir, boot().as_deref()) || is_settled(dir)
}

/// Says that `dir` is about to be written. It must be said before.
pub(crate) fn begin(dir: &Path) -> io::Result<()> {
    let boot = boot();
    if is_of_this_start(dir, boot.as_deref()) {
        return Ok(());
    }
    regular::write(&dir.join(WRITTEN), boot.unwrap_or_default().as_bytes())
}

/// Has all of `dir` on the disk, and says so. What another process writes meanwhile is not meant.
pub(crate) fn settle(dir: &Path) -> io::Result<()> {
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

/// The commit that is there, by its hash.
fn commit(dir: &Path) -> Option<String> {
    let meta = regular::read(&dir.join(META), MAX_META_BYTES).ok()?;
    Some(FileHash::of(&meta).to_string())
}

fn note(dir: &Path, name: &str) -> Option<String> {
    regular::read_text(&dir.join(name), MAX_NOTE_BYTES).ok()
}

/// The start of the machine.
fn boot() -> Option<String> {
    let boot = fs::read_to_string(BOOT).ok()?;
    Some(boot.trim().to_owned()).filter(|boot| !boot.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_before_a_start_counts_only_if_it_was_settled() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path();
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
        assert!(!is_sound(dir), "nothing is there");
        write(META, "one");
        assert!(!is_sound(dir), "nothing is said of it");
        begin(dir).unwrap();
        assert_eq!(is_sound(dir), boot().is_some(), "the machine runs since");
        write(WRITTEN, "another start");
        assert!(!is_sound(dir), "it was started again");
        settle(dir).unwrap();
        assert!(is_sound(dir), "all of it was on the disk");
        write(META, "two");
        assert!(!is_sound(dir), "but not of this commit");
        begin(dir).unwrap();
        assert_eq!(is_sound(dir), boot().is_some());
    }
}
