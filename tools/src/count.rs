//! A count with its noun, in the singular or the plural. Pure.

use std::fmt::Display;

/// Returns a count with its noun: `1 question` or `3 questions`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(
            [0_u8, 1, 2].map(|count| counted(count, "file")),
            ["0 files", "1 file", "2 files"]
        );
    }
}
