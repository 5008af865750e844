//! How a small question ends, as events name it. Pure.

use model::ErrorClass;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::delivery::Limit;

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFrom {
    /// The model gave it.
    Model,
    /// It was given before, to the same question.
    Kept,
}

/// Why a question has no answer. The others have theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    /// A limit of the budget leaves no room for it.
    #[error("{}", if matches!(.0, Limit::WallTime) { "there was no time left for it" } else { "it could not be paid" })]
    Budget(Limit),
    /// The model gave none, retries included.
    #[error("the model gave none")]
    Model(ErrorClass),
    /// None could be read, repair turns included.
    #[error("no answer was readable")]
    Unreadable,
    /// Admission is gone, or the worker died.
    #[error("whoever asked it died")]
    Died,
}

/// How a question ends: once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildEnd {
    /// It is answered.
    Answered(AnswerFrom),
    /// It is not.
    Failed(NoAnswer),
    /// It was given up with the run.
    Cancelled,
}
