//! How a broken rule is reported.

use std::collections::BTreeMap;

/// Checks that nothing breaks a rule. `broken` has what does, and where.
pub(crate) fn assert_unbroken(rule: &str, broken: &BTreeMap<String, String>) {
    let lines = broken.iter().map(|(name, place)| format!("  {name}: {place}\n"));
    assert!(broken.is_empty(), "{rule}. Broken by:\n{}", lines.collect::<String>());
}
