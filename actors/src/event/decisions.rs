//! Compares events by what they decide and testify to, ignoring their wording. Pure.

use super::Event;

impl Event {
    /// Returns the content of the event without its wording; two events are equal if these are equal.
    pub fn decisions(&self) -> Decisions {
        // Events always serialize.
        Decisions(ciborium::Value::serialized(self).unwrap_or(ciborium::Value::Null))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.decisions() == other.decisions()
    }
}

/// The content of an event without its wording.
#[derive(Debug, Clone, PartialEq)]
pub struct Decisions(ciborium::Value);

impl Decisions {
    /// Returns the content without the fields of these names, at any depth.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        forget(names, &mut self.0);
        self
    }
}

fn forget(names: &[&str], value: &mut ciborium::Value) {
    if let Some(fields) = value.as_map_mut() {
        fields.retain(|(name, _)| !name.as_text().is_some_and(|name| names.contains(&name)));
        for (_, field) in fields {
            forget(names, field);
        }
    } else if let Some(items) = value.as_array_mut() {
        for item in items {
            forget(names, item);
        }
    }
}
