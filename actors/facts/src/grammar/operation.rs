//! The lines of a plan that the program carries out without a diff: `DELETE|`, `MOVE|` and `MODE|`. Pure.

use std::fmt;

use patch::operations::FileOperation;
use serde::{Deserialize, Serialize};

use crate::grammar::contract::{Leniency, text_of_line, without_dot_slash};
use crate::grammar::look;

/// An operation on a file, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedOperation {
    /// The operation; in JSON its fields are on the same level as `why`.
    #[serde(flatten)]
    pub operation: FileOperation,
    /// Why it is part of the change.
    pub why: String,
}

/// Reads the rest of a line that begins with `key`; `None` if that begins no operation.
pub(crate) fn read(
    key: &str,
    rest: &str,
    tolerances: &mut Vec<Leniency>,
) -> Option<Result<PlannedOperation, String>> {
    let form = match key {
        "DELETE" => "DELETE|<path>|<why>",
        "MOVE" => "MOVE|<old path>|<new path>|<why>",
        "MODE" => "MODE|<path>|755|<why>, or 644",
        _ => return None,
    };
    let mut path = |text: Option<&str>| {
        let text = text.map(|text| text.trim().trim_end_matches('/')).unwrap_or_default();
        look::path(without_dot_slash(&text_of_line(text, form)?, tolerances))
    };
    let mut read = || {
        let mut parts = rest.splitn(if key == "DELETE" { 2 } else { 3 }, '|');
        let first = path(parts.next())?;
        let operation = match key {
            "DELETE" => FileOperation::Delete { path: first },
            "MOVE" => FileOperation::Move { from: first, to: path(parts.next())? },
            _ => {
                let executable = executable(parts.next().unwrap_or_default())
                    .ok_or_else(|| format!("the line must read {form}"))?;
                FileOperation::Mode { path: first, executable }
            }
        };
        let why = text_of_line(parts.next().unwrap_or_default().trim(), form)?;
        Ok(PlannedOperation { operation, why })
    };
    Some(read())
}

/// Reads a mode as `chmod` takes it: whether the owner may execute the file.
fn executable(mode: &str) -> Option<bool> {
    match mode.trim().trim_start_matches('0') {
        "755" | "100755" | "+x" | "u+x" | "a+x" => Some(true),
        "644" | "100644" | "-x" | "u-x" | "a-x" => Some(false),
        _ => None,
    }
}

impl PlannedOperation {
    /// Describes the operation for people.
    pub fn described(&self) -> String {
        match &self.operation {
            FileOperation::Delete { path } => format!("delete {path}"),
            FileOperation::Move { from, to } => format!("move {from} to {to}"),
            FileOperation::Mode { path, executable: true } => format!("make {path} executable"),
            FileOperation::Mode { path, executable: false } => {
                format!("make {path} not executable")
            }
        }
    }
}

impl fmt::Display for PlannedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", self.operation, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(line: &str) -> Result<String, String> {
        let (key, rest) = line.split_once('|').unwrap();
        read(key, rest, &mut Vec::new()).unwrap().map(|it| it.to_string())
    }

    #[test]
    fn operations_as_models_write_them() {
        for (line, expected) in [
            ("DELETE|src/a.rs|unused", "DELETE|src/a.rs|unused"),
            ("DELETE| ./a b | it | is", "DELETE|a b|it | is"),
            ("MOVE|old/|new/dir/|renamed", "MOVE|old|new/dir|renamed"),
            ("MODE|run.sh|0755|a script", "MODE|run.sh|755|a script"),
            ("MODE|run.sh|-x|data", "MODE|run.sh|644|data"),
        ] {
            assert_eq!(printed(line).unwrap(), expected);
        }
        for (line, rule) in [
            ("DELETE|a", "DELETE|<path>|<why>"),
            ("DELETE||why", "DELETE|<path>|<why>"),
            ("MOVE|a|b", "MOVE|<old path>|<new path>|<why>"),
            ("MODE|a|4755|why", "MODE|<path>|755|<why>"),
            ("MOVE|a|../b|why", "`..`"),
            ("DELETE|.git/config|why", ".git"),
        ] {
            let refused = printed(line).unwrap_err();
            assert!(refused.contains(rule), "{line}: {refused}");
        }
    }
}
