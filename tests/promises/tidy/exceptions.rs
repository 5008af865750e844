//! What breaks a rule today. A list of exceptions can only become shorter.

use std::collections::{BTreeMap, BTreeSet};

/// Checks that what breaks a rule, with its places, is exactly what is listed.
pub(crate) fn only_listed<'l>(
    rule: &str,
    broken: &BTreeMap<String, String>,
    listed: impl IntoIterator<Item = &'l str>,
) {
    let listed: BTreeSet<&str> = listed.into_iter().collect();
    let (known, new): (Vec<_>, Vec<_>) =
        broken.iter().partition(|(name, _)| listed.contains(name.as_str()));
    let mended: Vec<_> = listed.iter().filter(|name| !broken.contains_key(**name)).collect();
    let lines = |broken: Vec<(&String, &String)>| {
        let lines = broken.into_iter().map(|(name, place)| format!("  {name}: {place}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert!(
        new.is_empty() && mended.is_empty(),
        "{rule}.\nNot listed:\n{}\nNo longer to be listed: {mended:?}\nListed:\n{}",
        lines(new),
        lines(known),
    );
}
