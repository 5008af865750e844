//! Remembers that full confinement works here, so that it need not be tried at each start. Only that is remembered: what
//! does not work may work after the next change to the machine.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tools::regular;

use crate::orders::Lack;
use crate::report::SELF;

const NAME: &str = "full";
/// Maximum size of the note, in bytes.
const MAX_BYTES: u64 = 1 << 16;
/// What decides whether namespaces can be created, and the profile that confines this program itself.
const SWITCHES: [&str; 5] = [
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/self/attr/current",
];

/// The note in a directory of the workspace.
pub(crate) struct RememberedLevel(PathBuf);

impl RememberedLevel {
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self(dir.join(NAME))
    }

    /// Returns what full confinement lacks, if it is known to work in these circumstances.
    pub(crate) fn read(&self) -> Option<Vec<Lack>> {
        let text = regular::read_text(&self.0, MAX_BYTES).ok()?;
        let (lacks, circumstances) = text.split_once('\n')?;
        (circumstances == self::circumstances()?).then(|| serde_json::from_str(lacks).ok())?
    }

    pub(crate) fn write(&self, lacks: &[Lack]) {
        let Some((circumstances, lacks)) = circumstances().zip(serde_json::to_string(lacks).ok())
        else {
            return;
        };
        let text = format!("{lacks}\n{circumstances}");
        if let Err(error) = regular::write_regular_file(&self.0, text.as_bytes()) {
            tracing::debug!(%error, "could not remember the level of confinement");
        }
    }

    pub(crate) fn forget(&self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Describes everything that decides how far commands can be confined: the boot, the namespaces and the user that this
/// process belongs to, the program, the settings of the kernel. `None` if it cannot be determined.
fn circumstances() -> Option<String> {
    let mut text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    for name in ["user", "mnt", "pid"] {
        let to = fs::read_link(format!("/proc/self/ns/{name}")).ok()?;
        writeln!(text, "{}", to.display()).ok()?;
    }
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let capabilities = rustix::thread::capabilities(None).ok()?.effective;
    writeln!(text, "{} {} {}", user.as_raw(), group.as_raw(), capabilities.bits()).ok()?;
    // The change time of a file cannot be set, so this is as good as a hash of its content.
    let program = fs::metadata(SELF).ok()?;
    let changed = (program.ctime(), program.ctime_nsec());
    writeln!(text, "{} {} {} {changed:?}", program.dev(), program.ino(), program.len()).ok()?;
    for switch in SWITCHES {
        let value = fs::read_to_string(switch).unwrap_or_default();
        writeln!(text, "{switch} {}", value.trim()).ok()?;
    }
    Some(text)
}
