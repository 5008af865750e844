//! Chooses the model that answers a question: the role's own, or the long-thinking one, by a score over the request and
//! its history. Weights, scaling and keywords are data ([`config::Router`]). Pure.

mod fold;
mod own_words;

use config::Router;
use serde::{Deserialize, Serialize};

pub use self::fold::{PastSignals, RouterFold};
pub use self::own_words::own_words;

/// The input of the choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signals<'s> {
    /// The request, including what is pasted in it.
    pub request: &'s str,
    /// Number of files in the workspace that are related to it.
    pub files: usize,
    /// True if no user is there who waits for the answer.
    pub is_unattended: bool,
    /// What preceded it.
    pub past: PastSignals,
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
    /// How many checks and tool calls fail.
    pub verification_failures: f64,
    /// How much the last plan assumes, in its model's own words.
    pub low_confidence: f64,
    /// How vague the request is.
    pub ambiguity: f64,
    /// 1 if no user waits for the answer; 0 also in records of early versions.
    #[serde(default)]
    pub unattended: f64,
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
    /// No user waits for the answer.
    Unattended,
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
    /// Their weighted sum, or what the strongest of them reaches alone, from 0 to 1.
    pub score: f64,
    /// Distance of the score from the threshold, from 0 to 1.
    pub confidence: f64,
    /// The signals that added to the score.
    pub reasons: Vec<ChoiceReason>,
    /// The resulting choice.
    pub choice: ModelChoice,
}

/// Assesses the signals. Of the request, only what its user has said counts.
pub fn assess(signals: Signals<'_>, rules: &Router) -> Assessment {
    let Router { full, parts, weights, alone, words, .. } = rules;
    let Signals { request: whole, files, is_unattended, past } = signals;
    let said = own_words(whole, rules.pasted_rows);
    // The words of a log find files that the user does not mean.
    let files = if said.lines().count() == whole.lines().count() { files } else { 0 };
    let request = said.to_lowercase();
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
    let structure = part(ChoiceReason::Structure, present(is_structured(&request)));
    let chinese = request.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
    let is_long = said.len() / 4 >= full.request_tokens || chinese > full.chinese_characters;
    let length = part(ChoiceReason::Length, present(is_long));
    let constraints =
        part(ChoiceReason::Constraints, share(count(&words.constraints), full.constraints));
    let repo_breadth = part(ChoiceReason::Breadth, share(files, full.files));
    let failure_streak = part(ChoiceReason::Failures, share(past.failures, full.failures));
    let failing = past.failing_checks + past.failed_tools;
    let verification_failures =
        part(ChoiceReason::FailingChecks, share(failing, full.failing_checks));
    let low_confidence = part(ChoiceReason::Unsure, share(past.assumptions, full.assumptions));
    let ambiguity = part(ChoiceReason::Ambiguous, share(count(&words.ambiguous), full.ambiguities));
    let unattended = part(ChoiceReason::Unattended, present(is_unattended));
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
        unattended,
    };
    let together = weights.prompt_complexity * features.prompt_complexity
        + weights.repo_breadth * repo_breadth
        + weights.failure_streak * failure_streak
        + weights.verification_failures * verification_failures
        + weights.low_confidence * low_confidence
        + weights.ambiguity * ambiguity
        + weights.unattended * unattended;
    let strongest = [
        alone.asked_for * asked_for,
        alone.keywords * present(keywords > 0.0),
        alone.structure * structure,
        alone.length * length,
        alone.failures * failure_streak,
    ];
    let score = rounded(strongest.into_iter().fold(together, f64::max).min(1.0));
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

const fn present(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
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
    let points = text.lines().filter(|line| point(line).is_some()).count();
    points > 1 || ["->", "=>", "→", "⇒"].iter().any(|arrow| text.contains(arrow))
}

/// Returns the text of a point of a list.
fn point(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = || rest.strip_prefix(['.', ')', '、']).filter(|_| rest.len() < line.len());
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(numbered)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn rules() -> Router {
        config::resolve_layers(&config::Inputs::default()).unwrap().config.router
    }

    fn of(request: &str) -> Assessment {
        assess(Signals { request, ..Signals::default() }, &rules())
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
            let Assessment { score, choice, reasons, .. } = of(request);
            writeln!(table, "{score:.3} {choice:?} {reasons:?} {request:?}").unwrap();
        }
        for (failures, failing_checks, failed_tools, files, assumptions) in
            [(1, 0, 0, 3, 0), (3, 0, 0, 3, 0), (0, 0, 0, 3, 2), (1, 2, 3, 40, 2)]
        {
            let request = "Why does it fail?";
            let past = PastSignals { failures, failing_checks, failed_tools, assumptions };
            let signals = Signals { request, files, is_unattended: true, past };
            let Assessment { score, choice, reasons, .. } = assess(signals, &rules);
            writeln!(table, "{score:.3} {choice:?} {reasons:?} {signals:?}").unwrap();
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn each_heuristic_alone_leads_to_a_question_and_repeated_failure_to_long_thinking() {
        use ChoiceReason::{AskedFor, Failures, Keywords, Length, Structure};
        use ModelChoice::{MaxThink, Own, Uncertain};
        let rules = rules();
        let words = rules.words.complex.iter().map(|word| (word.clone(), Keywords, Uncertain));
        let wishes =
            rules.words.asks_for_thought.iter().map(|word| (word.clone(), AskedFor, MaxThink));
        let long = |word: &str, times: usize| (word.repeat(times), Length, Uncertain);
        let structured = |text: &str| (text.to_owned(), Structure, Uncertain);
        let others = [
            structured("1. read the file\n2. count its lines"),
            structured("1、读文件\n2、数行"),
            structured("- one\n- two"),
            structured("one -> two"),
            structured("一 → 二"),
            long("字", 81),
            long("word ", 320),
        ];
        for (request, reason, least) in words.chain(wishes).chain(others) {
            let Assessment { score, choice, reasons, .. } = of(&request);
            assert_eq!((choice, reasons), (least, vec![reason]), "{score} {request:.40}");
        }
        for plain in ["What does greet.txt say?".to_owned(), "字".repeat(80), "word ".repeat(319)]
        {
            assert_eq!((of(&plain).choice, of(&plain).reasons), (Own, vec![]), "{plain:.40}");
        }
        for (failures, choice) in [(0, Own), (1, Own), (2, MaxThink), (9, MaxThink)] {
            let past = PastSignals { failures, ..PastSignals::default() };
            let why = assess(Signals { request: "Why?", past, ..Signals::default() }, &rules);
            let reasons = if failures > 0 { vec![Failures] } else { vec![] };
            assert_eq!((why.choice, why.reasons), (choice, reasons), "{failures}");
        }
    }

    #[test]
    fn a_pasted_log_leaves_the_assessment_as_it_is() {
        let line = "2026-11-27 ERROR app::design: must never plan -> apply, 计划 think hard\n";
        let log = line.repeat(400);
        for asked in
            ["Why does the second test fail? It passed yesterday.", "think hard", "一 → 二"]
        {
            let alone = of(asked);
            for request in [format!("{asked}\n\n{log}"), format!("{asked}\n```\n{log}```\n")] {
                assert_eq!(of(&request), alone, "{asked}");
            }
        }
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
            failed_tools in 0usize..4, assumptions in 0usize..4,
            request in "([a-z计划 .1-]{0,12}\n){0,6}",
        ) {
            let (rules, request) = (rules(), request.as_str());
            let past = PastSignals { failures, failing_checks, failed_tools, assumptions };
            let signals = Signals { request, files, is_unattended: false, past };
            let score = |signals: Signals<'_>| assess(signals, &rules).score;
            let said = format!("{request} 计划 must");
            let after = |past: PastSignals| Signals { past, ..signals };
            let more = [
                Signals { files: files + 1, ..signals },
                Signals { is_unattended: true, ..signals },
                Signals { request: &said, ..signals },
                after(PastSignals { failures: failures + 1, ..past }),
                after(PastSignals { failing_checks: failing_checks + 1, ..past }),
                after(PastSignals { failed_tools: failed_tools + 1, ..past }),
                after(PastSignals { assumptions: assumptions + 1, ..past }),
            ];
            for more in more {
                proptest::prop_assert!(score(signals) <= score(more), "{more:?}");
            }
        }
    }
}
