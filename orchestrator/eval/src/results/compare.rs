//! What the record of an evaluation says: a row for each case and variant, sums, and variants compared in pairs. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::results::interval::{Interval, chance, paired_difference, rate};
use crate::results::record::{
    AttemptResult, CaseGround, Drawn, EvalCase, EvalRecord, LeftOutCase, OwnVerdict, TestVerdict,
    UsedTotals, Variant,
};

/// An evaluation, as far as it is recorded.
#[derive(Debug, Clone, Serialize)]
pub struct EvalReport {
    /// The id of the evaluation.
    pub id: String,
    /// Version of the program that drew the cases.
    pub version: String,
    /// When they were drawn.
    pub at: String,
    /// The workspace, or the directory of exercises.
    pub from: String,
    /// Commits and exercises that are no cases, with the reason.
    pub left_out: Vec<LeftOutCase>,
    /// Number of commits or exercises that were not looked at.
    pub not_looked_at: usize,
    /// The cases, each with what every variant made of it.
    pub cases: Vec<JudgedCase>,
    /// The variants, each with its sums.
    pub variants: Vec<VariantSums>,
    /// The variants compared in pairs.
    pub pairs: Vec<Pair>,
}

/// A case with the results of all variants.
#[derive(Debug, Clone, Serialize)]
pub struct JudgedCase {
    /// The case.
    pub case: EvalCase,
    /// Whether it is one; `None` if that is not known yet.
    pub ground: Option<CaseGround>,
    /// The results, in the order of the variants.
    pub rows: Vec<Row>,
}

/// What a variant made of a case.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The name of the variant.
    pub variant: String,
    /// Its attempts that were judged, in order.
    pub attempts: Vec<AttemptResult>,
    /// True if an attempt has begun and is not judged, as after a crash.
    pub is_open: bool,
}

/// The sums of a variant, or of a variant in one group.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sums {
    /// Cases with a result.
    pub judged: u64,
    /// Those whose hidden tests pass.
    pub passed: u64,
    /// Those of them that passed at the first attempt.
    pub passed_at_once: u64,
    /// Those whose hidden tests fail.
    pub failed: u64,
    /// Those whose hidden tests could not run.
    pub cannot_run: u64,
    /// Cases in which the variant delivered.
    pub delivered: u64,
    /// Cases by how far the variant itself verified its change.
    pub verified: BTreeMap<OwnVerdict, u64>,
    /// Delivered as proven or passed, although the hidden tests fail.
    pub wrongly_verified: u64,
    /// Refused answers.
    pub refusals: u64,
    /// Calls, tokens and cost.
    pub used: UsedTotals,
    /// Time, in milliseconds.
    pub elapsed_ms: u64,
}

/// A variant with its sums.
#[derive(Debug, Clone, Serialize)]
pub struct VariantSums {
    /// The variant.
    #[serde(flatten)]
    pub variant: Variant,
    /// Over all cases.
    pub sums: Sums,
    /// The rate of passed cases among passed and failed ones, with its interval.
    pub pass_rate: Option<Interval>,
    /// By group, if there is more than one.
    pub groups: BTreeMap<String, Sums>,
}

/// Two variants on the cases that both passed or failed.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// The name of the first.
    pub first: String,
    /// The name of the second.
    pub second: String,
    /// Cases that both passed or failed.
    pub both_judged: u64,
    /// Cases that both passed.
    pub both_passed: u64,
    /// Cases that only the first passed.
    pub only_first: Vec<String>,
    /// Cases that only the second passed.
    pub only_second: Vec<String>,
    /// The pass rate of the second minus that of the first.
    pub difference: Option<Interval>,
    /// The probability of such a difference if both are equally good.
    pub chance: f64,
    /// What the first used on these cases.
    pub used_by_first: UsedTotals,
    /// What the second used on these cases.
    pub used_by_second: UsedTotals,
}

impl EvalReport {
    /// Reads the records of an evaluation; `None` if it has not begun.
    pub fn of(id: &str, records: &[EvalRecord]) -> Option<Self> {
        let Some(EvalRecord::Drawn(Drawn { version, at, from, cases, left_out, not_looked_at })) =
            records.first()
        else {
            return None;
        };
        let variants: Vec<&Variant> = records.iter().filter_map(entered).collect();
        let cases: Vec<JudgedCase> =
            cases.iter().map(|case| judged(case, &variants, records)).collect();
        let sums = variants.iter().map(|variant| sums_of(variant, &cases)).collect();
        let second = |at: usize| variants.iter().skip(at + 1);
        let pairs = variants.iter().enumerate();
        let pairs = pairs.flat_map(|(at, a)| second(at).map(|b| pair(&a.name, &b.name, &cases)));
        Some(Self {
            id: id.to_owned(),
            version: version.clone(),
            at: at.clone(),
            from: from.clone(),
            left_out: left_out.clone(),
            not_looked_at: *not_looked_at,
            pairs: pairs.collect(),
            variants: sums,
            cases,
        })
    }
}

fn entered(record: &EvalRecord) -> Option<&Variant> {
    match record {
        EvalRecord::Entered(variant) => Some(variant),
        EvalRecord::Drawn(_)
        | EvalRecord::Checked { .. }
        | EvalRecord::Began { .. }
        | EvalRecord::Judged { .. } => None,
    }
}

fn judged(case: &EvalCase, variants: &[&Variant], records: &[EvalRecord]) -> JudgedCase {
    let ground = records.iter().rev().find_map(|record| {
        if let EvalRecord::Checked { case: of, ground } = record
            && *of == case.id
        {
            Some(ground.clone())
        } else {
            None
        }
    });
    let row = |variant: &&Variant| {
        let row = Row { variant: variant.name.clone(), attempts: Vec::new(), is_open: false };
        let is_own = |of: &str, variant: &str| of == case.id && variant == row.variant.as_str();
        let (mut attempts, mut is_open) = (Vec::new(), false);
        for record in records {
            if let EvalRecord::Began { case: of, variant, .. } = record
                && is_own(of, variant)
            {
                is_open = true;
            } else if let EvalRecord::Judged { case: of, variant, result, .. } = record
                && is_own(of, variant)
            {
                is_open = false;
                attempts.push(result.clone());
            }
        }
        Row { attempts, is_open, ..row }
    };
    JudgedCase { case: case.clone(), ground, rows: variants.iter().map(row).collect() }
}

impl JudgedCase {
    /// Returns the row of a variant.
    pub fn row(&self, variant: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.variant == variant)
    }
}

impl Row {
    /// Returns what the hidden tests said at last; `None` if nothing is judged.
    pub fn verdict(&self) -> Option<&TestVerdict> {
        self.attempts.last().map(|attempt| &attempt.verdict)
    }

    /// Returns what all attempts used.
    pub fn used(&self) -> UsedTotals {
        self.attempts.iter().fold(UsedTotals::NOTHING, |sum, attempt| sum.with(attempt.used))
    }

    /// Returns how long all attempts took, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        self.attempts.iter().map(|attempt| attempt.elapsed_ms).sum()
    }
}

fn sums_of(variant: &Variant, cases: &[JudgedCase]) -> VariantSums {
    let mut sums = Sums::none();
    let mut groups: BTreeMap<String, Sums> = BTreeMap::new();
    for judged in cases {
        let Some(row) = judged.row(&variant.name).filter(|row| !row.attempts.is_empty()) else {
            continue;
        };
        sums.add(row);
        groups.entry(judged.case.group.clone()).or_insert_with(Sums::none).add(row);
    }
    let first = cases.first().map(|judged| &judged.case.group);
    if cases.iter().all(|judged| Some(&judged.case.group) == first) {
        groups.clear();
    }
    let pass_rate = rate(sums.passed, sums.passed + sums.failed);
    VariantSums { variant: variant.clone(), sums, pass_rate, groups }
}

impl Sums {
    fn none() -> Self {
        Self { used: UsedTotals::NOTHING, ..Self::default() }
    }

    fn add(&mut self, row: &Row) {
        let Some(last) = row.attempts.last() else { return };
        self.judged += 1;
        match &last.verdict {
            TestVerdict::Passed => {
                self.passed += 1;
                self.passed_at_once += u64::from(row.attempts.len() == 1);
            }
            TestVerdict::Failed(_) => {
                self.failed += 1;
                self.wrongly_verified += u64::from(last.own_verdict().is_of_a_working_change());
            }
            TestVerdict::CannotRun(_) => self.cannot_run += 1,
        }
        self.delivered += u64::from(last.is_delivered());
        *self.verified.entry(last.own_verdict()).or_default() += 1;
        self.refusals += row.attempts.iter().map(|attempt| attempt.refusals).sum::<u64>();
        self.used = self.used.with(row.used());
        self.elapsed_ms += row.elapsed_ms();
    }
}

/// Returns whether a row passed; `None` if its tests could not run, or nothing is judged.
fn is_passed(row: &Row) -> Option<bool> {
    match row.verdict()? {
        TestVerdict::Passed => Some(true),
        TestVerdict::Failed(_) => Some(false),
        TestVerdict::CannotRun(_) => None,
    }
}

fn pair(first: &str, second: &str, cases: &[JudgedCase]) -> Pair {
    let mut pair = Pair {
        first: first.to_owned(),
        second: second.to_owned(),
        both_judged: 0,
        both_passed: 0,
        only_first: Vec::new(),
        only_second: Vec::new(),
        difference: None,
        chance: 1.0,
        used_by_first: UsedTotals::NOTHING,
        used_by_second: UsedTotals::NOTHING,
    };
    for judged in cases {
        let (Some(a), Some(b)) = (judged.row(first), judged.row(second)) else { continue };
        let (Some(by_first), Some(by_second)) = (is_passed(a), is_passed(b)) else { continue };
        pair.both_judged += 1;
        pair.used_by_first = pair.used_by_first.with(a.used());
        pair.used_by_second = pair.used_by_second.with(b.used());
        match (by_first, by_second) {
            (true, true) => pair.both_passed += 1,
            (true, false) => pair.only_first.push(judged.case.id.clone()),
            (false, true) => pair.only_second.push(judged.case.id.clone()),
            (false, false) => {}
        }
    }
    let (lost, won) = (pair.only_first.len() as u64, pair.only_second.len() as u64);
    pair.difference = paired_difference(lost, won, pair.both_judged);
    pair.chance = chance(lost, won);
    pair
}
