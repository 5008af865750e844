//! What the process that runs a program is given, and what it gives back. Pure.

use serde::{Deserialize, Serialize};

use crate::pieces::{File, Span};

/// What a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLimits {
    /// Seconds that it computes, in all; waiting for answers is not counted.
    pub seconds: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Times that it may ask models.
    pub batches: u32,
    /// Questions that it may ask, in all.
    pub questions: u32,
}

/// A part of the way of a program: from where it begins to where it asks, or to its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// What it may use.
    pub limits: ProgramLimits,
    /// What it can read.
    pub files: Vec<File>,
    /// Where it begins.
    pub begin: Begin,
}

/// Where a part of the way begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Begin {
    /// With its first line.
    Program(String),
    /// Where it asked.
    Answered {
        /// What was left of it then.
        state: Vec<u8>,
        /// For each question its answer, or why there is none.
        answers: Vec<Result<String, String>>,
        /// What is to be noted beside them.
        notes: Vec<String>,
    },
}

/// What came of a part of the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ProgramStep {
    /// It asks.
    Paused {
        /// What is left of the program.
        state: Vec<u8>,
        /// The questions.
        batch: Batch,
    },
    /// It is over.
    Ended(ProgramOutcome),
}

/// Questions to models that are asked at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Whether each may be answered by a program in turn.
    pub is_recursive: bool,
    /// What all are about.
    pub about: Vec<Excerpt>,
    /// The questions.
    pub questions: Vec<ProgramQuestion>,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramQuestion {
    /// Its words.
    pub text: String,
    /// What it alone is about.
    pub about: Vec<Excerpt>,
}

/// A text that a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Where it stands, and how many lines the file has; nowhere if the program made it.
    pub place: Option<(Span, usize)>,
    /// What it says.
    pub text: String,
}

/// What a program leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramOutcome {
    /// How it ended.
    pub end: ProgramEnding,
    /// What it printed: the beginning.
    pub printed: String,
    /// Claims with the lines that show them.
    pub cites: Vec<Cite>,
    /// What was cut, and which questions have no answer.
    pub notes: Vec<String>,
    /// How many questions it asked.
    #[serde(default)]
    pub asked: u32,
    /// How many of them have no answer.
    #[serde(default)]
    pub unanswered: u32,
}

impl ProgramOutcome {
    /// That of a program that left nothing but how it ended.
    pub const fn of(end: ProgramEnding) -> Self {
        Self {
            end,
            printed: String::new(),
            cites: Vec::new(),
            notes: Vec::new(),
            asked: 0,
            unanswered: 0,
        }
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnding {
    /// With this result, of `FINAL` or of its last line.
    Result(String),
    /// With an exception, as Python tells it.
    Raised(String),
    /// It computed longer than it may.
    TimedOut,
    /// It used more memory than it may, or the interpreter failed.
    Died,
    /// Its process could not be started.
    NotStarted,
    /// What was left of it when it paused is not readable: another version of this program wrote it.
    Unreadable,
}

/// A claim, with the lines that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cite {
    /// The lines.
    pub span: Span,
    /// What they show.
    pub claim: String,
    /// How surprising that is, to nine.
    pub novelty: u8,
    /// How much it matters, to nine.
    pub weight: u8,
}
