//! The input and the output of the process that runs a program. Pure.

use serde::{Deserialize, Serialize};

use crate::pieces::{File, SourceLines};

/// The resources of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLimits {
    /// Seconds of computation, in total; waiting for answers does not count.
    pub seconds: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Number of times that it may ask models.
    pub batches: u32,
    /// Number of questions that it may ask, in total.
    pub questions: u32,
}

/// One step of a program: from its beginning or its last answers to its next questions or its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The resources of the program.
    pub limits: ProgramLimits,
    /// The files that it can read.
    pub files: Vec<File>,
    /// Where the step begins.
    pub begin: Begin,
}

/// Where a step begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Begin {
    /// At the first line of this program.
    Program(String),
    /// Where the program asked.
    Answered {
        /// The state of the program when it paused.
        state: Vec<u8>,
        /// The answer to each question, or why there is none.
        answers: Vec<Result<String, String>>,
        /// Notes to add.
        notes: Vec<String>,
    },
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ProgramStep {
    /// The program asks questions.
    Paused {
        /// The state of the program.
        state: Vec<u8>,
        /// The questions.
        batch: Batch,
    },
    /// The program ended.
    Ended(ProgramOutcome),
}

/// Questions to models that are asked together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// True if each question may itself be answered by a program.
    pub is_recursive: bool,
    /// What all questions are about.
    pub about: Vec<Excerpt>,
    /// The questions.
    pub questions: Vec<ProgramQuestion>,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramQuestion {
    /// The text of the question.
    pub text: String,
    /// What only this question is about.
    pub about: Vec<Excerpt>,
}

/// A text that a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The location of the text and the number of lines in the file; `None` if the program made the text.
    pub place: Option<(SourceLines, usize)>,
    /// The text.
    pub text: String,
}

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramOutcome {
    /// How the program ended.
    pub end: ProgramEnding,
    /// What it printed, cut at a limit.
    pub printed: String,
    /// Claims with the lines that support them.
    pub cites: Vec<Cite>,
    /// Notes about results that were cut and questions without an answer.
    pub notes: Vec<String>,
    /// Number of questions that it asked.
    #[serde(default)]
    pub asked: u32,
    /// Number of questions without an answer.
    #[serde(default)]
    pub unanswered: u32,
}

impl ProgramOutcome {
    /// Creates the outcome of a program that has nothing but an ending.
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
    /// With this result, from `FINAL` or its last line.
    Result(String),
    /// With this exception, as Python reports it.
    Raised(String),
    /// It exceeded its computing time.
    TimedOut,
    /// It exceeded its memory, or the interpreter failed.
    Died,
    /// Its process could not be started.
    NotStarted,
    /// Its saved state cannot be read; another version of this program wrote it.
    Unreadable,
}

/// A claim, with the lines that support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cite {
    /// The lines.
    pub span: SourceLines,
    /// The claim.
    pub claim: String,
    /// How surprising the claim is, from 0 to 9.
    pub novelty: u8,
    /// How important the claim is, from 0 to 9.
    pub weight: u8,
}
