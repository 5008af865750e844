//! Layers over directories: what is written goes to an overlay, and the directory underneath stays as it is.
//!
//! The kernel puts no overlay over a directory in which something is mounted. Such a directory is taken apart: its files
//! are copied, and each of its directories gets a layer of its own, as does each mount.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount, mount_bind_recursive};

use super::mounts::{mounts, read_only};
use crate::changed::Layer;

/// Where layers are kept in memory.
pub(super) const LAYERS: &str = "/layers";
/// Maximum number of layers.
const MAX_LAYERS: usize = 1000;
/// Larger files of a directory that is taken apart are not copied. They are read-only.
const MAX_COPIED: u64 = 64 << 20;

/// Returns where the layers with this number are shown in the process that holds them.
pub(crate) fn held(number: usize) -> PathBuf {
    Path::new("/held").join(number.to_string())
}

/// Makes layers, each with a number.
pub(super) struct Layers {
    /// The directory with what is written to them.
    dir: PathBuf,
    count: usize,
}

impl Layers {
    pub(super) const fn in_dir(dir: PathBuf) -> Self {
        Self { dir, count: 0 }
    }

    /// Shows `lower` at `at`, an existing directory, under as many layers as it takes.
    pub(super) fn lay(&mut self, lower: &Path, at: &Path) -> io::Result<Vec<Layer>> {
        let below = mounts()?;
        let below: Vec<PathBuf> =
            below.into_iter().filter(|path| path.starts_with(lower) && path != lower).collect();
        let mut laid = Vec::new();
        self.lay_below((lower, at), Path::new(""), &below, &mut laid)?;
        Ok(laid)
    }

    /// As [`Self::lay`], for the directory `path` below both, with the mounts in it.
    fn lay_below(
        &mut self,
        (lower, at): (&Path, &Path),
        path: &Path,
        below: &[PathBuf],
        laid: &mut Vec<Layer>,
    ) -> io::Result<()> {
        let mut waiting = vec![path.to_owned()];
        while let Some(path) = waiting.pop() {
            let (from, to) = (lower.join(&path), at.join(&path));
            if below.iter().any(|mounted| mounted.starts_with(&from) && *mounted != from) {
                let (upper, lower) = (File::open(&to)?, File::open(&from)?);
                laid.push(Layer { at: path.clone(), written: to.clone(), upper, lower });
                for name in take_apart(&from, &to, below)? {
                    waiting.push(path.join(name));
                }
                continue;
            }
            match self.overlay(&from, &to, path.clone()) {
                Ok(layer) => laid.push(layer),
                // Some file systems cannot be under an overlay.
                Err(_) if below.contains(&from) => read_only_bind(&from, &to)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Mounts an overlay at `at`.
    fn overlay(&mut self, lower: &Path, at: &Path, path: PathBuf) -> io::Result<Layer> {
        self.count += 1;
        if self.count > MAX_LAYERS {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        }
        let dir = self.dir.join(self.count.to_string());
        for part in ["upper", "work"] {
            fs::create_dir_all(dir.join(part))?;
        }
        // An overlay's root directory has the mode of its upper layer.
        let mode = fs::metadata(lower)?.permissions();
        fs::set_permissions(dir.join("upper"), mode)?;
        // Named as the current directory, so that its path may contain any character.
        std::env::set_current_dir(lower)?;
        let dir = dir.to_string_lossy();
        let options =
            format!("lowerdir=.,upperdir={dir}/upper,workdir={dir}/work,userxattr,index=off\0");
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes())
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        let mounted =
            mount("overlay", at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options);
        std::env::set_current_dir("/")?;
        mounted?;
        let written = Path::new(&*dir).join("upper");
        let (upper, lower) = (File::open(&written)?, File::open(lower)?);
        Ok(Layer { at: path, written, upper, lower })
    }
}

/// Copies the files and links of a directory that has mounts below it. Returns the names of its directories, which are
/// created.
fn take_apart(from: &Path, to: &Path, below: &[PathBuf]) -> io::Result<Vec<OsString>> {
    let mut dirs = Vec::new();
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, source, target) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&target)?;
            dirs.push(entry.file_name());
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            let data = entry.metadata()?;
            if data.len() > MAX_COPIED || below.contains(&source) {
                File::create_new(&target)?;
                read_only_bind(&source, &target)?;
            } else {
                copy(&source, &target)?;
            }
        }
    }
    Ok(dirs)
}

/// Copies a file with its mode and times. A file that cannot be read is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from, to) {
        Ok(_) => {
            let modified = fs::metadata(from)?.modified()?;
            File::open(to)?.set_times(FileTimes::new().set_modified(modified))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

fn read_only_bind(from: &Path, to: &Path) -> io::Result<()> {
    mount_bind_recursive(from, to)?;
    read_only(to)
}
