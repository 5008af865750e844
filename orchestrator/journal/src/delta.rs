//! One text as a delta against another that it mostly repeats, such as a prompt against the previous one. Pure.

use serde::{Deserialize, Serialize};

/// How to build a text from another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextDelta {
    parts: Vec<Part>,
    /// The inserted bytes of all parts, concatenated.
    #[serde(skip)]
    fresh: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    /// Copies `len` bytes of the other text, starting at `from`.
    Copy { from: usize, len: usize },
    /// Takes the next `len` inserted bytes.
    Insert { len: usize },
}

/// Equal bytes that make a copy worthwhile and end the search for a match.
const RUN: usize = 32;

/// How far to look for the place where the texts match again.
const LOOK: usize = 64;

impl TextDelta {
    /// Computes the delta of `new` against `base`.
    pub(super) fn between(base: &[u8], new: &[u8]) -> TextDelta {
        let mut delta = TextDelta { parts: Vec::new(), fresh: Vec::new() };
        let (mut at, mut rest) = (0, new);
        while !rest.is_empty() {
            let old = base.get(at..).unwrap_or_default();
            let len = common(old, rest);
            if len >= RUN {
                delta.parts.push(Part::Copy { from: at, len });
                at += len;
                rest = rest.get(len..).unwrap_or_default();
                continue;
            }
            let (skip, len) = resync(old, rest).unwrap_or((0, rest.len()));
            let (inserted, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            delta.insert(inserted);
            at += skip;
            rest = after;
        }
        delta
    }

    fn insert(&mut self, bytes: &[u8]) {
        self.fresh.extend_from_slice(bytes);
        if let Some(Part::Insert { len }) = self.parts.last_mut() {
            *len += bytes.len();
        } else {
            self.parts.push(Part::Insert { len: bytes.len() });
        }
    }

    /// Rebuilds the text; `None` if `base` does not fit.
    pub(super) fn apply(&self, base: &[u8]) -> Option<Vec<u8>> {
        let (mut text, mut fresh) = (Vec::new(), self.fresh.as_slice());
        for part in &self.parts {
            match *part {
                Part::Copy { from, len } => {
                    text.extend_from_slice(base.get(from..from.checked_add(len)?)?);
                }
                Part::Insert { len } => {
                    let (piece, rest) = fresh.split_at_checked(len)?;
                    text.extend_from_slice(piece);
                    fresh = rest;
                }
            }
        }
        Some(text)
    }

    /// Returns the bytes that are not in the other text.
    pub(super) fn fresh(&self) -> &[u8] {
        &self.fresh
    }

    /// Restores the inserted bytes, which are not serialised.
    pub(super) fn with_fresh(self, fresh: Vec<u8>) -> TextDelta {
        TextDelta { fresh, ..self }
    }
}

/// Returns the length of the common prefix.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Finds the nearest place where both match again, as the bytes to skip in `old` and in `new`.
fn resync(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    let alike = |&(skip, len): &(usize, usize)| {
        let (old, new) = (old.get(skip..skip + RUN), new.get(len..len + RUN));
        old.is_some() && old == new
    };
    let places = (1..=2 * LOOK).flat_map(|sum| {
        (sum.saturating_sub(LOOK)..=sum.min(LOOK)).map(move |len| (sum - len, len))
    });
    places.into_iter().find(alike)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_grown_prompt_stores_only_its_new_end() {
        let body = |max: u32, messages: &str| {
            format!(
                "{{\"model\":\"m\",\"stream\":true,\"max_tokens\":{max},\"messages\":[{messages}]}}"
            )
        };
        let first =
            "{\"role\":\"user\",\"content\":\"".to_owned() + &"a long text ".repeat(50) + "\"}";
        let second = format!("{first},{{\"role\":\"assistant\",\"content\":\"yes\"}}");
        let (old, new) = (body(32000, &first), body(9000, &second));
        let delta = TextDelta::between(old.as_bytes(), new.as_bytes());
        assert!(delta.fresh().len() < 80, "{delta:?}");
        assert_eq!(delta.apply(old.as_bytes()).unwrap(), new.as_bytes());
        assert_eq!(delta.apply(b"too short"), None);
    }

    proptest! {
        #[test]
        fn a_delta_survives_serialisation_and_rebuilds_the_text(
            base in "[ab]{0,300}", head in "[abc]{0,9}", cut in 0..300usize, tail in "[abc]{0,90}",
        ) {
            let kept = base.get(cut.min(base.len())..).unwrap_or_default();
            let new = format!("{head}{kept}{tail}");
            let delta = TextDelta::between(base.as_bytes(), new.as_bytes());
            let text = serde_json::to_string(&delta).unwrap();
            let read: TextDelta = serde_json::from_str(&text).unwrap();
            let read = read.with_fresh(delta.fresh().to_vec());
            prop_assert_eq!(read.apply(base.as_bytes()).unwrap(), new.as_bytes());
        }
    }
}
