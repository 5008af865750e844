//! The forms in which a secret can appear: plain, and in common encodings. Pure.

use std::collections::BTreeSet;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns every form of `value` to search for: plain, hexadecimal, percent-encoded, and base64 at each alignment.
pub(super) fn ways(value: &str) -> BTreeSet<String> {
    let bytes = value.as_bytes();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let percent = bytes.iter().map(|byte| {
        if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    });
    let percent: String = percent.collect();
    let mut ways = BTreeSet::from([value.to_owned(), hex.to_uppercase(), hex, percent]);
    for before in 0..3 {
        let inner = base64_after(bytes, before);
        ways.insert(inner.replace('+', "-").replace('/', "_"));
        ways.insert(inner);
    }
    ways
}

/// Returns the base64 digits that depend on `bytes` alone, when `bytes` starts `before` bytes past a multiple of three.
fn base64_after(bytes: &[u8], before: usize) -> String {
    let bits = bytes.len() * 8;
    // The first bit at which a digit starts, counted from the first bit of `bytes`.
    let first = (6 - before * 8 % 6) % 6;
    let digit = |at: usize| {
        let bit = |at: usize| {
            let byte = bytes.get(at / 8).copied().unwrap_or_default();
            usize::from(byte >> (7 - at % 8) & 1)
        };
        let number = (at..at + 6).fold(0, |number, at| number * 2 + bit(at));
        BASE64.get(number).map(|digit| char::from(*digit))
    };
    (first..).step_by(6).take_while(|at| at + 6 <= bits).filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_alignment() {
        let value = "hunter2-hunter2";
        // base64 of `value`, `x` + value, and `xy` + value, followed by a letter.
        let encoded =
            ["aHVudGVyMi1odW50ZXIyIQ==", "eGh1bnRlcjItaHVudGVyMiE=", "eHlodW50ZXIyLWh1bnRlcjIh"];
        let ways = ways(value);
        for text in encoded {
            assert!(ways.iter().any(|way| text.contains(way.as_str())), "{text}: {ways:?}");
        }
        assert!(ways.contains("68756e746572322d68756e74657232"));
        assert!(super::ways("a b+c/d1").contains("a%20b%2Bc%2Fd1"));
    }
}
