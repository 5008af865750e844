//! A private root directory: the paths that the command may see are mounted into it, the tree is under layers that
//! receive what the command writes, and nothing else exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    unmount,
};
use rustix::process::pivot_root;

use super::layers::{LAYERS, Layers, held};
use super::mounts::{OLD, mounts, read_only};
use crate::changed::Layer;
use crate::orders::{
    ConfinementStep, Failure, FileSystemView, Grants, HeldLayer, HoldOrders, ShownElsewhere,
};

/// Where the new root is while it is built.
const NEW: &str = "/new";
/// Directories that any command may write to, empty at first.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Where the process that holds layers keeps those directories, and the home directory of commands.
const KEPT: &str = "/kept";
const HOME: &str = "home";
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// How a path outside the tree appears.
enum Seen<'v> {
    Read,
    Link(&'v OsStr),
    Layered,
    Kept(&'v OsStr),
    Home,
}

/// Mounts layers for other processes to join.
pub(crate) fn hold(orders: &HoldOrders) -> Result<Vec<HeldLayer>, Failure> {
    let root = |error: io::Error| Failure::of(ConfinementStep::Root, &error);
    base(orders.scratch_bytes).map_err(root)?;
    for path in SCRATCH {
        empty_for_all(&kept(path)).map_err(root)?;
    }
    let home = Path::new(KEPT).join(HOME);
    fs::create_dir_all(&home).map_err(root)?;
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).map_err(root)?;
    let on_disk = orders.on_disk.as_ref().map(|dir| outside(Path::new(dir)));
    let mut layers = Layers::in_dir(on_disk.unwrap_or_else(|| LAYERS.into()));
    let mut all = Vec::new();
    for (number, path) in orders.layers.iter().map(Path::new).enumerate() {
        let at = held(number);
        let laid = fs::create_dir_all(&at).and_then(|()| layers.lay(&outside(path), &at));
        let laid = laid.map_err(|error| on(ConfinementStep::Overlay, path, &error))?;
        let told = |Layer { at, written, .. }: Layer| HeldLayer {
            number,
            at: at.into(),
            written: written.into(),
        };
        all.extend(laid.into_iter().map(told));
    }
    Ok(all)
}

/// Shows directories at other paths, in this mount namespace.
pub(crate) fn show_elsewhere(shown: &ShownElsewhere) -> Result<(), Failure> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(|error| Failure::of(ConfinementStep::Root, &error.into()))?;
    for (from, at) in shown.dirs.iter().map(|(from, at)| (Path::new(from), Path::new(at))) {
        mount_bind_recursive(from, at)
            .map_err(|error| on(ConfinementStep::Bind, at, &error.into()))?;
    }
    let cwd = Path::new(&shown.cwd);
    std::env::set_current_dir(cwd).map_err(|error| on(ConfinementStep::Bind, cwd, &error))
}

/// Enters the view. Returns the layers that receive writes to the tree, if they are the command's own.
pub(crate) fn enter_view(view: &FileSystemView) -> Result<Vec<Layer>, Failure> {
    let root = |error: io::Error| Failure::of(ConfinementStep::Root, &error);
    let held_layers = view.held.as_ref().map_or(&[][..], |held| &held.layers);
    if view.held.is_none() {
        base(view.scratch_bytes).map_err(root)?;
    }
    let own = format!("{LAYERS}-of-{}", rustix::process::getpid().as_raw_nonzero());
    let mut mounts = Mounts {
        written: BTreeSet::new(),
        layers: Layers::in_dir(own.into()),
        held: held_layers,
        is_held: view.held.is_some(),
    };
    mounts.new_root(view.scratch_bytes).map_err(root)?;
    for (path, seen) in elsewhere(view) {
        let shown = match seen {
            Seen::Read => bind(path, path),
            Seen::Link(says) => link(path, says),
            Seen::Layered => mounts.layer(path, path).map(drop),
            Seen::Kept(from) => mounts.write_through(Path::new(from), path),
            Seen::Home => mounts.home(path),
        };
        shown.map_err(|error| on(ConfinementStep::Bind, path, &error))?;
    }
    for (path, text) in &view.made {
        let path = Path::new(path);
        make(path, text, view.kept_home.is_some())
            .map_err(|error| on(ConfinementStep::Bind, path, &error))?;
    }
    devices(&mut mounts).map_err(|error| Failure::of(ConfinementStep::Devices, &error))?;
    let (source, tree) = (Path::new(&view.source), Path::new(&view.tree));
    let laid = if view.is_kept {
        mounts.write_through(source, tree).map(|()| Vec::new())
    } else {
        mounts.layer(source, tree)
    };
    let laid = laid.map_err(|error| on(ConfinementStep::Overlay, tree, &error))?;
    within(view, &mut mounts)?;
    mounts.close().map_err(root)?;
    finish(Path::new(&view.cwd)).map_err(root)?;
    Ok(laid)
}

/// Returns what Landlock grants in a view: reading everything in it, and writing to the writable paths.
pub(crate) fn grants(view: &FileSystemView) -> Grants {
    let mut write: Vec<OsString> = [&view.tree].into_iter().chain(&view.home).cloned().collect();
    write.extend(view.layered.iter().cloned());
    write.extend(view.caches.iter().chain(&view.kept).map(|(_, seen)| seen.clone()));
    write.extend(SCRATCH.map(OsString::from));
    // Nothing below `/proc`: for root, it contains settings of the whole machine.
    write.push("/dev".into());
    Grants { read: vec!["/".into()], list: Vec::new(), write }
}

/// Lists what appears outside the tree, parents before children. Paths in the tree are left out; they appear there anyway.
fn elsewhere(view: &FileSystemView) -> BTreeMap<&Path, Seen<'_>> {
    let mut all = BTreeMap::new();
    all.extend(view.links.iter().map(|(path, says)| (Path::new(path), Seen::Link(says))));
    all.extend(view.read.iter().map(|path| (Path::new(path), Seen::Read)));
    all.extend(view.layered.iter().map(|path| (Path::new(path), Seen::Layered)));
    all.extend(view.kept.iter().map(|(from, path)| (Path::new(path), Seen::Kept(from))));
    let home = view.home.iter().map(Path::new);
    all.extend(home.map(|path| (path, view.kept_home.as_deref().map_or(Seen::Home, Seen::Kept))));
    all.retain(|path, _| !path.starts_with(&view.tree));
    all
}

/// Applies the exceptions in the tree: caches, read-only paths, hidden paths.
fn within(view: &FileSystemView, mounts: &mut Mounts<'_>) -> Result<(), Failure> {
    for path in view.fixed.iter().map(Path::new) {
        mounts.fix(path).map_err(|error| on(ConfinementStep::Bind, path, &error))?;
    }
    for (from, path) in view.caches.iter().map(|(from, path)| (Path::new(from), Path::new(path))) {
        mounts
            .write_through(from, path)
            .map_err(|error| on(ConfinementStep::Bind, path, &error))?;
    }
    for path in view.hidden.iter().map(Path::new) {
        hide(path).map_err(|error| on(ConfinementStep::Bind, path, &error))?;
    }
    Ok(())
}

fn on(step: ConfinementStep, path: &Path, error: &io::Error) -> Failure {
    Failure { on: Some(path.display().to_string()), ..Failure::of(step, error) }
}

/// Makes an in-memory file system the root, with the machine's root at [`OLD`] and an empty directory at [`NEW`].
fn base(scratch_bytes: u64) -> io::Result<()> {
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
    fs::set_permissions("empty", fs::Permissions::from_mode(0o444))
}

fn in_memory(at: impl AsRef<Path>, bytes: u64) -> io::Result<()> {
    let options = format!("mode=0755,size={bytes}\0");
    let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes())
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    mount("tmpfs", at.as_ref(), "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?;
    Ok(())
}

/// Creates a directory that everyone may write to.
fn empty_for_all(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o1777))
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

/// Returns where the process that holds layers keeps a directory.
fn kept(path: &str) -> PathBuf {
    below(KEPT, Path::new(path))
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

/// Mounts `from` at `path`, including mounts below it. Does nothing if `from` does not exist.
fn bind(from: &Path, path: &Path) -> io::Result<()> {
    bind_exactly(&outside(from), &inside(path))
}

fn bind_exactly(from: &Path, at: &Path) -> io::Result<()> {
    let Ok(data) = fs::symlink_metadata(from) else { return Ok(()) };
    place(at, data.is_dir())?;
    mount_bind_recursive(from, at)?;
    Ok(())
}

/// Creates the mount point if it does not exist. Follows no symbolic link on the way, but takes its place: a command may have left
/// one in a directory that is kept, and it would lead out of the new root. Real paths have none.
fn place(at: &Path, is_dir: bool) -> io::Result<()> {
    let (Some(above), Some(last)) = (at.parent(), at.file_name()) else { return Ok(()) };
    let mut dir = open("/", WALKED | OFlags::DIRECTORY, Mode::empty())?;
    for name in above.iter().skip(1) {
        dir = step(&dir, name, true)?;
    }
    step(&dir, last, is_dir).map(drop)
}

/// How a mount point is walked to.
const WALKED: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens what is in a directory, and creates it if it is not there.
fn step(dir: &OwnedFd, name: &OsStr, is_dir: bool) -> io::Result<OwnedFd> {
    let made = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let create = || {
        if is_dir {
            mkdirat(dir, name, Mode::from(0o755))
        } else {
            openat(dir, name, made, Mode::from(0o644)).map(drop)
        }
    };
    let is_link = || {
        let data = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        data.is_ok_and(|data| FileType::from_raw_mode(data.st_mode) == FileType::Symlink)
    };
    match create() {
        Err(Errno::EXIST) if is_link() => {
            unlinkat(dir, name, AtFlags::empty())?;
            create()?;
        }
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    // A link that took its place meanwhile is no directory.
    let kind = if is_dir { OFlags::DIRECTORY } else { OFlags::empty() };
    Ok(openat(dir, name, WALKED | kind, Mode::empty())?)
}

fn link(path: &Path, says: &OsStr) -> io::Result<()> {
    let at = inside(path);
    if let Some(above) = at.parent() {
        place(above, true)?;
    }
    match fs::symlink_metadata(&at) {
        // One that is kept may lead elsewhere.
        Ok(data) if data.is_symlink() => fs::remove_file(&at)?,
        Ok(_) => return Ok(()),
        Err(_) => {}
    }
    symlink(says, at)
}

/// Creates a file, unless an earlier command of the same layers has it.
fn make(path: &Path, text: &str, anew: bool) -> io::Result<()> {
    if anew {
        fs::remove_file(inside(path)).ok();
    }
    match OpenOptions::new().create_new(true).write(true).open(inside(path)) {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
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

fn devices(mounts: &mut Mounts<'_>) -> io::Result<()> {
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

/// The writable mounts of the new root, and its layers.
struct Mounts<'v> {
    /// Mounts that stay writable.
    written: BTreeSet<PathBuf>,
    layers: Layers,
    /// The directories under layers that another process holds.
    held: &'v [OsString],
    is_held: bool,
}

impl Mounts<'_> {
    /// Mounts the new root, with directories that any command may write to.
    fn new_root(&mut self, scratch_bytes: u64) -> io::Result<()> {
        in_memory(NEW, scratch_bytes)?;
        for path in SCRATCH {
            let at = inside(Path::new(path));
            empty_for_all(&at)?;
            if self.is_held {
                mount_bind_recursive(kept(path), &at)?;
                self.written.insert(at);
            }
        }
        bind(Path::new("/proc"), Path::new("/proc"))
    }

    /// Shows a directory under layers that receive what is written. Returns them if they are the command's own.
    fn layer(&mut self, from: &Path, path: &Path) -> io::Result<Vec<Layer>> {
        let at = inside(path);
        place(&at, true)?;
        let laid = if let Some(number) = self.held.iter().position(|held| Path::new(held) == from) {
            mount_bind_recursive(held(number), &at)?;
            Vec::new()
        } else {
            self.layers.lay(&outside(from), &at)?
        };
        self.written.extend(mounts()?.into_iter().filter(|mounted| mounted.starts_with(&at)));
        // Without a mount of its own, it is a directory of the new root.
        self.written.insert(at);
        Ok(laid)
    }

    /// Mounts a path of the tree over itself, so that it becomes read-only apart from the rest of the tree.
    fn fix(&mut self, path: &Path) -> io::Result<()> {
        let at = inside(path);
        self.written.remove(&at);
        bind_exactly(&at, &at)
    }

    /// Shows a writable directory.
    fn write_through(&mut self, from: &Path, path: &Path) -> io::Result<()> {
        bind(from, path)?;
        self.written.insert(inside(path));
        Ok(())
    }

    /// Shows the home directory, which is empty at first and writable.
    fn home(&mut self, path: &Path) -> io::Result<()> {
        let at = inside(path);
        place(&at, true)?;
        if self.is_held {
            mount_bind_recursive(Path::new(KEPT).join(HOME), &at)?;
        } else {
            in_memory(&at, 0)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(0o700))?;
        }
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

/// Mounts a read-only `/proc` that shows only this pid namespace.
pub(crate) fn own_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, c"")?;
    Ok(())
}
