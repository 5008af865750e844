//! The program's one clock and one source of ids; `main` creates both and passes them down.
//!
//! Waiting does not happen here: waits use tokio's time, which tests can pause.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

pub use jiff::Timestamp;

/// Tells the wall-clock time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Returns the time for a file that must be newer than all that were written before. The kernel's own stamps lag behind
/// by up to a tick, so that such a file could be as old as what was built from its predecessor.
pub fn precise_now() -> SystemTime {
    SystemTime::now()
}

/// Returns the numbers below `count` in an order that depends on the seed alone.
pub fn seeded_order(seed: u64, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    order
}

/// A clock stopped at one time, for tests and replays.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Creates ids that are short, sort in creation order, and are unique in the state directory.
pub trait IdSource: fmt::Debug + Send + Sync + 'static {
    /// Returns a new id.
    fn fresh(&self) -> String;
}

/// Ids from time and randomness: 10 characters of milliseconds and 6 random ones, in base 32.
#[derive(Debug)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn fresh(&self) -> String {
        let millis = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
        format!("{}{}", base32(millis, 10), base32(fastrand::u64(..), 6))
    }
}

/// Ids that count up from one, for tests and replays.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn fresh(&self) -> String {
        base32(self.0.fetch_add(1, Ordering::Relaxed) + 1, 16)
    }
}

/// Returns a random number from 0 to 1 for jitter. It may decide when something happens, never what.
pub fn chance() -> f64 {
    fastrand::f64()
}

/// Returns 16 random hexadecimal characters for the names of temporary files.
pub fn token() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// Returns the last `width` base-32 digits of `value`, in Crockford's alphabet, lower case.
fn base32(value: u64, width: u32) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    (0..width)
        .rev()
        .map(|place| {
            let digit = value.checked_shr(place * 5).unwrap_or(0) & 31;
            DIGITS.get(usize::try_from(digit).unwrap_or(0)).map_or('0', |byte| char::from(*byte))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_ids_sort_in_the_order_of_making() {
        let ids = CountingIds::default();
        let made: Vec<String> = (0..100).map(|_| ids.fresh()).collect();
        assert!(made.is_sorted());
        assert_eq!(made[0], "0000000000000001");
    }
}
