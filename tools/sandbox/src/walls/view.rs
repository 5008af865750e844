//! A root directory of its own: what the command may see is bound into it, the tree lies under an overlay, and all else is not
//! there.

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

/// Where the root of the machine is, and where the new one, while it is built.
const OLD: &str = "/old";
const NEW: &str = "/new";
/// Directories that are empty, and any command may write to.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Something that is seen at a path outside the tree.
enum Seen<'v> {
    Read,
    Link(&'v OsStr),
    Layered,
    Kept(&'v OsStr),
    Home,
}

/// Enters the view. What is written to the tree goes to the layer that is returned, unless the tree is a copy.
pub(crate) fn enter(view: &View) -> Result<Option<Layer>, Failure> {
    let mut rooms = Rooms { written: BTreeSet::new(), layers: 0 };
    begin(view.scratch_bytes).map_err(|error| Failure::of(Step::Root, &error))?;
    for (path, seen) in elsewhere(view) {
        let shown = match seen {
            Seen::Read => bind(path, path),
            Seen::Link(says) => link(path, says),
            Seen::Layered => rooms.layer(path).map(drop),
            Seen::Kept(from) => rooms.write_through(Path::new(from), path),
            Seen::Home => rooms.empty(path),
        };
        shown.map_err(|error| on(Step::Bind, path, &error))?;
    }
    devices(&mut rooms).map_err(|error| Failure::of(Step::Devices, &error))?;
    let tree = Path::new(&view.tree);
    let layer = if view.is_copy {
        rooms.write_through(tree, tree).map(|()| None)
    } else {
        rooms.layer(tree).map(Some)
    };
    let layer = layer.map_err(|error| on(Step::Overlay, tree, &error))?;
    within(view, &mut rooms)?;
    rooms.close().map_err(|error| Failure::of(Step::Root, &error))?;
    finish(Path::new(&view.cwd)).map_err(|error| Failure::of(Step::Root, &error))?;
    Ok(layer)
}

/// What Landlock grants in a view: to read what is there, to write what may be written.
pub(crate) fn grants(view: &View) -> Grants {
    let mut write: Vec<OsString> = [&view.tree].into_iter().chain(&view.home).cloned().collect();
    write.extend(view.built.iter().chain(&view.layered).cloned());
    write.extend(view.kept.iter().map(|(_, seen)| seen.clone()));
    write.extend(SCRATCH.map(OsString::from));
    // Nothing below `/proc`: to root, settings of the whole machine are files there.
    write.push("/dev".into());
    Grants { read: vec!["/".into()], list: Vec::new(), write }
}

/// What is seen outside the tree, what lies above before what lies below. What lies in the tree is seen there.
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

/// What is different in the tree: build directories, what is not written over, what is not shown.
fn within(view: &View, rooms: &mut Rooms) -> Result<(), Failure> {
    for path in mounted_below(&view.tree)
        .iter()
        .chain(view.fixed.iter().map(PathBuf::from).collect::<Vec<_>>().iter())
    {
        bind(path, path).map_err(|error| on(Step::Bind, path, &error))?;
    }
    for path in view.built.iter().map(Path::new) {
        rooms.write_through(path, path).map_err(|error| on(Step::Bind, path, &error))?;
    }
    for path in view.hidden.iter().map(Path::new) {
        hide(path).map_err(|error| on(Step::Bind, path, &error))?;
    }
    Ok(())
}

fn on(step: Step, path: &Path, error: &io::Error) -> Failure {
    Failure { on: Some(path.display().to_string()), ..Failure::of(step, error) }
}

/// Makes a file system in memory the root, with the machine's below [`OLD`] and one to be filled at [`NEW`].
fn begin(scratch_bytes: u64) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    // Any directory will do: what it has comes back when the mount moves to the root.
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

/// Where a path of the machine is while the new root is built.
fn outside(path: &Path) -> PathBuf {
    below(OLD, path)
}

/// Where a path of the new root is meanwhile.
fn inside(path: &Path) -> PathBuf {
    below(NEW, path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

/// Shows what is at `from` at `path`, with all that is mounted below. What is not there is not shown.
fn bind(from: &Path, path: &Path) -> io::Result<()> {
    let from = outside(from);
    let Ok(data) = fs::symlink_metadata(&from) else { return Ok(()) };
    let at = inside(path);
    place(&at, data.is_dir())?;
    mount_bind_recursive(&from, &at)?;
    Ok(())
}

/// Makes sure that there is something to mount on.
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

/// Shows something empty in the place of what is there.
fn hide(path: &Path) -> io::Result<()> {
    let at = inside(path);
    let Ok(data) = fs::symlink_metadata(&at) else { return Ok(()) };
    // What a link leads to is hidden by its own name.
    if !data.is_symlink() {
        mount_bind_recursive(if data.is_dir() { "/void" } else { "/empty" }, &at)?;
    }
    Ok(())
}

fn devices(rooms: &mut Rooms) -> io::Result<()> {
    let dev = Path::new("/dev");
    for name in DEVICES {
        let device = dev.join(name);
        bind(&device, &device)?;
        rooms.written.insert(inside(&device));
    }
    let terminals = dev.join("pts");
    let at = inside(&terminals);
    fs::create_dir_all(&at)?;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    mount("devpts", &at, "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options)?;
    rooms.written.insert(at);
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

/// What of the new root is written, and how many layers it has.
struct Rooms {
    /// Mounts that stay writable.
    written: BTreeSet<PathBuf>,
    layers: usize,
}

impl Rooms {
    /// Shows a directory under a layer that takes what is written to it, and is thrown away.
    fn layer(&mut self, path: &Path) -> io::Result<Layer> {
        let lower = outside(path);
        let at = inside(path);
        place(&at, true)?;
        self.layers += 1;
        let room = PathBuf::from(format!("/layer{}", self.layers));
        for part in ["upper", "work"] {
            fs::create_dir_all(room.join(part))?;
        }
        // Of the directory itself, the mode counts that the layer has.
        let mode = fs::metadata(&lower)?.permissions();
        fs::set_permissions(room.join("upper"), mode)?;
        // Named from where it is, it may have any name.
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
        Ok(Layer { upper: File::open(room.join("upper"))?, lower: File::open(lower)? })
    }

    /// Shows a directory that is written.
    fn write_through(&mut self, from: &Path, path: &Path) -> io::Result<()> {
        bind(from, path)?;
        self.written.insert(inside(path));
        Ok(())
    }

    /// Shows an empty directory that may be written to.
    fn empty(&mut self, path: &Path) -> io::Result<()> {
        let at = inside(path);
        place(&at, true)?;
        in_memory(&at, 0)?;
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700))?;
        self.written.insert(at);
        Ok(())
    }

    /// Makes everything that is mounted in the new root read-only, but for what is written.
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

/// What is mounted below a directory of the machine: an overlay does not show it.
fn mounted_below(dir: &OsStr) -> Vec<PathBuf> {
    let old = outside(Path::new(dir));
    let all = mounts().unwrap_or_default();
    let below = all.into_iter().filter(|path| path.starts_with(&old) && *path != old);
    below.filter_map(|path| Some(Path::new("/").join(path.strip_prefix(OLD).ok()?))).collect()
}

/// Where something is mounted, in the order in which it was.
fn mounts() -> io::Result<Vec<PathBuf>> {
    let table = fs::read(inside(Path::new("/proc/self/mountinfo")))?;
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(|point| PathBuf::from(OsString::from_vec(unescaped(point)))).collect())
}

/// A path of the table, in which blanks and the like are three octal digits behind a backslash.
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

/// Shows a `/proc` of the pid namespace alone, which is read.
pub(crate) fn own_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, c"")?;
    Ok(())
}
