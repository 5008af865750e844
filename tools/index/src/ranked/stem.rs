//! Stems English words, so that `delayed` finds `delay`. Consistent rather than correct: the forms of a word must share
//! a stem, which is never displayed. Pure.

/// Endings to remove, and how many letters must remain. The first match is taken.
const ENDINGS: [(&str, usize); 20] = [
    ("ational", 4),
    ("ization", 4),
    ("ations", 4),
    ("ation", 4),
    ("ators", 4),
    ("ator", 4),
    ("ate", 4),
    ("ement", 4),
    ("ment", 4),
    ("ness", 4),
    ("able", 4),
    ("ible", 4),
    ("ally", 4),
    ("ly", 4),
    ("ive", 4),
    ("ize", 4),
    ("ise", 4),
    ("er", 4),
    ("or", 4),
    ("al", 4),
];

/// Shortens `word`, in lower case, to its stem. A word with anything but ASCII letters is left alone.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    plural(word);
    inflection(word);
    if let Some(left) = word.strip_suffix("ion")
        && left.len() >= 4
        && left.ends_with(['s', 't'])
        && !left.ends_with("at")
    {
        word.truncate(word.len() - 3);
    }
    let ending = ENDINGS.iter().find(|(ending, _)| word.ends_with(ending));
    if let Some((ending, least)) = ending
        && word.len() >= ending.len() + least
    {
        word.truncate(word.len() - ending.len());
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
}

fn plural(word: &mut String) {
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
}

/// Removes `ing` and `ed`, as in `running` and `planned`, along with a doubled letter before it.
fn inflection(word: &mut String) {
    let Some(ending) = ["ing", "ed"].into_iter().find(|ending| word.ends_with(ending)) else {
        return;
    };
    let left = word.len() - ending.len();
    // `iterating` gets the stem of `iterate`, and `repeating` that of `repeat`.
    if let Some(verb) = word.get(..left).and_then(|verb| verb.strip_suffix("at"))
        && verb.len() >= 4
        && !verb.ends_with(['a', 'e', 'i', 'o', 'u', 'm'])
    {
        word.truncate(left - 2);
        return;
    }
    let has_vowel = word.bytes().take(left).any(|byte| b"aeiouy".contains(&byte));
    if left < 3 || !has_vowel || word.ends_with("eed") {
        return;
    }
    word.truncate(left);
    let mut last = word.bytes().rev();
    let doubled = last.next().filter(|byte| last.next() == Some(*byte));
    if doubled.is_some_and(|byte| !b"lszaeiou".contains(&byte)) && word.len() > 3 {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            &["delay", "delayed", "delays", "delaying"][..],
            &["compress", "compressed", "compresses", "compression"],
            &["iterate", "iterator", "iterators", "iteration", "iterating"],
            &["configure", "configured", "configuration"],
            &["parse", "parser", "parsing", "parsed", "parses"],
            &["run", "running", "runs"],
            &["query", "queries"],
            &["repeat", "repeating", "repeated"],
            &["format", "formatted", "formatting"],
            &["template", "templates"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| of(form)).collect();
            assert!(stems.iter().all(|stem| Some(stem) == stems.first()), "{stems:?}");
        }
    }

    #[test]
    fn other_words_keep_different_stems() {
        for word in ["bus", "this", "class", "red", "thing", "ion", "größen", "utf8s", "io"] {
            assert_eq!(of(word), word);
        }
        assert_ne!(of("option"), of("opt"));
    }

    proptest::proptest! {
        #[test]
        fn a_stem_is_neither_longer_nor_empty(word in "[a-z]{1,12}|\\PC{0,8}") {
            let stem = of(&word);
            proptest::prop_assert!(stem.len() <= word.len());
            proptest::prop_assert!(!stem.is_empty() || word.is_empty());
        }
    }
}
