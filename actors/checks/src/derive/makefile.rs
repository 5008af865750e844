//! Reads the rule of a target in a Makefile. Pure.

use crate::proves_nothing::proves_nothing;

/// Returns the commands of a target, if it is there and can fail.
pub(super) fn recipe(makefile: &str, target: &str) -> Option<Vec<String>> {
    let mut lines = makefile.lines().skip_while(|line| needs_of(line, target).is_none());
    let needs = lines.next().and_then(|line| needs_of(line, target))?;
    let (needs, first) = needs.split_once(';').unwrap_or((needs, ""));
    let indented = lines.take_while(|line| line.starts_with('\t') || line.trim().is_empty());
    let recipe = std::iter::once(first).chain(indented);
    let recipe = recipe.map(|line| line.trim().trim_start_matches('@').trim().to_owned());
    let recipe: Vec<String> =
        recipe.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let fails = |line: &String| !line.starts_with('-') && proves_nothing(line).is_none();
    (!needs.trim().is_empty() || recipe.iter().any(fails)).then_some(recipe)
}

/// Returns what follows the colon, if a line is the rule of `target`.
fn needs_of<'l>(line: &'l str, target: &str) -> Option<&'l str> {
    let (names, needs) = line.split_once(':')?;
    let is_rule = !line.starts_with([' ', '\t', '#']) && !needs.starts_with('=');
    (is_rule && names.split_whitespace().any(|name| name == target)).then_some(needs)
}
