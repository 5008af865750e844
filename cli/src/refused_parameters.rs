//! What servers refused, remembered between sessions, so that it is refused once: `servers.json` in the state directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{DeepSeekClient, SpokenDialect};
use tools::regular;

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// By model.
type Corrected = BTreeMap<String, SpokenDialect>;

/// Lets a client use what is remembered about its server, and remember more.
pub(crate) fn remembering(client: DeepSeekClient, state: &Path) -> DeepSeekClient {
    let (path, address) = (file(state), client.address().to_string());
    let known = read(&path).remove(&address).unwrap_or_default();
    client.knowing(known, Box::new(move |corrected| write(&path, &address, corrected)))
}

/// Forgets what is remembered about the server of a client.
pub(crate) fn forget(client: &DeepSeekClient, state: &Path) {
    write(&file(state), client.address().as_str(), &Corrected::new());
}

fn file(state: &Path) -> PathBuf {
    state.join("servers.json")
}

/// Returns what is remembered, by address.
fn read(path: &Path) -> BTreeMap<String, Corrected> {
    let text = regular::read_text(path, MAX_BYTES).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn write(path: &Path, address: &str, corrected: &Corrected) {
    let mut all = read(path);
    let before = all.insert(address.to_owned(), corrected.clone());
    if before.as_ref().unwrap_or(&Corrected::new()) == corrected {
        return;
    }
    all.retain(|_, corrected| !corrected.is_empty());
    let written =
        serde_json::to_vec_pretty(&all).map(|text| regular::write_regular_file(path, &text));
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, "could not remember what the server refused");
    }
}
