//! Chooses the model that answers a question: the role's own, or the long-thinking one, by a score over the request and
//! its history. Weights, scaling and keywords are data ([`config::Router`]). Pure.

use config::Router;
use serde::{Deserialize, Serialize};

/// The input of the choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signals<'s> {
    /// The request.
    pub request: &'s str,
    /// Number of files in the workspace that are related to it.
    pub files: usize,
    /// Number of consecutive unsuccessful turns before this one.
    pub failures: usize,
    /// Number of checks that fail since the last turn.
    pub failing_checks: usize,
    /// Number of assumptions of the last plan: what its model could not find out.
    pub assumptions: usize,
}

/// The signals as numbers from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// Complexity of the request, from its length, structure and words.
    pub prompt_complexity: f64,
    /// How many files it concerns.
    pub repo_breadth: f64,
    /// How often previous turns failed.
    pub failure_streak: f64,
    /// How many checks fail.
    pub verification_failures: f64,
    /// How much the last plan assumes, in its model's own words.
    pub low_confidence: f64,
    /// How vague the request is.
    pub ambiguity: f64,
}

/// Why a choice was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceReason {
    /// The user asks for long thinking.
    AskedFor,
    /// Words that indicate planning or design.
    Keywords,
    /// A list, or steps joined by arrows.
    Structure,
    /// The request is long.
    Length,
    /// Words that state constraints.
    Constraints,
    /// It concerns many files.
    Breadth,
    /// Previous turns failed.
    Failures,
    /// Checks fail.
    FailingChecks,
    /// The last plan rests on assumptions.
    Unsure,
    /// The request is vague.
    Ambiguous,
    /// A small model was asked, and said yes.
    SmallModel,
    /// No answer of the role's own model was usable.
    NoUsableAnswer,
    /// The user has fixed the model or its thinking, or turned the choice off.
    Fixed,
}

/// The result of an assessment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// The role's own model.
    Own,
    /// The long-thinking model.
    MaxThink,
    /// Undecided: ask a small model.
    Uncertain,
}

/// The assessment of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// The signals as numbers.
    pub features: Features,
    /// Their weighted sum, from 0 to 1.
    pub score: f64,
    /// Distance of the score from the threshold, from 0 to 1.
    pub confidence: f64,
    /// The signals that added to the score.
    pub reasons: Vec<ChoiceReason>,
    /// The resulting choice.
    pub choice: ModelChoice,
}

/// Assesses the signals.
pub fn assess(signals: Signals<'_>, rules: &Router) -> Assessment {
    let Router { full, parts, weights, words, .. } = rules;
    let request = signals.request.to_lowercase();
    let count = |words: &[String]| words.iter().filter(|word| has(&request, word)).count();
    let mut reasons = Vec::new();
    let mut part = |reason: ChoiceReason, value: f64| {
        if value > 0.0 {
            reasons.push(reason);
        }
        value
    };
    let asked_for = part(ChoiceReason::AskedFor, share(count(&words.asks_for_thought), 1));
    let keywords = part(ChoiceReason::Keywords, share(count(&words.complex), full.keywords));
    let structure = part(ChoiceReason::Structure, f64::from(u8::from(is_structured(&request))));
    let length = signals.request.len() / 4;
    let chinese = request.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
    let is_long = length >= full.request_tokens || chinese > full.chinese_characters;
    let length = part(ChoiceReason::Length, f64::from(u8::from(is_long)));
    let constraints =
        part(ChoiceReason::Constraints, share(count(&words.constraints), full.constraints));
    let repo_breadth = part(ChoiceReason::Breadth, share(signals.files, full.files));
    let failure_streak = part(ChoiceReason::Failures, share(signals.failures, full.failures));
    let verification_failures =
        part(ChoiceReason::FailingChecks, share(signals.failing_checks, full.failing_checks));
    let low_confidence = part(ChoiceReason::Unsure, share(signals.assumptions, full.assumptions));
    let ambiguity = part(ChoiceReason::Ambiguous, share(count(&words.ambiguous), full.ambiguities));
    let complexity = parts.keywords * keywords
        + parts.structure * structure
        + parts.length * length
        + parts.constraints * constraints;
    let features = Features {
        prompt_complexity: rounded(if asked_for > 0.0 { 1.0 } else { complexity.min(1.0) }),
        repo_breadth,
        failure_streak,
        verification_failures,
        low_confidence,
        ambiguity,
    };
    let weighed = weights.prompt_complexity * features.prompt_complexity
        + weights.repo_breadth * repo_breadth
        + weights.failure_streak * failure_streak
        + weights.verification_failures * verification_failures
        + weights.low_confidence * low_confidence
        + weights.ambiguity * ambiguity;
    let score = rounded(if asked_for > 0.0 { 1.0 } else { weighed });
    let choice = if score >= rules.max_think_threshold {
        ModelChoice::MaxThink
    } else if score >= rules.uncertain_from {
        ModelChoice::Uncertain
    } else {
        ModelChoice::Own
    };
    let confidence = rounded((score - rules.max_think_threshold).abs().min(1.0));
    Assessment { features, score, confidence, reasons, choice }
}

/// Returns `count` as a fraction of `full`, at most 1.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn share(count: usize, full: usize) -> f64 {
    rounded((count as f64 / full.max(1) as f64).min(1.0))
}

/// Rounds to three places, so that recorded values are the same on every machine.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Returns true if a lower-case text contains a word. Latin words must be delimited; others match anywhere.
fn has(text: &str, word: &str) -> bool {
    let word = word.to_lowercase();
    let alone = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || !c.is_ascii());
    text.match_indices(&word).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + found.len()..).and_then(|behind| behind.chars().next());
        !word.is_ascii() || (alone(before) && alone(behind))
    })
}

/// Returns true if a text has a list of several points, or steps joined by arrows.
fn is_structured(text: &str) -> bool {
    let is_point = |line: &&str| {
        let line = line.trim_start();
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = rest.len() < line.len() && rest.starts_with(['.', ')', '、']);
        is_numbered || line.starts_with("- ") || line.starts_with("* ")
    };
    let points = text.lines().filter(is_point).count();
    points > 1 || ["->", "=>", "→", "⇒"].iter().any(|arrow| text.contains(arrow))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn rules() -> Router {
        config::resolve_layers(&config::Inputs::default()).unwrap().config.router
    }

    #[test]
    fn requests_and_their_assessments() {
        let requests = [
            "What does greet.txt say?",
            "Where is the budget checked?",
            "Explain the architecture",
            "Design the architecture of a plugin system that must be deterministic",
            "Write an RFC: 1. state machines\n2. guarantees\n3. migration",
            "think hard: why does it hang?",
            "planning is not a plan",
            "maybe somehow improve something?",
            "parse -> plan -> apply: which must hold where?",
            "这个函数做什么?",
            "请为迁移做一个计划,并评估风险和依赖",
            "对比两种方案,给出里程碑",
            "仔细想想为什么会死锁",
        ];
        let rules = rules();
        let mut table = String::new();
        for request in requests {
            let Assessment { score, choice, reasons, .. } =
                assess(Signals { request, ..Signals::default() }, &rules);
            writeln!(table, "{score:.3} {choice:?} {reasons:?} {request:?}").unwrap();
        }
        for (failures, failing_checks, files, assumptions) in
            [(1, 0, 3, 0), (3, 0, 3, 0), (0, 0, 3, 2), (3, 5, 40, 2)]
        {
            let request = "Why does it fail?";
            let signals = Signals { request, files, failures, failing_checks, assumptions };
            let Assessment { score, choice, reasons, .. } = assess(signals, &rules);
            writeln!(table, "{score:.3} {choice:?} {reasons:?} {signals:?}").unwrap();
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn latin_words_stand_alone_and_others_anywhere() {
        assert!(has("a plan.", "plan") && has("计划plan", "plan") && has("做计划吧", "计划"));
        assert!(!has("explain", "plan") && !has("plans", "plan"));
        assert!(has("a state machine here", "state machine"));
    }

    proptest::proptest! {
        #[test]
        fn more_of_anything_never_lowers_the_score(
            files in 0usize..60, failures in 0usize..6, failing_checks in 0usize..9,
            assumptions in 0usize..4,
            request in "[a-z计划 \n.1-]{0,80}",
        ) {
            let (rules, request) = (rules(), request.as_str());
            let score = |files, failures, failing_checks, assumptions, request| {
                assess(Signals { request, files, failures, failing_checks, assumptions }, &rules).score
            };
            let one = score(files, failures, failing_checks, assumptions, request);
            let more = format!("{request} 计划 must");
            proptest::prop_assert!(one <= score(files + 1, failures, failing_checks, assumptions, request));
            proptest::prop_assert!(one <= score(files, failures + 1, failing_checks, assumptions, request));
            proptest::prop_assert!(one <= score(files, failures, failing_checks + 1, assumptions, request));
            proptest::prop_assert!(one <= score(files, failures, failing_checks, assumptions + 1, request));
            proptest::prop_assert!(one <= score(files, failures, failing_checks, assumptions, &more));
        }
    }
}
