//! Compares events by what they decide and testify to, ignoring their wording. Pure.

use super::{Blob, Event};
use crate::words::Side;

impl Event {
    /// Returns the content of the event without its wording; two events are equal if these are equal.
    pub fn decisions(&self) -> Decisions {
        let rendered = self.without_rendered_text();
        // Events always serialize.
        let event = rendered.as_ref().unwrap_or(self);
        Decisions(ciborium::Value::serialized(event).unwrap_or(ciborium::Value::Null))
    }

    /// Returns an assistant's turn, or a message to the steering model, without its text, which is rendered from what other events
    /// record: answers of models, cards and reports. `None` for other events.
    fn without_rendered_text(&self) -> Option<Self> {
        if let Self::AutopilotAnswered { answer, .. } = self {
            let (told, answer) = (Blob::new(""), answer.clone());
            return Some(Self::AutopilotAnswered { told, answer });
        }
        let Self::TurnAdded { speaker: Side::Assistant, intent, card, course, .. } = self else {
            return None;
        };
        let (speaker, text) = (Side::Assistant, String::new());
        let (card, course) = (card.clone(), course.clone());
        Some(Self::TurnAdded { speaker, text, intent: *intent, card, course })
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
