//! Reads the arguments of a command.

use std::collections::BTreeMap;
use std::fmt;

use crate::spec::{Flag, Spec};

/// What is wrong with the arguments. The texts are the flags as they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgsError {
    Unknown(String),
    NeedsValue(String),
    TakesNoValue(String),
    Twice(String),
}

impl fmt::Display for ArgsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgsError::Unknown(flag) => write!(f, "unknown flag {flag}"),
            ArgsError::NeedsValue(flag) => write!(f, "{flag} needs a value"),
            ArgsError::TakesNoValue(flag) => write!(f, "{flag} takes no value"),
            ArgsError::Twice(flag) => write!(f, "{flag} is given twice"),
        }
    }
}

impl std::error::Error for ArgsError {}

/// The arguments, sorted out. Flags are asked for by their long names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    switches: BTreeMap<&'static str, bool>,
    values: BTreeMap<&'static str, Vec<String>>,
    rest: Vec<String>,
}

impl Parsed {
    /// Whether a switch is turned on.
    pub fn is_set(&self, long: &str) -> bool {
        self.switch(long) == Some(true)
    }

    /// Whether a switch is turned on or off, or None if it is not given.
    pub fn switch(&self, long: &str) -> Option<bool> {
        self.switches.get(long).copied()
    }

    /// The value of an option, or the last one of several.
    pub fn value(&self, long: &str) -> Option<&str> {
        self.values(long).last().map(String::as_str)
    }

    /// All values of an option, in their order.
    pub fn values(&self, long: &str) -> &[String] {
        self.values.get(long).map_or(&[], Vec::as_slice)
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
        if arg == "--" {
            parsed.rest.extend(args.by_ref().map(str::to_string));
        } else if let Some(long) = arg.strip_prefix("--") {
            parse_long(spec, long, &mut args, &mut parsed)?;
        } else if let Some(group) = arg.strip_prefix('-').filter(|group| !group.is_empty()) {
            parse_group(spec, group, &mut args, &mut parsed)?;
        } else {
            parsed.rest.push(arg.to_string());
        }
    }
    Ok(parsed)
}

fn parse_long<'a>(
    spec: &Spec,
    text: &str,
    args: &mut impl Iterator<Item = &'a str>,
    parsed: &mut Parsed,
) -> Result<(), ArgsError> {
    let (long, inline) = match text.split_once('=') {
        Some((long, value)) => (long, Some(value)),
        None => (text, None),
    };
    let given = format!("--{long}");
    let negated = || spec.by_long(long.strip_prefix("no-")?).filter(|flag| flag.negatable && !flag.takes_value);
    let (flag, state) = match spec.by_long(long) {
        Some(flag) => (flag, true),
        None => (negated().ok_or_else(|| ArgsError::Unknown(given.clone()))?, false),
    };
    if flag.takes_value {
        return add_value(flag, inline.or_else(|| args.next()), given, parsed);
    }
    if inline.is_some() {
        return Err(ArgsError::TakesNoValue(given));
    }
    parsed.switches.insert(flag.long, state);
    Ok(())
}

fn parse_group<'a>(
    spec: &Spec,
    group: &str,
    args: &mut impl Iterator<Item = &'a str>,
    parsed: &mut Parsed,
) -> Result<(), ArgsError> {
    for (place, short) in group.char_indices() {
        let further = &group[place + short.len_utf8()..];
        let flag = spec.by_short(short);
        let ends_group = flag.is_some_and(|flag| flag.takes_value);
        // The value that follows the first flag directly does not make a group of it.
        let alone = place == 0 && (further.is_empty() || ends_group);
        let given = if alone { format!("-{short}") } else { format!("-{short} in -{group}") };
        let Some(flag) = flag else {
            return Err(ArgsError::Unknown(given));
        };
        if ends_group {
            let value = if further.is_empty() { args.next() } else { Some(further) };
            return add_value(flag, value, given, parsed);
        }
        parsed.switches.insert(flag.long, true);
    }
    Ok(())
}

fn add_value(flag: &Flag, value: Option<&str>, given: String, parsed: &mut Parsed) -> Result<(), ArgsError> {
    let Some(value) = value else {
        return Err(ArgsError::NeedsValue(given));
    };
    let values = parsed.values.entry(flag.long).or_default();
    if !values.is_empty() && !flag.many {
        return Err(ArgsError::Twice(given));
    }
    values.push(value.to_string());
    Ok(())
}
