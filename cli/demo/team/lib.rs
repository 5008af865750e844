//! A till. Prices are in cents.

mod discount;
mod points;
mod tax;

/// The width of the paper, in characters.
pub const PAPER: usize = 38;

/// Formats a line of the receipt.
pub fn line(name: &str, cents: u64) -> String {
    let more = [discount::column(cents), points::column(cents), tax::column(cents)].concat();
    format!("{name:<10}{cents:>8}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_the_paper() {
        let line = line("coffee", 350);
        assert!(line.len() <= PAPER, "{} characters: {line}", line.len());
    }
}
