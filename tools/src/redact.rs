//! Takes keys out of text before it reaches a prompt, a log or a screen. Pure.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// What stands in place of a key.
const MASK: &str = "[redacted]";

/// Beginnings that every pattern has one of: text without any is passed through untouched and fast.
const MARKS: [&str; 15] = [
    "sk-",
    "sk_live_",
    "AKIA",
    "AIza",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "hf_",
    "npm_",
    "xox",
    "glpat-",
    "PRIVATE KEY-----",
];

static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        (?-u:\b)sk-[A-Za-z0-9_-]{16,}
        | (?-u:\b)AKIA[0-9A-Z]{16}(?-u:\b)
        | (?-u:\b)gh[opusr]_[A-Za-z0-9]{30,}
        | (?-u:\b)github_pat_[A-Za-z0-9_]{30,}
        | (?-u:\b)AIza[0-9A-Za-z_-]{30,}
        | (?-u:\b)sk_live_[0-9A-Za-z]{16,}
        | (?-u:\b)hf_[A-Za-z0-9]{30,}
        | (?-u:\b)npm_[A-Za-z0-9]{30,}
        | (?-u:\b)glpat-[A-Za-z0-9_-]{20,}
        | (?-u:\b)xox[abprs]-[A-Za-z0-9-]{10,}
        | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----|\z)",
    )
    .ok()
});

/// `text` with everything that looks like a key masked.
pub fn redact(text: &str) -> Cow<'_, str> {
    if !MARKS.iter().any(|mark| text.contains(mark)) {
        return Cow::Borrowed(text);
    }
    KEYS.as_ref().map_or(Cow::Borrowed(text), |keys| keys.replace_all(text, MASK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_masked_and_prose_is_not() {
        let key = format!("sk-{}", "a1B2".repeat(8));
        assert_eq!(redact(&format!("key={key}.")), "key=[redacted].");
        assert_eq!(redact("AKIAABCDEFGHIJKLMNOP"), MASK);
        let pem = "x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\ny";
        assert_eq!(redact(pem), "x\n[redacted]\ny");
        for prose in ["task-force", "sk-short", "risk-averse-but-long-enough-word", "ghp_"] {
            assert_eq!(redact(prose), prose);
        }
    }
}
