//! The entry of a server: what is started or called, and where it is written. Pure.

use std::fmt;

use config::McpServer;
use thiserror::Error;

use crate::expand::variables;

/// Where an entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryOrigin {
    /// The user's configuration.
    User,
    /// `.mcp.json` in the workspace.
    Project,
}

impl fmt::Display for EntryOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "your configuration",
            Self::Project => ".mcp.json",
        })
    }
}

/// A server as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name, which is that of its table.
    pub name: String,
    /// Where it is written.
    pub origin: EntryOrigin,
    /// What is written.
    pub server: McpServer,
    /// Why it cannot be read, if so.
    pub fault: Option<EntryError>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// A program is started.
    Program,
    /// An address is called.
    Address,
}

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EntryError {
    /// It has neither a program nor an address, or both.
    #[error("it needs either `command` or `url`")]
    Endpoint,
    /// The address is none.
    #[error("`url` must begin with http:// or https://")]
    Url,
    /// The name cannot be part of a tool's name.
    #[error("a name has at most 32 letters, digits, `-` and `_`")]
    Name,
    /// It is not of the known form.
    #[error("it is not read: {0}")]
    Form(String),
    /// It is for a transport that is no longer part of the protocol.
    #[error("type \"{0}\" is not supported; the types are stdio and http")]
    Kind(String),
}

impl ServerEntry {
    /// Returns how it is reached.
    pub fn endpoint(&self) -> Result<Endpoint, EntryError> {
        const LONGEST: usize = 32;
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = &self.name;
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(is_word) {
            return Err(EntryError::Name);
        }
        let McpServer { command, url, .. } = &self.server;
        match (command.is_empty(), url.is_empty()) {
            (false, true) => Ok(Endpoint::Program),
            (true, false) if url.starts_with("https://") || url.starts_with("http://") => {
                Ok(Endpoint::Address)
            }
            (true, false) => Err(EntryError::Url),
            _ => Err(EntryError::Endpoint),
        }
    }

    /// Returns the command line or the address, as it is written.
    pub fn target(&self) -> String {
        let McpServer { command, args, url, .. } = &self.server;
        if command.is_empty() {
            return url.clone();
        }
        let words = [command].into_iter().chain(args);
        let quoted = words.map(|word| {
            let is_plain = |c: char| c.is_alphanumeric() || "-_./=@:,+%".contains(c);
            if !word.is_empty() && word.chars().all(is_plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        });
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// Returns the names of the variables that it sets or reads, and of the headers that it sends. Their values are secret.
    pub fn variable_names(&self) -> Vec<String> {
        let McpServer {
            command,
            args,
            env,
            cwd,
            url,
            headers,
            client_id,
            client_secret,
            read,
            write,
            ..
        } = &self.server;
        let texts = [command, cwd, url, client_id, client_secret].into_iter();
        let texts = texts.chain(args).chain(read).chain(write);
        let texts = texts.chain(env.values()).chain(headers.values());
        let read = texts.flat_map(|text| variables(text)).map(str::to_owned);
        let headers = headers.keys().map(|name| format!("{name} (header)"));
        let mut names: Vec<String> = env.keys().cloned().chain(read).chain(headers).collect();
        names.sort();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, command: &str, url: &str) -> ServerEntry {
        let server = McpServer { command: command.into(), url: url.into(), ..McpServer::default() };
        ServerEntry { name: name.into(), origin: EntryOrigin::User, server, fault: None }
    }

    #[test]
    fn an_entry_has_a_name_and_one_endpoint() {
        assert_eq!(entry("git", "uvx", "").endpoint(), Ok(Endpoint::Program));
        assert_eq!(entry("git", "", "https://a/mcp").endpoint(), Ok(Endpoint::Address));
        assert_eq!(entry("git", "", "").endpoint(), Err(EntryError::Endpoint));
        assert_eq!(entry("git", "a", "https://a").endpoint(), Err(EntryError::Endpoint));
        assert_eq!(entry("git", "", "ftp://a").endpoint(), Err(EntryError::Url));
        for name in ["", "a b", "a.b", "ä", &"x".repeat(33)] {
            assert_eq!(entry(name, "a", "").endpoint(), Err(EntryError::Name), "{name}");
        }
    }

    #[test]
    fn the_command_is_shown_as_a_shell_would_read_it_and_values_are_not_shown() {
        let mut entry = entry("a", "npx", "");
        entry.server.args = ["-y", "it's", "", "${HOME}/x"].map(str::to_owned).to_vec();
        entry.server.env = [("TOKEN".to_owned(), "${GITHUB_TOKEN}".to_owned())].into();
        assert_eq!(entry.target(), r"npx -y 'it'\''s' '' '${HOME}/x'");
        assert_eq!(entry.variable_names(), ["GITHUB_TOKEN", "HOME", "TOKEN"]);
    }
}
