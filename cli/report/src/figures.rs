//! How the numbers of an evaluation are written. Pure.

use checks::wording::short_number;
use eval::results::interval::Interval;
use eval::results::record::UsedTotals;
use model::price::Usd;

/// What stands in place of a value that is not known.
pub(crate) const UNKNOWN: &str = "unknown";

/// Formats a rate with its interval.
pub(crate) fn percent(rate: Option<Interval>) -> String {
    let Some(rate) = rate else { return UNKNOWN.to_owned() };
    let [value, low, high] = [rate.value, rate.low, rate.high].map(|share| share * 100.0);
    format!("{value:.1} % ({low:.1} to {high:.1})")
}

/// Formats the difference of rates on this many cases, with its interval, if a case has shown one.
pub(crate) fn points(difference: Option<Interval>, cases: u64) -> String {
    let Some(difference) = difference else {
        let none = "none; no interval, because all results are equal";
        return if cases == 0 { UNKNOWN } else { none }.to_owned();
    };
    let [value, low, high] = [difference.value, difference.low, difference.high].map(signed);
    format!("{value} points ({low} to {high})")
}

fn signed(share: f64) -> String {
    let points = share * 100.0;
    if points.abs() < 0.05 { "0.0".to_owned() } else { format!("{points:+.1}") }
}

/// Formats a probability.
pub(crate) fn probability(chance: f64) -> String {
    let percent = chance * 100.0;
    if percent < 0.1 { "less than 0.1 %".to_owned() } else { format!("{percent:.1} %") }
}

/// Formats a cost.
pub(crate) fn cost(cost: Option<Usd>) -> String {
    cost.map_or_else(|| UNKNOWN.to_owned(), |cost| cost.to_string())
}

/// Formats a time: `4.2 s`, `12 min 30 s` or `1 h 02 min`.
pub(crate) fn time(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Formats the prompt tokens: those that were not in the provider's cache, and those from it.
pub(crate) fn prompt_tokens(used: &UsedTotals) -> [String; 2] {
    let UsedTotals { new, cached, unknown, .. } = *used;
    if unknown == 0 {
        return [new, cached].map(short_number);
    }
    let untold = format!("{UNKNOWN} for {}", short_number(unknown));
    if new + cached == 0 {
        return [untold.clone(), untold];
    }
    [new, cached].map(|known| format!("{}, {untold}", short_number(known)))
}

/// Returns all tokens of prompts and answers.
pub(crate) const fn all_tokens(used: &UsedTotals) -> u64 {
    used.prompt() + used.output
}

/// Formats how many times the first amount the second one is.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below what a float counts")]
pub(crate) fn times(first: u64, second: u64) -> String {
    match first {
        0 => UNKNOWN.to_owned(),
        first => format!("{:.2} times", second as f64 / first as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_zero() {
        assert_eq!([percent(None), points(None, 0), cost(None), times(0, 3)], [UNKNOWN; 4]);
        let used = UsedTotals { unknown: 1_200, ..UsedTotals::default() };
        assert_eq!(prompt_tokens(&used), ["unknown for 1.2k"; 2]);
        let used = UsedTotals { cached: 30, ..used };
        assert_eq!(prompt_tokens(&used), ["0, unknown for 1.2k", "30, unknown for 1.2k"]);
        assert_eq!(all_tokens(&used), 1_230);
    }

    #[test]
    fn rates_and_differences_have_their_interval() {
        let interval = |value, low, high| Some(Interval { value, low, high });
        assert_eq!(percent(interval(0.667, 0.094, 0.992)), "66.7 % (9.4 to 99.2)");
        assert_eq!(points(interval(0.1, -0.042, 0.25), 4), "+10.0 points (-4.2 to +25.0)");
        assert_eq!(points(interval(0.0, -0.0004, 0.1), 2), "0.0 points (0.0 to +10.0)");
        assert!(points(None, 3).contains("no interval"));
        assert_eq!([0.21875, 1e-9, 1.0].map(probability), ["21.9 %", "less than 0.1 %", "100.0 %"]);
    }

    #[test]
    fn times_have_units() {
        let shown = [940, 59_999, 750_000, 3_600_000, 93_784_000].map(time);
        assert_eq!(shown, ["0.9 s", "59.9 s", "12 min 30 s", "1 h 00 min", "26 h 03 min"]);
        assert_eq!([(4, 5), (3, 1)].map(|(a, b)| times(a, b)), ["1.25 times", "0.33 times"]);
    }
}
