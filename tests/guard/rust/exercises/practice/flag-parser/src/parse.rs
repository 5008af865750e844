//! Reads the arguments of a command.

use std::collections::BTreeMap;
use std::fmt;

use crate::spec::{Flag, Spec};

/// What is wrong with the arguments. The texts are the flags as they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgsError {
    Unknown(String),
    NeedsValue(String),
}

impl fmt::Display for ArgsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgsError::Unknown(flag) => write!(f, "unknown flag {flag}"),
            ArgsError::NeedsValue(flag) => write!(f, "{flag} needs a value"),
        }
    }
}

impl std::error::Error for ArgsError {}

/// The arguments, sorted out. Flags are asked for by their long names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    switches: BTreeMap<&'static str, bool>,
    values: BTreeMap<&'static str, String>,
    rest: Vec<String>,
}

impl Parsed {
    /// Whether a switch is given.
    pub fn is_set(&self, long: &str) -> bool {
        self.switch(long) == Some(true)
    }

    /// Whether a switch is turned on or off, or None if it is not given.
    pub fn switch(&self, long: &str) -> Option<bool> {
        self.switches.get(long).copied()
    }

    /// The value of an option.
    pub fn value(&self, long: &str) -> Option<&str> {
        self.values.get(long).map(String::as_str)
    }

    /// All values of an option.
    pub fn values(&self, long: &str) -> &[String] {
        self.values.get(long).map_or(&[], std::slice::from_ref)
    }

    /// The arguments that are no flags, in their order.
    pub fn rest(&self) -> &[String] {
        &self.rest
    }
}

/// Reads the arguments, without the name of the program.
pub fn parse(spec: &Spec, args: &[&str]) -> Result<Parsed, ArgsError> {
    let mut parsed = Parsed::default();
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        let Some(flag) = find(spec, arg)? else {
            parsed.rest.push(arg.to_string());
            continue;
        };
        if flag.takes_value {
            let value = args.next().ok_or_else(|| ArgsError::NeedsValue(arg.to_string()))?;
            parsed.values.insert(flag.long, value.to_string());
        } else {
            parsed.switches.insert(flag.long, true);
        }
    }
    Ok(parsed)
}

/// The flag that an argument stands for, or None if it is no flag.
fn find<'a>(spec: &'a Spec, arg: &str) -> Result<Option<&'a Flag>, ArgsError> {
    let found = if let Some(long) = arg.strip_prefix("--") {
        spec.by_long(long)
    } else if let Some(short) = arg.strip_prefix('-').filter(|short| !short.is_empty()) {
        short.parse().ok().and_then(|short| spec.by_short(short))
    } else {
        return Ok(None);
    };
    found.map(Some).ok_or_else(|| ArgsError::Unknown(arg.to_string()))
}
