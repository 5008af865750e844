//! The settings that decide which model answers outside the loop.

use serde::{Deserialize, Serialize};

/// When a question goes to `max_think_model` instead of the role's own model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Whether questions are routed automatically.
    pub auto_max_think: bool,
    /// Score from which a question goes to `max_think_model`.
    pub max_think_threshold: f64,
    /// Score from which `flash_model` is asked to decide.
    pub uncertain_from: f64,
    /// Rows of a request without sentence form from which they count as pasted.
    pub pasted_rows: usize,
    /// Score that a signal reaches alone.
    pub alone: RouterAlone,
    /// Weight of each feature in the score.
    pub weights: RouterWeights,
    /// Weight of each part in the complexity of a request.
    pub parts: RouterParts,
    /// Amounts at which a feature or part reaches its maximum.
    pub full: RouterScale,
    /// Words searched for in a request.
    pub words: RouterWords,
}

/// Weight of each feature in the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterWeights {
    /// Length, form and words of the request.
    pub prompt_complexity: f64,
    /// Number of files it is about.
    pub repo_breadth: f64,
    /// Earlier turns that failed.
    pub failure_streak: f64,
    /// Failing checks.
    pub verification_failures: f64,
    /// How much the last plan assumes.
    pub low_confidence: f64,
    /// What the request leaves open.
    pub ambiguity: f64,
    /// That no user waits for the answer.
    pub unattended: f64,
}

/// Score that a signal reaches alone, at its full amount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterAlone {
    /// Words that ask for long thinking.
    pub asked_for: f64,
    /// A word of planning or design.
    pub keywords: f64,
    /// A list, or steps joined by arrows.
    pub structure: f64,
    /// Length of the request.
    pub length: f64,
    /// Earlier turns that failed.
    pub failures: f64,
}

/// Weight of each part in the complexity of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterParts {
    /// Words of planning and design.
    pub keywords: f64,
    /// A list, or steps joined by arrows.
    pub structure: f64,
    /// Length of the request.
    pub length: f64,
    /// Words that state constraints.
    pub constraints: f64,
}

/// Amounts at which a feature or part reaches its maximum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterScale {
    /// Words of planning and design.
    pub keywords: usize,
    /// Words that state constraints.
    pub constraints: usize,
    /// Words that leave something open.
    pub ambiguities: usize,
    /// Tokens from which a request counts as long.
    pub request_tokens: usize,
    /// Chinese characters above which a request counts as long.
    pub chinese_characters: usize,
    /// Files.
    pub files: usize,
    /// Failed turns.
    pub failures: usize,
    /// Failing checks.
    pub failing_checks: usize,
    /// Assumptions of the last plan.
    pub assumptions: usize,
}

/// Words searched for in a request; Latin words match only as whole words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterWords {
    /// Words of planning and design.
    pub complex: Vec<String>,
    /// Words that state constraints.
    pub constraints: Vec<String>,
    /// Words that leave something open.
    pub ambiguous: Vec<String>,
    /// Words that ask for long thinking.
    pub asks_for_thought: Vec<String>,
    /// Words that begin a question; words that are not Latin may stand anywhere in it.
    pub questions: Vec<String>,
}
