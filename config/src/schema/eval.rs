//! How past commits and exercises are judged. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How past commits and exercises are judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eval {
    /// Number of cases that are drawn from a history.
    pub cases: usize,
    /// How often a variant may try an exercise.
    pub tries: u32,
    /// Commits that change more files are no cases.
    pub max_files: usize,
    /// Bytes of a directory with installed packages that are copied to a scratch repository.
    pub max_copied_bytes: u64,
    /// Seconds that an attempt may take.
    pub attempt_seconds: u64,
    /// Seconds that a build may take to say its version.
    pub version_seconds: u64,
    /// The share by which the prompt tokens of all recorded cases together may grow.
    pub guard_growth: f64,
    /// Exercises by language.
    pub exercises: BTreeMap<String, ExerciseLanguage>,
}

/// How exercises in a language are tested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExerciseLanguage {
    /// The command; none for the one that is derived from the exercise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Texts by which tests are switched off, each with what stands there instead when they are judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched_off: Vec<[String; 2]>,
}
