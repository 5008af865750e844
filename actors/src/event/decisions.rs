//! What two events are compared in: all they decide and testify to, and none of their wording. Pure.

use super::Event;

impl Event {
    /// What the event decides or testifies to, without its wording: two events are the same when this is.
    pub fn decisions(&self) -> Decisions {
        // Nothing in an event has a form that could not be written.
        Decisions(ciborium::Value::serialized(self).unwrap_or(ciborium::Value::Null))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.decisions() == other.decisions()
    }
}

/// All of an event but its wording.
#[derive(Debug, Clone, PartialEq)]
pub struct Decisions(ciborium::Value);

impl Decisions {
    /// The same without the fields of these names, however deep they stand.
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
