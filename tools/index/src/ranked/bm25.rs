//! The BM25 score of words in texts. Pure.

/// How quickly repetitions of a word stop counting.
const K1: f64 = 1.2;
/// How much long texts are penalized.
const B: f64 = 0.75;

/// Returns the weight of a word that `having` of `all` texts contain. Always positive, so that common words also count.
pub(crate) fn idf(all: usize, having: usize) -> f64 {
    let (all, having) = (count(all), count(having));
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// Scores a word that occurs `times` times in a text of `length` words, where texts have `average` words.
pub(crate) fn score(idf: f64, times: usize, length: usize, average: f64) -> f64 {
    let norm = 1.0 - B + B * count(length) / average.max(1.0);
    saturated(idf, times, norm)
}

/// Scores a word where all texts have the same length.
pub(crate) fn score_of_equals(idf: f64, times: usize) -> f64 {
    saturated(idf, times, 1.0)
}

fn saturated(idf: f64, times: usize, norm: f64) -> f64 {
    let times = count(times);
    idf * times * (K1 + 1.0) / (times + K1 * norm)
}

/// Returns the mean of `sum` over `all`.
pub(crate) fn average(sum: usize, all: usize) -> f64 {
    count(sum) / count(all.max(1))
}

/// Converts a count to a float; exact for all counts that occur here.
pub(crate) fn count(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_short_texts_and_repetition_count_more() {
        assert!(idf(100, 1) > idf(100, 50) && idf(100, 100) > 0.0);
        let idf = idf(100, 5);
        assert!(score(idf, 2, 10, 10.0) > score(idf, 1, 10, 10.0));
        assert!(score(idf, 1, 10, 10.0) > score(idf, 1, 50, 10.0));
        assert!(score(idf, 1000, 10, 10.0) < idf * 2.2 + 1e-9);
        assert!((score_of_equals(idf, 3) - score(idf, 3, 10, 10.0)).abs() < 1e-9);
    }
}
