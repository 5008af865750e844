//! What a file has besides its content: permission bits, owner, extended attributes, other names. A new file gets what the one
//! that it replaces has; where that is impossible, the old file is written to instead.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, fchown};

use rustix::fs::{Mode, OFlags, XattrFlags};
use rustix::io::Errno;

/// Taken away by the system from every file that is written to.
const CAPABILITIES: &CStr = c"security.capability";
/// Maximum size of the names, and of a value, of extended attributes.
const MAX_BYTES: usize = 1 << 16;

/// The attributes of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Permission bits, without set-id and sticky bits.
    pub(crate) mode: Mode,
    /// User and group; `None` for those that a new file has.
    owner: Option<(u32, u32)>,
    /// `None` if they cannot be read.
    extended: Option<BTreeMap<CString, Vec<u8>>>,
    /// The inode and its number of names.
    inode: u64,
    names: u64,
}

impl Attributes {
    /// Returns the attributes of a regular file; `None` for anything else.
    pub(crate) fn of(dir: BorrowedFd<'_>, name: &str) -> Option<Attributes> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty()).ok()?);
        let data = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Attributes {
            mode: Mode::from_raw_mode(data.mode() & 0o777),
            owner: Some((data.uid(), data.gid())),
            extended: extended(&file).ok(),
            inode: data.ino(),
            names: data.nlink(),
        })
    }

    /// Returns the attributes of a new file with these permission bits.
    pub(crate) fn fresh(mode: u32) -> Attributes {
        let mode = Mode::from_raw_mode(mode & 0o777);
        Attributes { mode, owner: None, extended: Some(BTreeMap::new()), inode: 0, names: 0 }
    }

    /// Returns the same attributes with other permission bits.
    pub(crate) fn with_mode(&self, mode: Mode) -> Attributes {
        Attributes { mode, ..self.clone() }
    }

    /// Gives a new file the same permission bits, owner and extended attributes, as far as the system allows it.
    pub(crate) fn give(&self, file: &File) -> io::Result<()> {
        let data = file.metadata()?;
        if let Some((user, group)) = self.owner.filter(|it| *it != (data.uid(), data.gid())) {
            let given = fchown(file, Some(user), Some(group));
            given.or_else(|_| fchown(file, None, Some(group))).unwrap_or_default();
        }
        let has = extended(file).unwrap_or_default();
        let wanted = self.extended.iter().flatten();
        for (name, value) in wanted.filter(|(name, value)| has.get(*name) != Some(value)) {
            rustix::fs::fsetxattr(file, name.as_c_str(), value, XattrFlags::empty())
                .unwrap_or_default();
        }
        // Last, because a new owner and access lists change it.
        Ok(rustix::fs::fchmod(file, self.mode)?)
    }

    /// Returns true if a file with these attributes can be replaced by the file `new`, next to which `kept` may be another
    /// name of it: no other name is left behind, and owner and extended attributes stay.
    pub(crate) fn stay_in(&self, dir: BorrowedFd<'_>, new: &str, kept: &str) -> bool {
        let is_kept = Attributes::of(dir, kept).is_some_and(|kept| kept.inode == self.inode);
        let new = Attributes::of(dir, new);
        self.names == 1 + u64::from(is_kept)
            && self.extended.is_some()
            && new.is_some_and(|new| new.owner == self.owner && new.extended == self.extended)
    }

    /// Returns true if the file will probably be written to rather than replaced.
    pub(crate) fn are_rooted(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        self.names > 1 || self.owner.is_some_and(|(user, _)| user != own)
    }
}

fn extended(file: impl AsFd) -> Result<BTreeMap<CString, Vec<u8>>, Errno> {
    let mut names = vec![0; MAX_BYTES];
    let used = match rustix::fs::flistxattr(&file, names.as_mut_slice()) {
        // The file system has none.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        used => used?,
    };
    names.truncate(used);
    let names = names.split_inclusive(|byte| *byte == 0);
    let names = names.filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    let mut extended = BTreeMap::new();
    for name in names.filter(|name| *name != CAPABILITIES) {
        let mut value = vec![0; MAX_BYTES];
        let used = rustix::fs::fgetxattr(&file, name, value.as_mut_slice())?;
        value.truncate(used);
        extended.insert(name.to_owned(), value);
    }
    Ok(extended)
}
