//! Finds the name that a mistyped one was probably meant to be. Pure.

/// Names that contain a shorter word are not offered for it.
const MIN_PART: usize = 3;

/// Returns the name that begins with the word, differs from it by few letters, as a whole or in a part, or contains it.
pub(crate) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let names: Vec<&str> = names.collect();
    let of = |is_meant: &dyn Fn(&str) -> bool| names.iter().copied().find(|name| is_meant(name));
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
    of(&|name| !word.is_empty() && name.starts_with(word))
        .or_else(near)
        .or_else(|| of(&|name| word.len() >= MIN_PART && name.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_begins_alike_is_spelled_alike_or_contains_the_word() {
        let names = ["deepseek-flash", "deepseek-v4-pro"];
        for (word, meant) in [
            ("deep", Some("deepseek-flash")),
            ("deepseek-v4-por", Some("deepseek-v4-pro")),
            ("falsh", Some("deepseek-flash")),
            ("pro", Some("deepseek-v4-pro")),
            ("4-pro", Some("deepseek-v4-pro")),
            ("v4", None),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names.into_iter()), meant, "{word}");
        }
    }
}
