//! How a card differs from the version before it: the parts that only one of the two has. Pure.

use std::fmt::{self, Display};

use facts::lane_id::LaneId;
use serde::{Deserialize, Serialize};
use tree::RepoPath;

use crate::card::card_text::limits;
use crate::card::{Card, CardLimits, TaskKind};
use crate::research::finding::Confidence;

/// A difference between two versions of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardChange {
    /// Which version has the part.
    pub change: CardSide,
    /// The part.
    pub item: CardItem,
}

/// The version that has a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardSide {
    /// Only the version before.
    Removed,
    /// Only the new one.
    Added,
}

/// A part of a card that the user decides about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the card")]
pub enum CardItem {
    /// A task.
    Task { task: LaneId, does: TaskKind, title: String, goal: String },
    /// A file whose content a task is given.
    Reads { task: LaneId, path: RepoPath },
    /// Files that a task may change.
    Writes { task: LaneId, pattern: String },
    /// A command that a task may run.
    Runs { task: LaneId, command: String },
    /// The expected result of a task.
    Expects { task: LaneId, result: String },
    /// A criterion of a task.
    Accepted { task: LaneId, criterion: String },
    /// A task that must end before another begins.
    After { task: LaneId, other: LaneId },
    /// A model that works on a task.
    Model { task: LaneId, model: String },
    /// Commands may use the network.
    Network,
    /// The limits.
    Limits { limits: CardLimits },
    /// A finding, and how reliable it is.
    Finding { finding: u32, claim: String, confidence: Confidence },
}

/// Returns the parts that `after` has and `before` has not, and the other way round, in the order of the cards.
pub fn card_changes(before: &Card, after: &Card) -> Vec<CardChange> {
    let (old, new) = (items(before), items(after));
    let removed =
        old.iter().filter(|item| !new.contains(item)).map(|item| (CardSide::Removed, item));
    let added = new.iter().filter(|item| !old.contains(item)).map(|item| (CardSide::Added, item));
    let change = |(change, item): (CardSide, &CardItem)| CardChange { change, item: item.clone() };
    removed.chain(added).map(change).collect()
}

fn items(card: &Card) -> Vec<CardItem> {
    let mut items = Vec::new();
    for it in &card.subtasks {
        let (task, does) = (it.id, it.kind);
        let (title, goal) = (it.title.clone(), it.goal.clone());
        items.push(CardItem::Task { task, does, title, goal });
        items.extend(it.reads.iter().cloned().map(|path| CardItem::Reads { task, path }));
        let patterns = it.writes.iter().map(ToString::to_string);
        items.extend(patterns.map(|pattern| CardItem::Writes { task, pattern }));
        items.extend(it.commands.iter().cloned().map(|command| CardItem::Runs { task, command }));
        items.extend(it.expected.iter().cloned().map(|result| CardItem::Expects { task, result }));
        let criteria = it.acceptance.iter().cloned();
        items.extend(criteria.map(|criterion| CardItem::Accepted { task, criterion }));
        items.extend(it.after.iter().map(|other| CardItem::After { task, other: *other }));
        let models = it.planner.iter().chain([&it.model]).cloned();
        items.extend(models.map(|model| CardItem::Model { task, model }));
    }
    items.extend(card.capabilities.network.then_some(CardItem::Network));
    items.push(CardItem::Limits { limits: card.limits });
    items.extend(card.findings.iter().map(|it| CardItem::Finding {
        finding: it.id,
        claim: it.claim.clone(),
        confidence: it.confidence(),
    }));
    items
}

impl Display for CardChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.change {
            CardSide::Removed => "- ",
            CardSide::Added => "+ ",
        })?;
        match &self.item {
            CardItem::Task { task, does, title, goal } => {
                write!(f, "{task} {}: {title}: {goal}", does.name())
            }
            CardItem::Reads { task, path } => write!(f, "{task} reads {path}"),
            CardItem::Writes { task, pattern } => write!(f, "{task} writes {pattern}"),
            CardItem::Runs { task, command } => write!(f, "{task} runs `{command}`"),
            CardItem::Expects { task, result } => write!(f, "{task} expects {result}"),
            CardItem::Accepted { task, criterion } => write!(f, "{task} accepted if: {criterion}"),
            CardItem::After { task, other } => write!(f, "{task} after {other}"),
            CardItem::Model { task, model } => write!(f, "{task} by {model}"),
            CardItem::Network => f.write_str("commands may use the network"),
            CardItem::Limits { limits: of } => write!(f, "limits: {}", limits(of, None)),
            CardItem::Finding { finding, claim, confidence } => {
                write!(f, "finding {finding} ({}): {claim}", confidence.name())
            }
        }
    }
}
