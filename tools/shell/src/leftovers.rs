//! Ends commands that outlived the program that started them. Running commands are recorded in files, and the next
//! start looks for leftovers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process_group};
use sandbox::Ends;
use tools::regular::{self, MAX_NOTE_BYTES};

/// The record of a running command's process group. Dropping it deletes the record.
#[derive(Debug)]
pub(super) struct Noted(PathBuf);

impl Noted {
    /// Records in `dir` that this process runs the group of `leader`. Best effort: without the record, or if this
    /// process is killed just before it is written, a command may outlive a crash, nothing worse. `ends` says how the group ends when this process does.
    pub(super) fn new(dir: &Path, leader: Pid, ends: Ends) -> Option<Self> {
        let note = Note {
            boot: boot()?,
            owner: getpid().as_raw_nonzero().get(),
            owner_started: started(getpid())?,
            leader_started: started(leader)?,
            ends_itself: ends == Ends::Told,
        };
        let path = dir.join(leader.as_raw_nonzero().to_string());
        let written = regular::create_dir(dir)
            .and_then(|()| regular::write_regular_file(&path, note.to_text().as_bytes()));
        if let Err(error) = &written {
            tracing::debug!(%error, "could not record a running command");
        }
        written.ok().map(|()| Self(path))
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        // A record left behind is recognized later as having no owner.
        fs::remove_file(&self.0).ok();
    }
}

/// Identifies the owner and the leader of a group beyond their reusable process ids.
#[derive(Debug, PartialEq, Eq)]
struct Note {
    boot: String,
    owner: i32,
    owner_started: u64,
    leader_started: u64,
    /// True if the leader ends everything it started as soon as the owner is gone, and is the only process that can.
    ends_itself: bool,
}

impl Note {
    fn to_text(&self) -> String {
        let Self { boot, owner, owner_started, leader_started, ends_itself } = self;
        format!("{boot} {owner} {owner_started} {leader_started} {ends_itself}\n")
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            boot: words.next()?.to_owned(),
            owner: words.next()?.parse().ok()?,
            owner_started: words.next()?.parse().ok()?,
            leader_started: words.next()?.parse().ok()?,
            ends_itself: words.next().is_some_and(|word| word == "true"),
        })
    }

    /// Returns whether the owner is gone and the group is still the one that was recorded.
    fn is_left(&self, leader: Pid) -> bool {
        let owner = Pid::from_raw(self.owner).and_then(started);
        // A process id is not reused as long as a process of its group lives. So an existing leader is the recorded
        // one, unless the whole group is gone.
        let is_the_group = started(leader).is_none_or(|start| start == self.leader_started);
        boot().as_ref() == Some(&self.boot) && owner != Some(self.owner_started) && is_the_group
    }
}

/// How long to wait for a group to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval between checks.
const PAUSE: Duration = Duration::from_millis(2);

/// Ends the groups recorded in `dir` by processes that are gone, and returns their number. Waits until they are gone,
/// since their further writes would be attributed to the resumed run. Blocks.
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
        if note.is_left(leader) && is_there(leader) {
            if !(note.ends_itself && has_ended(leader)) {
                // It may have ended by now.
                kill_process_group(leader, Signal::KILL).ok();
                has_ended(leader);
            }
            ended += 1;
        }
        fs::remove_file(&path)?;
    }
    Ok(ended)
}

/// Waits for a group to become empty. Returns false on a timeout.
#[expect(clippy::disallowed_methods, reason = "the wait has a deadline, and is off the runtime")]
fn has_ended(group: Pid) -> bool {
    let began = Instant::now();
    while is_there(group) {
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Returns whether a process of a group is alive; zombies do not count.
fn is_there(group: Pid) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.any(|pid| {
        let fields = Pid::from_raw(pid).and_then(fields);
        let mut fields = fields.iter().flat_map(|fields| fields.split_whitespace());
        let (state, group_of) = (fields.next(), fields.nth(1));
        let is_of_group = group_of.is_some_and(|it| it.parse() == Ok(group.as_raw_nonzero().get()));
        is_of_group && !matches!(state, Some("Z" | "X"))
    })
}

/// Returns when a process was started, in ticks since boot; `None` if it is gone.
fn started(process: Pid) -> Option<u64> {
    let fields = fields(process)?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    // A zombie is gone.
    if state == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Returns the fields of a process's `stat` file, from its state on.
fn fields(process: Pid) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may contain anything.
    Some(stat.rsplit_once(')')?.1.to_owned())
}

/// Returns the id of the current boot.
fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "a test needs a process that does not end by itself"
    )]
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
            // An earlier process with the same id, now gone.
            owner_started: 0,
            leader_started: started(of).unwrap(),
            ends_itself: false,
        };
        change(&mut note);
        fs::write(dir.join(of.as_raw_nonzero().to_string()), note.to_text()).unwrap();
    }

    #[test]
    fn only_groups_whose_owner_is_gone_are_ended() {
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
        assert!(!left.try_wait().unwrap().unwrap().success(), "the call waits for its end");
        for alive in [&mut owned, &mut other, &mut of_old] {
            assert!(alive.try_wait().unwrap().is_none());
            alive.kill().unwrap();
            alive.wait().unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "the owned one, and the stray");
        assert_eq!(end_leftovers(&dir.path().join("none")).unwrap(), 0);
    }

    #[test]
    fn a_group_that_ends_itself_is_given_time() {
        let dir = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test needs a process that ends itself")]
        let mut left = Command::new("sh")
            .args(["-c", "read line; sleep 0.1; exit 7"])
            .stdin(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        note(dir.path(), pid(&left), |note| note.ends_itself = true);
        drop(left.stdin.take());
        end_leftovers(dir.path()).unwrap();
        assert_eq!(left.try_wait().unwrap().unwrap().code(), Some(7));
    }

    #[test]
    fn a_record_lasts_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = group();
        let noted = Noted::new(dir.path(), pid(&child), Ends::Killed).unwrap();
        assert_eq!(end_leftovers(dir.path()).unwrap(), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        drop(noted);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
