//! Which flags there are.

/// A switch, or an option with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub long: &'static str,
    pub short: Option<char>,
    pub takes_value: bool,
    /// A switch that can also be turned off.
    pub negatable: bool,
    /// An option that can be given several times.
    pub many: bool,
    pub about: &'static str,
}

impl Flag {
    /// A flag without a value.
    pub fn switch(long: &'static str, about: &'static str) -> Self {
        Flag { long, short: None, takes_value: false, negatable: false, many: false, about }
    }

    /// A flag with a value.
    pub fn option(long: &'static str, about: &'static str) -> Self {
        Flag { takes_value: true, ..Self::switch(long, about) }
    }

    /// Gives the flag a short name as well.
    #[must_use]
    pub fn short(self, short: char) -> Self {
        Flag { short: Some(short), ..self }
    }

    /// Allows a switch to be turned off with `--no-` in front of its long name.
    #[must_use]
    pub fn negatable(self) -> Self {
        Flag { negatable: true, ..self }
    }

    /// Allows an option to be given several times.
    #[must_use]
    pub fn many(self) -> Self {
        Flag { many: true, ..self }
    }
}

/// All flags of a command.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    pub(crate) flags: Vec<Flag>,
}

impl Spec {
    pub fn new(flags: impl IntoIterator<Item = Flag>) -> Self {
        Spec { flags: flags.into_iter().collect() }
    }

    pub(crate) fn by_long(&self, long: &str) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.long == long)
    }

    pub(crate) fn by_short(&self, short: char) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.short == Some(short))
    }
}
