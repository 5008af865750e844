//! The history of the user's messages in a workspace: a file with one message per line. Each message is written immediately,
//! because a terminal may be closed at any time.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use tools::regular::{self, MAX_NOTE_BYTES};

/// The messages, the latest last.
#[derive(Debug)]
pub(crate) struct InputHistory {
    file: PathBuf,
    pub(crate) messages: Vec<String>,
}

impl InputHistory {
    /// Reads the messages in `file`; empty if it cannot be read or is not a regular file.
    pub(crate) fn read(file: PathBuf) -> Self {
        let text = regular::read_text(&file, MAX_NOTE_BYTES).unwrap_or_default();
        let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self { file, messages }
    }

    /// Adds a message and writes it to the file, unless it equals the last one.
    pub(crate) fn add(&mut self, message: &str) {
        if self.messages.last().is_some_and(|last| last == message) {
            return;
        }
        self.messages.push(message.to_owned());
        let line = serde_json::Value::from(message).to_string() + "\n";
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let written = regular::open_regular_file(&self.file, &mut options)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "cannot save the history of the conversation");
        }
    }
}
