//! Opens files safely where a repository or another program may have put anything: a pipe, a device, a huge file. Opens
//! regular files only, never blocks, and never reads more than the caller's limit.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Upper bound for any file of this program's own state, in bytes.
pub const MAX_STATE_BYTES: u64 = 16 << 30;
/// Upper bound for a small state file, such as a lock or a measured time, in bytes.
pub const MAX_NOTE_BYTES: u64 = 16 << 20;
/// Modes of new files and directories: private to the user, whatever the umask.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Opens a regular file of this program's own state. Refuses symlinks, because they may lead to other people's files. A
/// new file is private to the user.
pub fn open_regular_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    opened(path, options, fs::symlink_metadata(path), OFlags::NOFOLLOW)
}

/// Opens a regular file, or a symlink to one, for reading.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    opened(path, OpenOptions::new().read(true), fs::metadata(path), OFlags::empty())
}

fn opened(
    path: &Path,
    options: &mut OpenOptions,
    looked_at: io::Result<Metadata>,
    flags: OFlags,
) -> io::Result<File> {
    // Checked before opening, because opening a device may have effects, and after, because the file may have been
    // replaced.
    match looked_at {
        Ok(data) if !data.is_file() => return Err(not_regular()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = options.custom_flags(flags).mode(PRIVATE_FILE).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Creates a file that must not exist yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)
}

/// Creates a file, or truncates an existing one.
pub fn create(path: &Path) -> io::Result<File> {
    let file = open_regular_file(path, OpenOptions::new().write(true).create(true))?;
    file.set_len(0)?;
    Ok(file)
}

/// Creates a directory and its missing parents, each private to the user.
pub fn create_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(dir)
}

/// Removes the access of other users to a directory, left by an earlier version or by mistake. A directory that does
/// not exist or belongs to another user is left alone.
pub fn keep_private(dir: &Path) {
    let is_open = |data: Metadata| data.is_dir() && data.permissions().mode() & 0o077 != 0;
    if fs::symlink_metadata(dir).is_ok_and(is_open) {
        fs::set_permissions(dir, Permissions::from_mode(PRIVATE_DIR)).ok();
    }
}

/// Reads a regular file of at most `max_bytes`. A larger one is an error.
pub fn read_regular_file(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_to_read(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= max_bytes {
        bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > max_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {max_bytes} bytes"),
        ));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `max_bytes` as UTF-8.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    String::from_utf8(read_regular_file(path, max_bytes)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Writes a regular file, replacing its content.
pub fn write_regular_file(path: &Path, content: &[u8]) -> io::Result<()> {
    create(path)?.write_all(content)
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("zeros")).unwrap();
        symlink("pipe", at("link to pipe")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        File::create(at("giant")).unwrap().set_len(20 << 30).unwrap();
        fs::create_dir(at("dir")).unwrap();

        for name in ["file", "link"] {
            assert_eq!(read_regular_file(&at(name), 4).unwrap(), b"text", "{name}");
            assert_eq!(
                read_regular_file(&at(name), 3).unwrap_err().kind(),
                io::ErrorKind::FileTooLarge
            );
        }
        for name in ["zeros", "pipe", "link to pipe", "dir"] {
            assert_eq!(
                read_regular_file(&at(name), 9).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
        }
        assert_eq!(
            read_regular_file(&at("giant"), 1 << 20).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(read_regular_file(&at("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        for name in ["pipe", "link", "zeros"] {
            let append = open_regular_file(&at(name), OpenOptions::new().append(true));
            assert_eq!(append.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
            assert_eq!(
                write_regular_file(&at(name), b"x").unwrap_err().kind(),
                io::ErrorKind::InvalidInput
            );
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"text");
    }

    #[test]
    fn new_files_and_directories_are_private_to_the_user() {
        let home = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = home.path().join("a/b");
        create_dir(&dir).unwrap();
        write_regular_file(&dir.join("file"), b"x").unwrap();
        create_new(&dir.join("new")).unwrap();
        assert_eq!([mode(&dir), mode(dir.parent().unwrap())], [0o700; 2]);
        assert_eq!([mode(&dir.join("file")), mode(&dir.join("new"))], [0o600; 2]);
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        symlink("b", home.path().join("a/link")).unwrap();
        keep_private(&home.path().join("a/link"));
        assert_eq!(mode(&dir), 0o755);
        keep_private(&dir);
        assert_eq!(mode(&dir), 0o700);
        keep_private(&home.path().join("none"));
    }
}
