//! The tree of a case on disk, inside a directory that reveals every stray write.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;

use crate::corpus::{Case, Corpus, Kind, TreeFile};

/// The location of the root: deep enough that a few `..` do not leave the sandbox.
const ROOT: &str = "1/2/3/root";
const OUTSIDE: &str = "outside";

/// The files of one case, written to disk.
pub(crate) struct Sandbox {
    home: TempDir,
    /// Holds files that are not compared.
    input: TempDir,
}

/// The entry at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A file with its executable, set-uid and set-gid bits.
    File(Vec<u8>, u32),
    Symlink(PathBuf),
    Directory,
    Other,
}

/// All entries in a sandbox, by path relative to it.
pub(crate) type Snapshot = BTreeMap<PathBuf, Seen>;

impl Sandbox {
    pub(crate) fn lay_out(place: &Path, corpus: &Corpus, case: &Case) -> Sandbox {
        let sandbox = Sandbox {
            home: TempDir::new_in(place).unwrap(),
            input: TempDir::new_in(place).unwrap(),
        };
        let outside = sandbox.home.path().join(OUTSIDE);
        for (dir, entries) in [(sandbox.root(), &case.pre), (outside, &case.outside)] {
            fs::create_dir_all(&dir).unwrap();
            for entry in entries {
                sandbox.put(&dir.join(&entry.0), entry.1, corpus.bytes(entry));
            }
        }
        fs::write(sandbox.patch(), sandbox.text(&case.patch)).unwrap();
        sandbox
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join(ROOT)
    }

    pub(crate) fn patch(&self) -> PathBuf {
        self.input.path().join("patch.diff")
    }

    /// Returns a directory for the commit log, next to the sandbox.
    pub(crate) fn log(&self) -> PathBuf {
        self.input.path().join("commits")
    }

    /// Returns the text of a case with the paths of this sandbox filled in.
    pub(crate) fn text(&self, text: &str) -> String {
        let outside = self.home.path().join(OUTSIDE);
        let filled = text.replace("{{OUTSIDE}}", outside.to_str().unwrap());
        filled.replace("{{ROOT}}", self.root().to_str().unwrap())
    }

    fn put(&self, path: &Path, kind: Kind, bytes: Vec<u8>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = match kind {
            Kind::Plain => 0o644,
            Kind::Executable => 0o755,
            Kind::ReadOnly => 0o444,
            Kind::Symlink => {
                return symlink(self.text(str::from_utf8(&bytes).unwrap()), path).unwrap();
            }
            Kind::Directory => return fs::create_dir_all(path).unwrap(),
            Kind::Fifo => {
                let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
                return rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap();
            }
        };
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs a command in the root, with the patch as its last argument and without the user's configuration.
    pub(crate) fn run(&self, words: &[&str]) -> ExitStatus {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(self.patch()).current_dir(self.root());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_CEILING_DIRECTORIES", self.home.path()).env("LC_ALL", "C");
        command.status().unwrap()
    }

    pub(crate) fn look(&self) -> Snapshot {
        let mut seen = Snapshot::new();
        let mut dirs = vec![self.home.path().to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let what = look_at(&path);
                if what == Seen::Directory {
                    dirs.push(path.clone());
                }
                seen.insert(path.strip_prefix(self.home.path()).unwrap().to_owned(), what);
            }
        }
        seen
    }

    /// Returns what `before` becomes if the root contains exactly the files of `after`. Directories are ignored.
    pub(crate) fn wanted(
        &self,
        before: &Snapshot,
        corpus: &Corpus,
        after: &[TreeFile],
    ) -> Snapshot {
        let mut wanted = files(before);
        wanted.retain(|path, _| !path.starts_with(ROOT));
        for entry in after.iter().filter(|entry| entry.1 != Kind::Directory) {
            let bytes = corpus.bytes(entry);
            let what = match entry.1 {
                Kind::Plain | Kind::ReadOnly => Seen::File(bytes, 0),
                Kind::Executable => Seen::File(bytes, 0o100),
                Kind::Symlink => Seen::Symlink(self.text(str::from_utf8(&bytes).unwrap()).into()),
                Kind::Directory => Seen::Directory,
                Kind::Fifo => Seen::Other,
            };
            wanted.insert(Path::new(ROOT).join(&entry.0), what);
        }
        wanted
    }
}

/// Returns a snapshot without its directories.
pub(crate) fn files(snapshot: &Snapshot) -> Snapshot {
    let files = snapshot.iter().filter(|(_, seen)| **seen != Seen::Directory);
    files.map(|(path, seen)| (path.clone(), seen.clone())).collect()
}

fn look_at(path: &Path) -> Seen {
    let data = path.symlink_metadata().unwrap();
    let kind = data.file_type();
    if kind.is_file() {
        Seen::File(fs::read(path).unwrap(), data.permissions().mode() & 0o6100)
    } else if kind.is_symlink() {
        Seen::Symlink(fs::read_link(path).unwrap())
    } else if kind.is_dir() {
        Seen::Directory
    } else {
        Seen::Other
    }
}
