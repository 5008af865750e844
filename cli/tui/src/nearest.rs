//! Finds the name that a mistyped one was probably meant to be. Pure.

/// Returns the name that begins with the word, or that differs from it by few letters, as a whole or in one of its parts.
pub(crate) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let names: Vec<&str> = names.collect();
    let near = || {
        let parts = names.iter().flat_map(|name| {
            std::iter::once(*name).chain(name.split('-')).map(|part| (part, *name))
        });
        let by_distance =
            parts.map(|(part, name)| (strsim::damerau_levenshtein(word, part), part, name));
        let (least, part, name) = by_distance.min_by_key(|(distance, ..)| *distance)?;
        // A third of the letters may be wrong.
        (least * 3 <= part.len()).then_some(name)
    };
    let begins = names.iter().copied().find(|name| !word.is_empty() && name.starts_with(word));
    begins.or_else(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_begins_alike_or_is_spelled_alike() {
        let names = ["deepseek-flash", "deepseek-v4-pro"];
        for (word, meant) in [
            ("deep", Some("deepseek-flash")),
            ("deepseek-v4-por", Some("deepseek-v4-pro")),
            ("falsh", Some("deepseek-flash")),
            ("pro", Some("deepseek-v4-pro")),
            ("v4", Some("deepseek-v4-pro")),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names.into_iter()), meant, "{word}");
        }
    }
}
