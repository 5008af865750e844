//! How a child question ends, as recorded in events. Pure.

use model::ErrorClass;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::delivery::Limit;

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFrom {
    /// The model gave it now.
    Model,
    /// It was reused from an earlier, identical question.
    Kept,
}

/// Why a question has no answer. Other questions are not affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    /// A limit of the budget does not cover it.
    #[error("{}", if matches!(.0, Limit::WallTime) { "there was no time left for it" } else { "the budget does not cover it" })]
    Budget(Limit),
    /// The model call failed, retries included.
    #[error("the model gave none")]
    Model(ErrorClass),
    /// No answer could be parsed, repair turns included.
    #[error("no answer could be parsed")]
    Unreadable,
    /// Admission stopped, or the worker died.
    #[error("the asking actor died")]
    Died,
}

/// How a question ends. Each question ends exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildEnd {
    /// It was answered.
    Answered(AnswerFrom),
    /// It has no answer.
    Failed(NoAnswer),
    /// It was abandoned together with the run.
    Cancelled,
}
