//! What was said in the steering model's dialogue, as the journal tells it.

use std::path::Path;

use facts::event::Event;
use journal::read::{ReadError, Record, content};

/// A message to the steering model, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SteeringExchange {
    /// The message.
    pub(crate) told: String,
    /// The answer.
    pub(crate) answer: String,
}

/// Restores what was said since the steering dialogue last began, but for the run `open`, which will say it again.
pub(crate) fn steering_dialogue(
    session: &Path,
    records: &[Record],
    open: Option<&str>,
) -> Result<Vec<SteeringExchange>, ReadError> {
    let mut dialogue = Vec::new();
    let is_open = |record: &Record| open.is_some() && record.run.as_deref() == open;
    let is_said = |record: &&Record| record.name() == "AutopilotAnswered" && !is_open(record);
    let opened = records.iter().rposition(|record| {
        let asked = || record.event();
        record.name() == "AutopilotAsked"
            && matches!(asked(), Some(Event::AutopilotAsked { opens: true, .. }))
    });
    let since = records.get(opened.unwrap_or(records.len())..).unwrap_or_default();
    for event in since.iter().filter(is_said).filter_map(Record::event) {
        if let Event::AutopilotAnswered { told, answer } = event {
            let told = String::from_utf8_lossy(&content(session, &told)?).into_owned();
            dialogue.push(SteeringExchange { told, answer });
        }
    }
    Ok(dialogue)
}
