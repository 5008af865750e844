//! Commands that outlived the program that started them: noted while they run, and ended by the next that looks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, getpid, kill_process_group};
use tools::regular::{self, MAX_NOTE_BYTES};

/// A command's process group that is noted, until this is dropped.
#[derive(Debug)]
pub(super) struct Noted(PathBuf);

impl Noted {
    /// Notes in the directory `dir` that this process runs the group of `leader`. Best effort: without it a command may
    /// outlive a crash, and nothing else.
    pub(super) fn new(dir: &Path, leader: Pid) -> Option<Self> {
        let note = Note {
            boot: boot()?,
            owner: getpid().as_raw_nonzero().get(),
            owner_started: started(getpid())?,
            leader_started: started(leader)?,
        };
        let path = dir.join(leader.as_raw_nonzero().to_string());
        let written = regular::create_dir(dir)
            .and_then(|()| regular::write(&path, note.to_text().as_bytes()));
        if let Err(error) = &written {
            tracing::debug!(%error, "a command that runs could not be noted");
        }
        written.ok().map(|()| Self(path))
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        // One that stays is found to be nobody's later.
        fs::remove_file(&self.0).ok();
    }
}

/// Who runs a group, told by numbers that no other process has.
#[derive(Debug, PartialEq, Eq)]
struct Note {
    boot: String,
    owner: i32,
    owner_started: u64,
    leader_started: u64,
}

impl Note {
    fn to_text(&self) -> String {
        let Self { boot, owner, owner_started, leader_started } = self;
        format!("{boot} {owner} {owner_started} {leader_started}\n")
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            boot: words.next()?.to_owned(),
            owner: words.next()?.parse().ok()?,
            owner_started: words.next()?.parse().ok()?,
            leader_started: words.next()?.parse().ok()?,
        })
    }

    /// Whether whoever started the group is gone, and it is the group that was started.
    fn is_left(&self, leader: Pid) -> bool {
        let owner = Pid::from_raw(self.owner).and_then(started);
        // A number is not given to another group as long as one of this group lives: a leader that is there is the one that
        // was noted, or another since all of them are gone.
        let is_the_group = started(leader).is_none_or(|start| start == self.leader_started);
        boot().as_ref() == Some(&self.boot) && owner != Some(self.owner_started) && is_the_group
    }
}

/// Ends what was noted in `dir` by processes that are gone, and tells how many groups that were.
pub fn end_leftovers(dir: &Path) -> io::Result<usize> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut ended = 0;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let leader = name.parse().ok().and_then(Pid::from_raw);
        let note =
            regular::read_text(&path, MAX_NOTE_BYTES).ok().and_then(|text| Note::read(&text));
        let (Some(leader), Some(note)) = (leader, note) else { continue };
        if Pid::from_raw(note.owner).and_then(started) == Some(note.owner_started) {
            continue;
        }
        if note.is_left(leader) && kill_process_group(leader, Signal::KILL).is_ok() {
            ended += 1;
        }
        fs::remove_file(&path)?;
    }
    Ok(ended)
}

/// When a process was started, in ticks since the machine was; none if it is gone.
fn started(process: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    // One that is only waited for is gone.
    if state == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// What tells this run of the machine from others.
fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs a process that nobody ends")]
    fn group() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
    }

    fn note(dir: &Path, of: Pid, change: impl FnOnce(&mut Note)) {
        let mut note = Note {
            boot: boot().unwrap(),
            owner: of.as_raw_nonzero().get(),
            // Another that had the same number: it is gone.
            owner_started: 0,
            leader_started: started(of).unwrap(),
        };
        change(&mut note);
        fs::write(dir.join(of.as_raw_nonzero().to_string()), note.to_text()).unwrap();
    }

    #[test]
    fn what_a_program_left_that_is_gone_is_ended_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let [mut left, mut owned, mut other, mut of_old] = [(); 4].map(|()| group());
        note(dir.path(), pid(&left), |_| {});
        note(dir.path(), pid(&owned), |note| {
            note.owner = getpid().as_raw_nonzero().get();
            note.owner_started = started(getpid()).unwrap();
        });
        note(dir.path(), pid(&other), |note| note.leader_started += 1);
        note(dir.path(), pid(&of_old), |note| note.boot.push('x'));
        fs::write(dir.path().join("stray"), "what is this").unwrap();
        assert_eq!(end_leftovers(dir.path()).unwrap(), 1);
        assert!(!left.wait().unwrap().success());
        for alive in [&mut owned, &mut other, &mut of_old] {
            assert!(alive.try_wait().unwrap().is_none());
            alive.kill().unwrap();
            alive.wait().unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "the owned one, and the stray");
        assert_eq!(end_leftovers(&dir.path().join("none")).unwrap(), 0);
    }

    #[test]
    fn a_note_lasts_as_long_as_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = group();
        let noted = Noted::new(dir.path(), pid(&child)).unwrap();
        assert_eq!(end_leftovers(dir.path()).unwrap(), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        drop(noted);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
