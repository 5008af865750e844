//! What decides which model answers outside the loop.

use serde::{Deserialize, Serialize};

/// When a question goes to the model that thinks longest, in place of the role's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Whether it may, without being asked each time.
    pub auto_max_think: bool,
    /// The score from which on it does.
    pub max_think_threshold: f64,
    /// The score from which on a small model is asked.
    pub uncertain_from: f64,
    /// What each feature adds to the score.
    pub weights: RouterWeights,
    /// What each part adds to the complexity of a request.
    pub parts: RouterParts,
    /// How much of something counts as all there can be.
    pub full: RouterScale,
    /// The words that are looked for.
    pub words: RouterWords,
}

/// What each feature adds to the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterWeights {
    /// Of the request's length, form and words.
    pub prompt_complexity: f64,
    /// Of the files it is about.
    pub repo_breadth: f64,
    /// Of turns before that came to nothing.
    pub failure_streak: f64,
    /// Of checks that fail.
    pub verification_failures: f64,
    /// Of how little the last answer was sure.
    pub low_confidence: f64,
    /// Of what the request leaves open.
    pub ambiguity: f64,
}

/// What each part adds to the complexity of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterParts {
    /// Words of planning and design.
    pub keywords: f64,
    /// A list, or arrows.
    pub structure: f64,
    /// That it is long.
    pub length: f64,
    /// Words that say what must hold.
    pub constraints: f64,
}

/// How much of something counts as all there can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterScale {
    /// Words of planning and design.
    pub keywords: usize,
    /// Words that say what must hold.
    pub constraints: usize,
    /// Words that leave something open.
    pub ambiguities: usize,
    /// Tokens of a long request.
    pub request_tokens: usize,
    /// Chinese characters that a long request has more of.
    pub chinese_characters: usize,
    /// Files.
    pub files: usize,
    /// Turns that came to nothing.
    pub failures: usize,
    /// Checks that fail.
    pub failing_checks: usize,
}

/// Words that are looked for in a request; Latin ones stand alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterWords {
    /// That stand for planning and design.
    pub complex: Vec<String>,
    /// That say what must hold.
    pub constraints: Vec<String>,
    /// That leave something open.
    pub ambiguous: Vec<String>,
    /// With which the user asks for long thought.
    pub asks_for_thought: Vec<String>,
}
