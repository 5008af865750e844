//! The cost of calls, by the configured price table. Pure. An estimate: only the provider knows the real cost, and it
//! may not tell.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use config::{Peak, Price, by_pattern};
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Usage;

/// An amount in US dollars, stored in billionths.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    /// Zero dollars.
    pub const ZERO: Self = Self(0);
    const PER_DOLLAR: u64 = 1_000_000_000;

    /// Converts from billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the amount in dollars, with a float's precision.
    #[expect(clippy::cast_precision_loss, reason = "amounts are far below what a float counts")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Converts from dollars, as configured; negative amounts become zero.
    pub fn from_dollars(dollars: f64) -> Self {
        Self(rounded(dollars * 1e9))
    }

    /// Returns the amount in billionths of a dollar.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Returns `self` minus `other`, or zero if that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the amount with all its decimals, at least two, as a user writes a limit.
    pub fn in_full(self) -> String {
        let (dollars, nanos) = (self.0 / Self::PER_DOLLAR, self.0 % Self::PER_DOLLAR);
        let decimals = format!("{nanos:09}");
        let (cents, below) = decimals.split_at(2);
        format!("${dollars}.{cents}{}", below.trim_end_matches('0'))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    /// Two decimals from one dollar up, four below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: u64 = Usd::PER_DOLLAR / 10_000;
        if self.0 > 0 && self.0 < SHOWN {
            return f.write_str("<$0.0001");
        }
        let tenths_of_mills = self.0.saturating_add(SHOWN / 2) / SHOWN;
        if tenths_of_mills < 10_000 {
            return write!(f, "$0.{tenths_of_mills:04}");
        }
        let cents = self.0.saturating_add(Self::PER_DOLLAR / 200) / (Self::PER_DOLLAR / 100);
        write!(f, "${}.{:02}", cents / 100, cents % 100)
    }
}

/// Why a price table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PriceError {
    /// Not `HH:MM-HH:MM`.
    #[error("llm.peak.windows: {window:?} is not HH:MM-HH:MM")]
    Window {
        /// The text as configured.
        window: String,
    },
    /// Not `YYYY-MM-DD`.
    #[error("llm.peak.holidays: {date:?} is not YYYY-MM-DD")]
    Holiday {
        /// The text as configured.
        date: String,
    },
    /// Not 1 to 7.
    #[error("llm.peak.weekdays: {weekday} is not 1 (Monday) to 7 (Sunday)")]
    Weekday {
        /// The number as configured.
        weekday: u8,
    },
    /// Negative or not a number.
    #[error("llm.prices.{model}: a price or factor is negative or not a number")]
    Price {
        /// The model whose price it is.
        model: String,
    },
}

/// The parsed price table.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    models: BTreeMap<String, Price>,
    weekdays: Vec<u8>,
    /// Minutes of the day, start inclusive, end exclusive. A window that ends before it starts extends past midnight.
    windows: Vec<(u16, u16)>,
    holidays: Vec<Date>,
}

impl Prices {
    /// Parses the table from the configuration.
    pub fn new(models: &BTreeMap<String, Price>, peak: &Peak) -> Result<Self, PriceError> {
        for (model, price) in models {
            let parts = [price.hit, price.miss, price.output, price.peak_factor];
            if !parts.iter().all(|part| part.is_finite() && *part >= 0.0) {
                return Err(PriceError::Price { model: model.clone() });
            }
        }
        if let Some(weekday) = peak.weekdays.iter().find(|day| !(1..=7).contains(*day)) {
            return Err(PriceError::Weekday { weekday: *weekday });
        }
        Ok(Self {
            models: models.clone(),
            weekdays: peak.weekdays.clone(),
            windows: peak.windows.iter().map(|text| window(text)).collect::<Result<_, _>>()?,
            holidays: peak.holidays.iter().map(|text| holiday(text)).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the cost of a call answered at `at`; `None` if the model has no price or the usage is unknown.
    pub fn cost(&self, model: &str, usage: Option<Usage>, at: Timestamp) -> Option<Usd> {
        let (price, usage) = (self.price(model)?, usage?);
        let factor = if self.is_peak(at) { price.peak_factor } else { 1.0 };
        let tokens = [
            (usage.hit.unwrap_or_default(), price.hit),
            (usage.miss(), price.miss),
            (usage.output, price.output),
        ];
        Some(total(&tokens, factor))
    }

    /// Returns the maximum cost of a call: no cache hit, the longest answer, and the higher of peak and off-peak
    /// prices, since the call may begin in one and end in the other. `None` if the model has no price.
    pub fn worst_case(&self, model: &str, prompt_tokens: u64, max_tokens: u32) -> Option<Usd> {
        let price = self.price(model)?;
        let tokens =
            [(prompt_tokens, price.miss.max(price.hit)), (u64::from(max_tokens), price.output)];
        Some(total(&tokens, price.peak_factor.max(1.0)))
    }

    /// Returns the price of a model: by its name, or by the longest pattern that it matches.
    fn price(&self, model: &str) -> Option<&Price> {
        by_pattern(&self.models, model)
    }

    /// Returns whether peak prices apply at `at`.
    pub fn is_peak(&self, at: Timestamp) -> bool {
        let now = Offset::UTC.to_datetime(at);
        let minute = minute_of_day(now);
        let yesterday = now.date().yesterday().ok();
        self.windows.iter().any(|&(start, end)| {
            if start < end {
                (start..end).contains(&minute) && self.has_peak(now.date())
            } else {
                (minute >= start && self.has_peak(now.date()))
                    || (minute < end && yesterday.is_some_and(|date| self.has_peak(date)))
            }
        })
    }

    /// Returns when the peak window that is open at `at` ends, and by what factor `model` costs more in it; `None` if it does
    /// not.
    pub fn peak(&self, model: &str, at: Timestamp) -> Option<(Timestamp, f64)> {
        const MINUTES_OF_DAYS: i64 = 8 * 24 * 60;
        let factor = self.price(model)?.peak_factor;
        if factor <= 1.0 || !self.is_peak(at) {
            return None;
        }
        // Windows begin and end with a minute.
        let begun = Timestamp::from_second(at.as_second() - at.as_second() % 60).ok()?;
        let later = |minutes| begun.checked_add(SignedDuration::from_mins(minutes)).ok();
        let end = (1..MINUTES_OF_DAYS).filter_map(later).find(|then| !self.is_peak(*then))?;
        Some((end, factor))
    }

    /// Returns whether peak windows open on `date`.
    fn has_peak(&self, date: Date) -> bool {
        let weekday = date.weekday().to_monday_one_offset();
        self.weekdays.iter().any(|day| i16::from(*day) == i16::from(weekday))
            && !self.holidays.contains(&date)
    }
}

fn minute_of_day(time: DateTime) -> u16 {
    u16::try_from(i16::from(time.hour()) * 60 + i16::from(time.minute())).unwrap_or(0)
}

/// Sums tokens times dollars per million tokens. Rounds up, once at the end, so that an upper bound stays one.
fn total(tokens: &[(u64, f64)], factor: f64) -> Usd {
    /// Prices are converted to integers: trillionths of a dollar per token.
    const PICO_PER_NANO: u128 = 1000;
    let picos: u128 = tokens
        .iter()
        .map(|&(count, price)| u128::from(count) * u128::from(rounded(price * factor * 1e6)))
        .sum();
    Usd(u64::try_from(picos.div_ceil(PICO_PER_NANO)).unwrap_or(u64::MAX))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as intended"
)]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

fn window(text: &str) -> Result<(u16, u16), PriceError> {
    let minute = |time: &str| {
        let (hours, minutes) = time.trim().split_once(':')?;
        let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
        let minute = u16::from(hours) * 60 + u16::from(minutes);
        (minutes < 60 && minute <= 24 * 60).then_some(minute)
    };
    text.split_once('-')
        .and_then(|(start, end)| Some((minute(start)?, minute(end)?)))
        .ok_or_else(|| PriceError::Window { window: text.to_owned() })
}

fn holiday(text: &str) -> Result<Date, PriceError> {
    text.trim().parse().map_err(|_| PriceError::Holiday { date: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FLASH: Price = Price { hit: 0.003, miss: 0.15, output: 0.6, peak_factor: 2.0 };

    fn prices(windows: &[&str]) -> Prices {
        let peak = Peak {
            weekdays: vec![1, 2, 3, 4, 5],
            windows: windows.iter().map(|window| (*window).to_owned()).collect(),
            holidays: vec!["2026-10-01".to_owned()],
        };
        Prices::new(&BTreeMap::from([("flash".to_owned(), FLASH)]), &peak).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_end_of_a_peak_is_known() {
        let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
        let prices = Prices::new(&llm.prices, &llm.peak).unwrap();
        let peak = |model: &str, at: &str| {
            let (end, factor) = prices.peak(model, at.parse().unwrap())?;
            Some(format!("{end} {factor}"))
        };
        let friday = "2026-11-27T08:20:30Z";
        assert_eq!(peak("deepseek-flash", friday).as_deref(), Some("2026-11-27T10:00:00Z 2"));
        assert_eq!(peak("deepseek-v4-flash-vision-exp", friday), peak("deepseek-flash", friday));
        assert_eq!(peak("gpt-5", friday), None, "its price is not known");
        assert_eq!(peak("deepseek-flash", "2026-11-28T08:20:30Z"), None, "it is Saturday");
    }

    #[test]
    fn peak_is_a_window_on_a_working_day() {
        let prices = prices(&["01:00-04:00", "06:00-10:00"]);
        for (time, expected) in [
            ("2026-11-20T00:59:59Z", false),
            ("2026-11-20T01:00:00Z", true),
            ("2026-11-20T03:59:59Z", true),
            ("2026-11-20T04:00:00Z", false),
            ("2026-11-20T09:59:00Z", true),
            ("2026-11-21T02:00:00Z", false), // a Saturday
            ("2026-10-01T02:00:00Z", false), // a holiday
            ("2026-10-02T02:00:00Z", true),
        ] {
            assert_eq!(prices.is_peak(at(time)), expected, "{time}");
        }
    }

    #[test]
    fn a_window_over_midnight_belongs_to_the_day_it_opens_on() {
        let prices = prices(&["23:00-02:00"]);
        for (time, expected) in [
            ("2026-11-20T23:30:00Z", true),  // Friday
            ("2026-11-21T01:59:00Z", true),  // its night
            ("2026-11-21T23:30:00Z", false), // Saturday
            ("2026-11-23T01:00:00Z", false), // the night of Sunday
        ] {
            assert_eq!(prices.is_peak(at(time)), expected, "{time}");
        }
    }

    #[test]
    fn a_call_costs_by_hit_miss_and_output() {
        let prices = prices(&["01:00-04:00"]);
        let usage =
            Some(Usage { prompt: 10_000, hit: Some(4_000), output: 1_000, reasoning: Some(900) });
        let quiet = at("2026-11-20T12:00:00Z");
        // 4,000 · 0.003 + 6,000 · 0.15 + 1,000 · 0.6 = 1,512 millionths
        assert_eq!(prices.cost("flash", usage, quiet), Some(Usd::from_nanos(1_512_000)));
        assert_eq!(
            prices.cost("flash", usage, at("2026-11-20T02:00:00Z")),
            Some(Usd::from_nanos(3_024_000))
        );
        let uneven = Price { hit: 0.0028, ..FLASH };
        assert_eq!(total(&[(1, uneven.hit)], 1.0), Usd::from_nanos(3));
        assert_eq!(prices.cost("other", usage, quiet), None);
        assert_eq!(prices.cost("flash", None, quiet), None);
    }

    #[test]
    fn amounts_are_displayed_briefly() {
        for (nanos, shown) in [
            (0, "$0.0000"),
            (1, "<$0.0001"),
            (3_100_000, "$0.0031"),
            (999_940_000, "$0.9999"),
            (999_960_000, "$1.00"),
            (12_345_000_000, "$12.35"),
        ] {
            assert_eq!(Usd::from_nanos(nanos).to_string(), shown);
        }
        assert_eq!(Usd::from_dollars(0.5), Usd::from_nanos(500_000_000));
        assert_eq!(Usd::from_dollars(-1.0), Usd::ZERO);
    }

    #[test]
    fn a_limit_is_displayed_in_full() {
        for (nanos, shown) in [
            (0, "$0.00"),
            (10_000, "$0.00001"),
            (500_000_000, "$0.50"),
            (2_000_000_001, "$2.000000001"),
        ] {
            assert_eq!(Usd::from_nanos(nanos).in_full(), shown);
        }
    }

    #[test]
    fn invalid_tables_are_refused() {
        let models = BTreeMap::new();
        let peak = |weekday: u8, window: &str, holiday: &str| Peak {
            weekdays: vec![weekday],
            windows: vec![window.to_owned()],
            holidays: vec![holiday.to_owned()],
        };
        assert!(Prices::new(&models, &peak(7, "00:00-24:00", "2026-01-01")).is_ok());
        for wrong in [
            peak(0, "00:00-24:00", "2026-01-01"),
            peak(1, "00:00-24:01", "2026-01-01"),
            peak(1, "0-1", "2026-01-01"),
            peak(1, "60000:00-24:00", "2026-01-01"),
            peak(1, "00:00-24:00", "1 May"),
        ] {
            assert!(Prices::new(&models, &wrong).is_err(), "{wrong:?}");
        }
        let negative = BTreeMap::from([("m".to_owned(), Price { hit: -1.0, ..FLASH })]);
        assert!(Prices::new(&negative, &peak(1, "00:00-24:00", "2026-01-01")).is_err());
    }

    proptest! {
        #[test]
        fn no_call_costs_more_than_its_worst_case(
            prompt in 0_u64..1_100_000,
            hit in 0_u64..1_100_000,
            (max_tokens, output) in (0_u32..400_000).prop_flat_map(|max| (Just(max), 0..=max)),
            second in 1_790_000_000_i64..1_800_000_000,
        ) {
            let prices = prices(&["01:00-04:00", "06:00-10:00"]);
            let usage = Usage { prompt, hit: Some(hit.min(prompt)), output: output.into(), reasoning: None };
            let at = Timestamp::from_second(second).unwrap();
            let cost = prices.cost("flash", Some(usage), at);
            prop_assert!(cost.is_some() && cost <= prices.worst_case("flash", prompt, max_tokens));
        }
    }
}
