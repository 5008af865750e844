//! Exact confidence intervals for rates, and for the difference of two rates on the same cases. Pure.

use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF as _};

/// The confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// A value with a confidence interval of 95 percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The observed value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Returns the rate of `hits` among `all`, with the exact interval of Clopper and Pearson (Biometrika 26, 1934). `None`
/// without any.
pub fn rate(hits: u64, all: u64) -> Option<Interval> {
    if all == 0 || hits > all {
        return None;
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let quantile =
        |a: u64, b: u64, at: f64| Some(Beta::new(real(a), real(b)).ok()?.inverse_cdf(at));
    let low = if hits == 0 { 0.0 } else { quantile(hits, all - hits + 1, tail)? };
    let high = if hits == all { 1.0 } else { quantile(hits + 1, all - hits, 1.0 - tail)? };
    Some(Interval { value: real(hits) / real(all), low, high })
}

/// Returns by how much the rate of the second is higher than that of the first, over `all` cases that both had: `lost` are
/// those that only the first passed, `won` those that only the second did.
///
/// The interval is exact given the number of cases with different results: the share of `won` among these is binomial, as
/// in the sign test, and its interval is scaled to all cases. `None` if no case has different results: then nothing is known
/// about the size of a difference.
pub fn paired_difference(lost: u64, won: u64, all: u64) -> Option<Interval> {
    if all == 0 || lost + won > all {
        return None;
    }
    let different = lost + won;
    let share = rate(won, different)?;
    let scaled = |share: f64| (2.0 * share - 1.0) * real(different) / real(all);
    Some(Interval { value: scaled(share.value), low: scaled(share.low), high: scaled(share.high) })
}

/// Returns the two-sided exact probability, by the sign test, of a difference at least this large if both are equally
/// good.
pub fn chance(lost: u64, won: u64) -> f64 {
    let (few, all) = (lost.min(won), lost + won);
    // The binomial probabilities of 0 to `few` among `all`, at one half.
    let mut term = 0.5_f64.powf(real(all));
    let mut sum = term;
    for hits in 1..=few {
        term *= real(all - hits + 1) / real(hits);
        sum += term;
    }
    (2.0 * sum).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "there are far fewer cases than 2^52")]
const fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 5e-4
    }

    /// 81 of 263, and 15 of 148: Newcombe, Statistics in Medicine 17 (1998), table I, the exact method.
    #[test]
    fn rates_agree_with_published_ones() {
        for (hits, all, low, high) in [
            (81, 263, 0.2527, 0.3676),
            (15, 148, 0.0578, 0.1617),
            (0, 20, 0.0, 0.1684),
            (1, 29, 0.0009, 0.1776),
        ] {
            let found = rate(hits, all).unwrap();
            assert!(
                is_near(found.low, low) && is_near(found.high, high),
                "{hits}/{all}: {found:?}"
            );
        }
        assert!(is_near(rate(3, 3).unwrap().high, 1.0));
        assert_eq!(rate(0, 0), None);
        assert_eq!(rate(4, 3), None);
    }

    /// Agresti, Categorical Data Analysis, table 10.1: of 1600, 150 approve only at first, 86 only later.
    #[test]
    fn a_difference_agrees_with_a_published_one() {
        let found = paired_difference(150, 86, 1600).unwrap();
        assert!(is_near(found.value, -0.04), "{found:?}");
        // The book's interval is that of the normal distribution: -0.0587 to -0.0213.
        assert!(
            (found.low + 0.0587).abs() < 2e-3 && (found.high + 0.0213).abs() < 2e-3,
            "{found:?}"
        );
        // Its statistic is 17.36, with one degree of freedom: about 0.00003.
        assert!(chance(150, 86) < 1e-4);
    }

    #[test]
    fn few_cases_say_little() {
        assert!(is_near(chance(0, 0), 1.0));
        assert!(is_near(chance(1, 5), 0.2188));
        assert!(is_near(chance(0, 6), 0.0313));
        let found = paired_difference(0, 3, 10).unwrap();
        assert!(is_near(found.value, 0.3) && found.low < 0.0, "{found:?}");
        assert_eq!(paired_difference(0, 0, 10), None);
        assert_eq!(paired_difference(6, 5, 10), None);
    }
}
