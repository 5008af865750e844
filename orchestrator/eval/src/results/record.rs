//! What an evaluation records: its cases, whether each is one, and every attempt at it. Values only.

use facts::delivery::{Delivery, Verified};
use model::price::Usd;
use serde::{Deserialize, Serialize};

/// A line of the record of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum EvalRecord {
    /// The first line.
    Drawn(Drawn),
    /// Whether a case is one: its tests were run before and after the reference.
    Checked {
        /// The id of the case.
        case: String,
        /// What was found.
        ground: CaseGround,
    },
    /// A variant is to be judged from here on.
    Entered(Variant),
    /// An attempt is about to begin, in a scratch repository that is complete.
    Began {
        /// The id of the case.
        case: String,
        /// The name of the variant.
        variant: String,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// An attempt was judged.
    Judged {
        /// The id of the case.
        case: String,
        /// The name of the variant.
        variant: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The result.
        result: AttemptResult,
    },
}

/// How an evaluation began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// Version of the program.
    pub version: String,
    /// When, as a timestamp.
    pub at: String,
    /// The workspace, or the directory of exercises.
    pub from: String,
    /// The cases, in the order in which they were drawn.
    pub cases: Vec<EvalCase>,
    /// Those that were looked at and are no cases.
    pub left_out: Vec<LeftOutCase>,
    /// Number of commits or exercises that were not looked at, because enough cases were found.
    pub not_looked_at: usize,
}

/// A commit or an exercise that is no case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutCase {
    /// The id it would have.
    pub id: String,
    /// Its subject line.
    pub title: String,
    /// Why.
    pub why: String,
}

/// A task with hidden tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalCase {
    /// Its id: the start of the commit's id, or language and name of the exercise.
    pub id: String,
    /// Its subject line.
    pub title: String,
    /// What is compared together: the language of an exercise; empty for commits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// What is asked of a variant.
    pub request: String,
    /// Where it comes from.
    pub origin: CaseOrigin,
    /// The files with hidden tests.
    pub tests: Vec<String>,
    /// How often a variant may try; with the output of the tests from the second time on.
    pub tries: u32,
}

/// Where a case comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseOrigin {
    /// A commit, by its full id, and its parent.
    Commit {
        /// The commit.
        id: String,
        /// Its parent, on which variants work.
        parent: String,
    },
    /// An exercise, by its directory.
    Exercise {
        /// The directory.
        dir: String,
        /// The files of the solution.
        solution: Vec<String>,
        /// The files of the reference, in the same order.
        example: Vec<String>,
    },
}

/// What running the hidden tests before and after the reference has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseGround {
    /// The tests fail before and pass after it, twice each.
    Holds {
        /// The commands that run them.
        commands: Vec<String>,
        /// What a reader of the result should know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// They do not, so that nothing can be concluded from them.
    NoCase {
        /// Why.
        why: String,
    },
    /// They cannot run here.
    CannotRun {
        /// Why.
        why: String,
    },
}

/// What is judged: a build of the program with flags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name in tables.
    pub name: String,
    /// What the build says of its version.
    pub version: String,
    /// The name of its file in the directory of the evaluation.
    pub build: String,
    /// The flags it is started with.
    pub flags: Vec<String>,
}

/// What the hidden tests say about a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestVerdict {
    /// All pass.
    Passed,
    /// Not all pass; why, in a line.
    Failed(String),
    /// They could not run; why.
    CannotRun(String),
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptResult {
    /// What the hidden tests say.
    pub verdict: TestVerdict,
    /// How the request ended; `None` if its session does not tell.
    pub delivery: Option<Delivery>,
    /// What it used.
    pub used: UsedTotals,
    /// Number of answers of a model that were refused: plans, drafts and patches.
    pub refusals: u64,
    /// How long it took, in milliseconds, without the hidden tests.
    pub elapsed_ms: u64,
}

/// Calls, tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedTotals {
    /// Model calls.
    pub calls: u64,
    /// Prompt tokens that were not in the provider's cache.
    pub new: u64,
    /// Prompt tokens from its cache.
    pub cached: u64,
    /// Prompt tokens of which the provider does not say.
    #[serde(default)]
    pub unknown: u64,
    /// Answer tokens.
    pub output: u64,
    /// Estimated cost; `None` if a call has no price.
    pub cost_nano_usd: Option<Usd>,
}

impl UsedTotals {
    /// Nothing, whose cost is known.
    pub const NOTHING: Self =
        Self { calls: 0, new: 0, cached: 0, unknown: 0, output: 0, cost_nano_usd: Some(Usd::ZERO) };

    /// Returns all prompt tokens.
    pub const fn prompt(&self) -> u64 {
        self.new + self.cached + self.unknown
    }

    /// Adds what another attempt used.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let cost = self.cost_nano_usd.zip(other.cost_nano_usd);
        Self {
            calls: self.calls + other.calls,
            new: self.new + other.new,
            cached: self.cached + other.cached,
            unknown: self.unknown + other.unknown,
            output: self.output + other.output,
            cost_nano_usd: cost.map(|(a, b)| a + b),
        }
    }

    /// Subtracts what an earlier attempt used.
    #[must_use]
    pub fn without(self, earlier: Self) -> Self {
        let cost = self.cost_nano_usd.zip(earlier.cost_nano_usd);
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            new: self.new.saturating_sub(earlier.new),
            cached: self.cached.saturating_sub(earlier.cached),
            unknown: self.unknown.saturating_sub(earlier.unknown),
            output: self.output.saturating_sub(earlier.output),
            cost_nano_usd: cost.map(|(all, part)| all.saturating_sub(part)),
        }
    }
}

impl AttemptResult {
    /// Returns true if the change or the answer was delivered.
    pub fn is_delivered(&self) -> bool {
        matches!(self.delivery, Some(Delivery::Delivered { .. }))
    }

    /// Returns how far the variant itself verified its change.
    pub const fn own_verdict(&self) -> OwnVerdict {
        match &self.delivery {
            Some(Delivery::Delivered { verified: Verified::Proven }) => OwnVerdict::Proven,
            Some(Delivery::Delivered { verified: Verified::Passed }) => OwnVerdict::Passed,
            Some(Delivery::Delivered { verified: Verified::Unverified(_) }) => {
                OwnVerdict::NotVerified
            }
            Some(Delivery::Delivered { verified: Verified::NotNeeded }) => OwnVerdict::NoChange,
            Some(_) => OwnVerdict::NotDelivered,
            None => OwnVerdict::Unknown,
        }
    }
}

/// How far a variant says that it verified its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum OwnVerdict {
    /// A check failed without the change and passes with it.
    #[serde(rename = "proven")]
    Proven,
    /// Every check passed.
    #[serde(rename = "passed")]
    Passed,
    /// Nothing shows that the change works.
    #[serde(rename = "not verified")]
    NotVerified,
    /// It delivered without a change.
    #[serde(rename = "no change")]
    NoChange,
    /// It delivered nothing.
    #[serde(rename = "not delivered")]
    NotDelivered,
    /// Its session does not tell.
    #[serde(rename = "unknown")]
    Unknown,
}

impl OwnVerdict {
    /// Returns it in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Passed => "passed",
            Self::NotVerified => "not verified",
            Self::NoChange => "no change",
            Self::NotDelivered => "not delivered",
            Self::Unknown => "unknown",
        }
    }

    /// Returns true if the hidden tests should pass if it is right.
    pub const fn is_of_a_working_change(self) -> bool {
        matches!(self, Self::Proven | Self::Passed)
    }

    /// Returns a larger number for a stronger claim; equal numbers for those that say nothing of a change.
    pub const fn strength(self) -> u8 {
        match self {
            Self::Proven => 3,
            Self::Passed => 2,
            Self::NotVerified => 1,
            Self::NoChange | Self::NotDelivered | Self::Unknown => 0,
        }
    }
}
