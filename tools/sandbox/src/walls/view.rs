//! A private root directory: the paths that the command may see are mounted into it, the tree is under an overlay, and
//! nothing else exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::pivot_root;

use super::super::changed::Layer;
use crate::orders::{Failure, Grants, Step, View};

/// Where the machine's root is mounted, and where the new root is while it is built.
const OLD: &str = "/old";
const NEW: &str = "/new";
/// Empty directories that any command may write to.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// How a path outside the tree appears.
enum Seen<'v> {
    Read,
    Link(&'v OsStr),
    Layered,
    Kept(&'v OsStr),
    Home,
}

/// Enters the view. Writes to the tree go to the returned layer, unless the tree is a copy.
pub(crate) fn enter(view: &View) -> Result<Option<Layer>, Failure> {
    let mut mounts = Mounts { written: BTreeSet::new(), layers: 0 };
    begin(view.scratch_bytes).map_err(|error| Failure::of(Step::Root, &error))?;
    for (path, seen) in elsewhere(view) {
        let shown = match seen {
            Seen::Read => bind(path, path),
            Seen::Link(says) => link(path, says),
            Seen::Layered => mounts.layer(path).map(drop),
            Seen::Kept(from) => mounts.write_through(Path::new(from), path),
            Seen::Home => mounts.empty(path),
        };
        shown.map_err(|error| on(Step::Bind, path, &error))?;
    }
    devices(&mut mounts).map_err(|error| Failure::of(Step::Devices, &error))?;
    let tree = Path::new(&view.tree);
    let layer = if view.is_copy {
        mounts.write_through(tree, tree).map(|()| None)
    } else {
        mounts.layer(tree).map(Some)
    };
    let layer = layer.map_err(|error| on(Step::Overlay, tree, &error))?;
    within(view, &mut mounts)?;
    mounts.close().map_err(|error| Failure::of(Step::Root, &error))?;
    finish(Path::new(&view.cwd)).map_err(|error| Failure::of(Step::Root, &error))?;
    Ok(layer)
}

/// Returns what Landlock grants in a view: reading everything in it, and writing to the writable paths.
pub(crate) fn grants(view: &View) -> Grants {
    let mut write: Vec<OsString> = [&view.tree].into_iter().chain(&view.home).cloned().collect();
    write.extend(view.built.iter().chain(&view.layered).cloned());
    write.extend(view.kept.iter().map(|(_, seen)| seen.clone()));
    write.extend(SCRATCH.map(OsString::from));
    // Nothing below `/proc`: for root, it contains settings of the whole machine.
    write.push("/dev".into());
    Grants { read: vec!["/".into()], list: Vec::new(), write }
}

/// Lists what appears outside the tree, parents before children. Paths in the tree are left out; they appear there anyway.
fn elsewhere(view: &View) -> BTreeMap<&Path, Seen<'_>> {
    let mut all = BTreeMap::new();
    all.extend(view.links.iter().map(|(path, says)| (Path::new(path), Seen::Link(says))));
    all.extend(view.read.iter().map(|path| (Path::new(path), Seen::Read)));
    all.extend(view.layered.iter().map(|path| (Path::new(path), Seen::Layered)));
    all.extend(view.kept.iter().map(|(from, path)| (Path::new(path), Seen::Kept(from))));
    all.extend(view.home.iter().map(|path| (Path::new(path), Seen::Home)));
    all.retain(|path, _| !path.starts_with(&view.tree));
    all
}

/// Applies the exceptions in the tree: build directories, read-only paths, hidden paths.
fn within(view: &View, mounts: &mut Mounts) -> Result<(), Failure> {
    for path in mounted_below(&view.tree)
        .iter()
        .chain(view.fixed.iter().map(PathBuf::from).collect::<Vec<_>>().iter())
    {
        bind(path, path).map_err(|error| on(Step::Bind, path, &error))?;
    }
    for path in view.built.iter().map(Path::new) {
        mounts.write_through(path, path).map_err(|error| on(Step::Bind, path, &error))?;
    }
    for path in view.hidden.iter().map(Path::new) {
        hide(path).map_err(|error| on(Step::Bind, path, &error))?;
    }
    Ok(())
}

fn on(step: Step, path: &Path, error: &io::Error) -> Failure {
    Failure { on: Some(path.display().to_string()), ..Failure::of(step, error) }
}

/// Makes an in-memory file system the root, with the machine's root at [`OLD`] and an empty one at [`NEW`].
fn begin(scratch_bytes: u64) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    // Any directory will do: its content reappears when the mount moves to the root.
    let base = ["/tmp", "/var", "/usr"].into_iter().find(|path| Path::new(path).is_dir());
    let base = base.ok_or(io::ErrorKind::NotFound)?;
    in_memory(base, scratch_bytes)?;
    std::env::set_current_dir(base)?;
    for name in ["old", "new", "void"] {
        fs::create_dir(name)?;
    }
    pivot_root(".", "old")?;
    std::env::set_current_dir("/")?;
    fs::write("empty", "")?;
    fs::set_permissions("empty", fs::Permissions::from_mode(0o444))?;
    in_memory(NEW, scratch_bytes)?;
    for path in SCRATCH {
        let dir = inside(Path::new(path));
        fs::create_dir_all(&dir)?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o1777))?;
    }
    bind(Path::new("/proc"), Path::new("/proc"))
}

fn in_memory(at: impl AsRef<Path>, bytes: u64) -> io::Result<()> {
    let options = format!("mode=0755,size={bytes}\0");
    let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes())
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    mount("tmpfs", at.as_ref(), "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?;
    Ok(())
}

/// Makes the new root the only one.
fn finish(cwd: &Path) -> io::Result<()> {
    std::env::set_current_dir(NEW)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir(cwd)
}

/// Returns where a path of the machine is while the new root is built.
fn outside(path: &Path) -> PathBuf {
    below(OLD, path)
}

/// Returns where a path of the new root is while it is built.
fn inside(path: &Path) -> PathBuf {
    below(NEW, path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

/// Mounts `from` at `path`, including mounts below it. Does nothing if `from` does not exist.
fn bind(from: &Path, path: &Path) -> io::Result<()> {
    let from = outside(from);
    let Ok(data) = fs::symlink_metadata(&from) else { return Ok(()) };
    let at = inside(path);
    place(&at, data.is_dir())?;
    mount_bind_recursive(&from, &at)?;
    Ok(())
}

/// Creates the mount point if it does not exist.
fn place(at: &Path, is_dir: bool) -> io::Result<()> {
    if fs::symlink_metadata(at).is_ok() {
        return Ok(());
    }
    if is_dir {
        return fs::create_dir_all(at);
    }
    if let Some(above) = at.parent() {
        fs::create_dir_all(above)?;
    }
    OpenOptions::new().create_new(true).write(true).open(at).map(drop)
}

fn link(path: &Path, says: &OsStr) -> io::Result<()> {
    let at = inside(path);
    if fs::symlink_metadata(&at).is_ok() {
        return Ok(());
    }
    if let Some(above) = at.parent() {
        fs::create_dir_all(above)?;
    }
    symlink(says, at)
}

/// Mounts something empty over a path.
fn hide(path: &Path) -> io::Result<()> {
    let at = inside(path);
    let Ok(data) = fs::symlink_metadata(&at) else { return Ok(()) };
    // The target of a link is hidden at its own path.
    if !data.is_symlink() {
        mount_bind_recursive(if data.is_dir() { "/void" } else { "/empty" }, &at)?;
    }
    Ok(())
}

fn devices(mounts: &mut Mounts) -> io::Result<()> {
    let dev = Path::new("/dev");
    for name in DEVICES {
        let device = dev.join(name);
        bind(&device, &device)?;
        mounts.written.insert(inside(&device));
    }
    let terminals = dev.join("pts");
    let at = inside(&terminals);
    fs::create_dir_all(&at)?;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    mount("devpts", &at, "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options)?;
    mounts.written.insert(at);
    let links = [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ];
    for (name, says) in links {
        link(&dev.join(name), OsStr::new(says))?;
    }
    Ok(())
}

/// The writable mounts of the new root, and the number of its layers.
struct Mounts {
    /// Mounts that stay writable.
    written: BTreeSet<PathBuf>,
    layers: usize,
}

impl Mounts {
    /// Shows a directory under an overlay layer that receives its writes and is discarded.
    fn layer(&mut self, path: &Path) -> io::Result<Layer> {
        let lower = outside(path);
        let at = inside(path);
        place(&at, true)?;
        self.layers += 1;
        let dir = PathBuf::from(format!("/layer{}", self.layers));
        for part in ["upper", "work"] {
            fs::create_dir_all(dir.join(part))?;
        }
        // An overlay's root directory has the mode of its upper layer.
        let mode = fs::metadata(&lower)?.permissions();
        fs::set_permissions(dir.join("upper"), mode)?;
        // Named as the current directory, so that its path may contain any character.
        std::env::set_current_dir(&lower)?;
        let options = format!(
            "lowerdir=.,upperdir=/layer{0}/upper,workdir=/layer{0}/work,userxattr\0",
            self.layers
        );
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes())
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        let mounted =
            mount("overlay", &at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options);
        std::env::set_current_dir("/")?;
        mounted?;
        self.written.insert(at);
        Ok(Layer { upper: File::open(dir.join("upper"))?, lower: File::open(lower)? })
    }

    /// Shows a writable directory.
    fn write_through(&mut self, from: &Path, path: &Path) -> io::Result<()> {
        bind(from, path)?;
        self.written.insert(inside(path));
        Ok(())
    }

    /// Shows an empty, writable directory.
    fn empty(&mut self, path: &Path) -> io::Result<()> {
        let at = inside(path);
        place(&at, true)?;
        in_memory(&at, 0)?;
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700))?;
        self.written.insert(at);
        Ok(())
    }

    /// Makes every mount in the new root read-only, except the writable ones.
    fn close(&self) -> io::Result<()> {
        let below = mounts()?.into_iter().filter(|at| at.starts_with(NEW) && *at != Path::new(NEW));
        for mounted in below.filter(|at| !self.written.contains(at)) {
            read_only(&mounted)?;
        }
        Ok(())
    }
}

fn read_only(mounted: &Path) -> io::Result<()> {
    let now = statvfs(mounted)?.f_flag;
    if now.contains(StatVfsMountFlags::RDONLY) {
        return Ok(());
    }
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (is, stays) in kept {
        if now.contains(is) {
            flags |= stays;
        }
    }
    mount_remount(mounted, flags, c"")?;
    Ok(())
}

/// Returns the mounts below a directory of the machine. An overlay does not include them.
fn mounted_below(dir: &OsStr) -> Vec<PathBuf> {
    let old = outside(Path::new(dir));
    let all = mounts().unwrap_or_default();
    let below = all.into_iter().filter(|path| path.starts_with(&old) && *path != old);
    below.filter_map(|path| Some(Path::new("/").join(path.strip_prefix(OLD).ok()?))).collect()
}

/// Returns all mount points, in the order in which they were mounted.
fn mounts() -> io::Result<Vec<PathBuf>> {
    let table = fs::read(inside(Path::new("/proc/self/mountinfo")))?;
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(|point| PathBuf::from(OsString::from_vec(unescaped(point)))).collect())
}

/// Decodes a path of the mount table, in which blanks and other special characters are written as a backslash and three
/// octal digits.
fn unescaped(mut text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    while let [byte, rest @ ..] = text {
        text = rest;
        if *byte == b'\\'
            && let [a, b, c, rest @ ..] = rest
            && let Some(code) = OsStr::from_bytes(&[*a, *b, *c]).to_str()
            && let Ok(code) = u8::from_str_radix(code, 8)
        {
            plain.push(code);
            text = rest;
            continue;
        }
        plain.push(*byte);
    }
    plain
}

/// Mounts a read-only `/proc` that shows only this pid namespace.
pub(crate) fn own_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, c"")?;
    Ok(())
}
