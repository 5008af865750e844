//! Which hints have a test: a scenario that printed the hint, or a text of another test that quotes it.

use std::collections::{HashMap, HashSet};

use super::sites::Site;

/// As many characters of a hint are a quote of it.
pub(crate) const QUOTE: usize = 18;

/// Returns the sites that are neither printed nor quoted.
pub(crate) fn untested<'s>(
    sites: &'s [Site],
    printed: &[String],
    quotes: &[String],
) -> Vec<&'s Site> {
    // What several hints have in common tells nothing about any of them.
    let mut hints: HashMap<&str, Option<&str>> = HashMap::new();
    for site in sites {
        for window in site.pieces().into_iter().flat_map(windows) {
            let hint = hints.entry(window).or_insert(Some(&site.template));
            *hint = hint.filter(|hint| *hint == site.template);
        }
    }
    let quoted = quotes.iter().flat_map(|quote| windows(quote));
    let quoted: HashSet<&str> =
        quoted.filter_map(|window| hints.get(window).copied().flatten()).collect();
    let is_tested = |site: &&Site| {
        quoted.contains(site.template.as_str())
            || quotes.contains(&site.template)
            || printed.iter().any(|hint| site.is_in(hint))
    };
    sites.iter().filter(|site| !is_tested(site)).collect()
}

/// Returns every part of a text that is as long as a quote.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).skip(QUOTE - 1);
    starts.zip(ends).map(|(start, end)| &text[start..end])
}
