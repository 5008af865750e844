//! Storage of secrets, which are the API key and the tokens of servers: the system keyring, or without one a file that only
//! the user can read.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use config::access::Secret;
use keyring::Entry;
use mcp::TokenStore;
use tools::regular;

/// The name of this program in the keyring.
const SERVICE: &str = "deepseek";
/// How long to wait for the keyring, which may ask the user to unlock it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// The places where a key can be stored.
#[derive(Debug, Clone)]
pub(crate) struct KeyStore {
    /// The name in the keyring.
    name: String,
    file: PathBuf,
    has_keyring: bool,
}

/// A key, and a description of where it was found.
#[derive(Debug)]
pub(crate) struct KeptKey {
    pub(crate) key: Secret,
    pub(crate) place: String,
}

impl KeyStore {
    /// Creates a store on `file` and, if this machine may have one, the keyring.
    pub(crate) fn new(name: &str, file: PathBuf, has_keyring: bool) -> Self {
        Self { name: name.to_owned(), file, has_keyring }
    }

    /// Returns the stored key, if there is one.
    ///
    /// # Errors
    /// If other users can read the file, or it is not a regular file.
    pub(crate) fn read(&self) -> io::Result<Option<KeptKey>> {
        match fs::metadata(&self.file) {
            Ok(data) if data.permissions().mode() & 0o077 != 0 => {
                let why = format!("others can read {}: chmod 600 it", self.file.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            Ok(_) => {
                let key = regular::read_text(&self.file, MAX_BYTES)?.trim().to_owned();
                let key = Secret::from(key);
                return Ok(Some(KeptKey { key, place: self.file.display().to_string() }));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let key = self.in_keyring(Entry::get_password);
        Ok(key.ok().map(|key| KeptKey {
            key: Secret::from(key),
            place: "the system's keyring".to_owned(),
        }))
    }

    /// Stores a key, replacing any earlier one. Returns a description of the place.
    pub(crate) fn keep(&self, key: &str) -> io::Result<String> {
        let given = key.to_owned();
        match self.in_keyring(move |entry| entry.set_password(&given)) {
            Ok(()) => {
                remove(&self.file)?;
                Ok("the system's keyring".to_owned())
            }
            Err(why) => {
                tracing::info!(why, "the key is kept in a file");
                self.write(key)?;
                Ok(self.file.display().to_string())
            }
        }
    }

    /// Deletes the key from every place. Returns true if there was one.
    pub(crate) fn forget(&self) -> io::Result<bool> {
        let was_in_keyring = self.in_keyring(Entry::delete_credential).is_ok();
        Ok(remove(&self.file)? || was_in_keyring)
    }

    fn write(&self, key: &str) -> io::Result<()> {
        let dir = self.file.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // Temporary files are created with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(format!("{key}\n").as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.file)?;
        Ok(())
    }

    /// Queries the keyring, on a thread of its own since it may block.
    fn in_keyring<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Entry) -> keyring::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        if !self.has_keyring {
            return Err("there is no keyring".to_owned());
        }
        let (tell, told) = mpsc::sync_channel(1);
        let name = self.name.clone();
        thread::spawn(move || {
            let said = Entry::new(SERVICE, &name).and_then(|entry| ask(&entry));
            tell.send(said.map_err(|error| error.to_string())).ok();
        });
        told.recv_timeout(PATIENCE).map_err(|_| "the keyring does not answer".to_owned())?
    }
}

/// The tokens of servers, each in a place of its own.
pub(crate) struct TokenPlaces {
    pub(crate) dir: PathBuf,
    pub(crate) has_keyring: bool,
}

impl TokenPlaces {
    fn of(&self, name: &str) -> KeyStore {
        KeyStore::new(name, self.dir.join(name), self.has_keyring)
    }
}

impl TokenStore for TokenPlaces {
    fn read(&self, name: &str) -> io::Result<Option<Secret>> {
        Ok(self.of(name).read()?.map(|kept| kept.key))
    }

    fn keep(&self, name: &str, secret: &Secret) -> io::Result<()> {
        self.of(name).keep(secret.expose()).map(drop)
    }

    fn forget(&self, name: &str) -> io::Result<bool> {
        self.of(name).forget()
    }
}

/// Removes a file. Returns true if it existed.
fn remove(file: &Path) -> io::Result<bool> {
    match fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_readable_by_the_user_only() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("config/key");
        let store = KeyStore::new("test", file.clone(), false);
        assert!(store.read().unwrap().is_none());
        assert!(!store.forget().unwrap());
        store.keep("one").unwrap();
        store.keep("two").unwrap();
        assert_eq!(store.read().unwrap().unwrap().key.expose(), "two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(store.read().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(store.forget().unwrap());
        assert!(store.read().unwrap().is_none());
    }
}
