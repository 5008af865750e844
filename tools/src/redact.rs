//! Removes secrets from text before it reaches a prompt, the journal or a screen: known secrets by value, likely ones
//! by shape. Pure.
//!
//! Each secret is replaced by a mask. Equal values get equal masks, and a mask never spans lines. So masked and
//! original text can be compared line by line, and a diff of masked text can be applied to the original.

mod encoded;
mod shapes;
#[cfg(test)]
mod shapes_tests;
mod stream;
mod table;
mod unmask;
mod values;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use sha2::{Digest as _, Sha256};

pub use self::stream::MaskedStream;
pub use self::unmask::unmask;
use self::values::SHORTEST;
pub use self::values::{is_secret_name, values_in, values_of_variables};

/// Every mask starts with this; four characters derived from the value and a bracket follow.
const OPENING: &str = "[redacted:";
/// The characters used to encode a value in its mask.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Length of a mask in bytes.
const MASK_BYTES: usize = OPENING.len() + 5;
/// Maximum number of known values; the longest are kept.
const MAX_VALUES: usize = 4_000;
/// Maximum total size of the known values, in bytes.
const MAX_VALUE_BYTES: usize = 1 << 20;

/// Finds secrets and masks them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Redactor(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Mixed into every mask, so that a guessed value cannot be tested against a mask.
    salt: String,
    values: BTreeSet<String>,
    /// Matches the values in plain and in encoded form.
    finder: Option<AhoCorasick>,
}

impl PartialEq for Redactor {
    fn eq(&self, other: &Self) -> bool {
        (&self.0.salt, &self.0.values) == (&other.0.salt, &other.0.values)
    }
}

impl Eq for Redactor {}

/// Text with its secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// The number of masked places.
    pub count: usize,
}

/// Replaces every mask in `text` by one that is the same for all secrets: a mask depends on the salt of its redactor.
pub fn without_salt(text: &str) -> Cow<'_, str> {
    if !text.contains(OPENING) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(OPENING);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(OPENING);
        let is_mask = |mask: &&str| {
            mask.ends_with(']') && mask.bytes().take(4).all(|digit| DIGITS.contains(&digit))
        };
        let rest = part.get(..5).filter(is_mask).and_then(|mask| part.strip_prefix(mask));
        plain.push_str(rest.unwrap_or(part));
    }
    Cow::Owned(plain)
}

impl Redactor {
    /// Creates a redactor that knows `values` in addition to the shapes of secrets. Values under 8 bytes are ignored:
    /// they are too common to be secrets.
    pub fn new(salt: &str, values: impl IntoIterator<Item = String>) -> Self {
        let can_be_told = |value: &String| value.len() >= SHORTEST && !value.contains(OPENING);
        let mut values: Vec<String> = values.into_iter().filter(can_be_told).collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        let mut room = MAX_VALUE_BYTES;
        let fits = |value: &String| {
            let fits = value.len() <= room;
            room = room.saturating_sub(value.len());
            fits
        };
        let values: BTreeSet<String> = values.into_iter().take(MAX_VALUES).filter(fits).collect();
        let patterns: Vec<String> = values.iter().flat_map(|value| encoded::ways(value)).collect();
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns);
        let finder = finder.ok().filter(|_| !values.is_empty());
        Self(Arc::new(Known { salt: salt.to_owned(), values, finder }))
    }

    /// Returns a copy that also knows the values in `more`.
    #[must_use]
    pub fn knowing(&self, more: impl IntoIterator<Item = String>) -> Self {
        Self::new(&self.0.salt, self.0.values.iter().cloned().chain(more))
    }

    /// Returns a copy with a different salt, so its masks differ.
    #[must_use]
    pub fn salted(&self, salt: &str) -> Self {
        let Known { values, finder, .. } = &*self.0;
        let (values, finder) = (values.clone(), finder.clone());
        Self(Arc::new(Known { salt: salt.to_owned(), values, finder }))
    }

    /// Returns `text` with every secret masked.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redacted(text).text
    }

    /// Returns `text` with every secret masked, and the number of masks.
    pub fn redacted<'t>(&self, text: &'t str) -> Redacted<'t> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Redacted { text: Cow::Borrowed(text), count: 0 };
        }
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for span in &spans {
            masked.push_str(text.get(end..span.start).unwrap_or_default());
            masked.push_str(&self.mask(text.get(span.clone()).unwrap_or_default()));
            end = span.end;
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        Redacted { text: Cow::Owned(masked), count: spans.len() }
    }

    /// Finds the known values in `text`: a byte range (start, end) for each distinct value.
    pub fn known_in(&self, text: &str) -> Vec<(usize, usize)> {
        let found = self.known_spans(text).filter_map(|span| Some((text.get(span.clone())?, span)));
        let found: BTreeMap<&str, Range<usize>> = found.collect();
        found.into_values().map(|span| (span.start, span.end)).collect()
    }

    /// Maps each mask in the redacted `text` to its value. Omits masks shared by two different values.
    pub fn masks_of(&self, text: &str) -> BTreeMap<String, String> {
        let mut masks: BTreeMap<String, Option<&str>> = BTreeMap::new();
        for value in self.spans(text).into_iter().filter_map(|span| text.get(span)) {
            let known = masks.entry(self.mask(value)).or_insert(Some(value));
            *known = known.filter(|known| *known == value);
        }
        masks.into_iter().filter_map(|(mask, value)| Some((mask, value?.to_owned()))).collect()
    }

    /// Finds all secrets, in order; no span crosses a line or overlaps another.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = shapes::secret_spans(text);
        spans.extend(self.known_spans(text));
        if spans.len() < 2 {
            return spans;
        }
        spans.sort_by_key(|span| span.start);
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            match joined.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                Some(_) | None => joined.push(span),
            }
        }
        joined
    }

    fn known_spans<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let found = self.0.finder.iter().flat_map(move |finder| finder.find_iter(text));
        found.map(|found| found.range()).filter(move |span| {
            text.is_char_boundary(span.start) && text.is_char_boundary(span.end)
        })
    }

    fn mask(&self, value: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.0.salt.as_bytes());
        hasher.update([0]);
        hasher.update(value.as_bytes());
        let mut mask = String::with_capacity(MASK_BYTES);
        mask.push_str(OPENING);
        for byte in hasher.finalize().iter().take(4) {
            let digit = DIGITS.get(usize::from(byte % 32)).copied().unwrap_or_default();
            mask.push(char::from(digit));
        }
        mask.push(']');
        mask
    }
}

/// Finds the masks in `text`, in order.
pub fn masks_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(OPENING).filter_map(|(at, _)| {
        let mask = text.get(at..at + MASK_BYTES)?;
        let value = mask.strip_prefix(OPENING)?.strip_suffix(']')?;
        value.bytes().all(|byte| DIGITS.contains(&byte)).then_some(mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "Tr0ub4dor-and-3";

    fn redactor() -> Redactor {
        Redactor::new("salt", [VALUE.to_owned(), "correct horse battery staple".to_owned()])
    }

    #[test]
    fn values_too_short_to_be_distinctive_are_not_masked() {
        let text = "demo: /tmp/demo/cart";
        assert_eq!(Redactor::new("salt", ["demo".to_owned()]).redact(text), text);
    }

    #[test]
    fn equal_values_share_a_mask_and_different_values_do_not() {
        let redactor = redactor();
        let text = format!("a {VALUE} b {VALUE}\ncorrect horse battery staple");
        let Redacted { text, count } = redactor.redacted(&text);
        let masks: Vec<&str> = masks_in(&text).collect();
        assert_eq!((masks.len(), count), (3, 3), "{text}");
        assert_eq!(masks[0], masks[1]);
        assert_ne!(masks[0], masks[2]);
        assert_eq!(text, format!("a {0} b {0}\n{1}", masks[0], masks[2]));
        assert_ne!(redactor.salted("other").redact(VALUE), redactor.redact(VALUE));
    }

    #[test]
    fn redacting_twice_changes_nothing_more() {
        let redactor = redactor();
        let once =
            redactor.redact(&format!("PASSWORD={VALUE} sk-{}", "a1".repeat(20))).into_owned();
        assert_eq!(redactor.redact(&once), once);
    }

    #[test]
    fn masks_can_be_mapped_back_to_their_values() {
        let redactor = redactor();
        let text = format!("k = \"{VALUE}\"\nt = \"ghp_{}\"\n", "x9Y".repeat(12));
        let masked = redactor.redact(&text).into_owned();
        let back = redactor
            .masks_of(&text)
            .iter()
            .fold(masked, |text, (mask, value)| text.replace(mask, value));
        assert_eq!(back, text);
    }

    #[test]
    fn lines_stay_lines() {
        let pem =
            "x\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nQQ==\n-----END RSA PRIVATE KEY-----\ny\n";
        let masked = redactor().redact(pem).into_owned();
        assert_eq!(masked.lines().count(), pem.lines().count(), "{masked}");
        assert!(!masked.contains("MIIE") && !masked.contains("QQ=="), "{masked}");
        assert!(masked.starts_with("x\n-----BEGIN") && masked.ends_with("-----\ny\n"), "{masked}");
    }

    #[test]
    fn text_without_secrets_is_not_copied() {
        assert!(matches!(Redactor::default().redact("plain text"), Cow::Borrowed(_)));
        assert!(matches!(redactor().redact("plain text"), Cow::Borrowed(_)));
    }

    #[test]
    fn adversarial_values_do_not_make_it_slow() {
        let nested = (8..3_000).map(|count| "a".repeat(count));
        let redactor = Redactor::new("", nested);
        let text = "a".repeat(3_000_000);
        assert!(redactor.redacted(&text).count > 0);
    }
}
