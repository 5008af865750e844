//! The shapes of secrets, as a table: the prefixes of providers' keys, and what follows the name of a password. Pure.

/// The characters of a key after its prefix.
#[derive(Clone, Copy)]
pub(super) enum KeyCharacters {
    /// Letters and digits.
    Letters,
    /// Letters, digits, `-` and `_`.
    Words,
    /// Letters, digits, `-`, `_` and `.`.
    Dotted,
    /// Upper-case letters and digits.
    Upper,
    /// Hexadecimal digits.
    Hex,
}

impl KeyCharacters {
    pub(super) const fn of(self, byte: u8) -> bool {
        match self {
            Self::Letters => byte.is_ascii_alphanumeric(),
            Self::Words => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
        }
    }
}

/// Keys recognized by their prefix: the prefix, the characters that follow, and their minimum number.
pub(super) const KEYS: [(&str, KeyCharacters, usize); 54] = [
    ("sk-", KeyCharacters::Words, 16), // DeepSeek, OpenAI, Anthropic
    ("sk_live_", KeyCharacters::Letters, 16), // Stripe
    ("sk_test_", KeyCharacters::Letters, 16),
    ("rk_live_", KeyCharacters::Letters, 16),
    ("rk_test_", KeyCharacters::Letters, 16),
    ("whsec_", KeyCharacters::Letters, 16),
    ("AKIA", KeyCharacters::Upper, 16), // AWS
    ("ASIA", KeyCharacters::Upper, 16),
    ("AIza", KeyCharacters::Words, 30), // Google
    ("ya29.", KeyCharacters::Words, 20),
    ("GOCSPX-", KeyCharacters::Words, 20),
    ("ghp_", KeyCharacters::Letters, 30), // GitHub
    ("gho_", KeyCharacters::Letters, 30),
    ("ghu_", KeyCharacters::Letters, 30),
    ("ghs_", KeyCharacters::Letters, 30),
    ("ghr_", KeyCharacters::Letters, 30),
    ("github_pat_", KeyCharacters::Words, 30),
    ("glpat-", KeyCharacters::Words, 20), // GitLab
    ("gldt-", KeyCharacters::Words, 20),
    ("glrt-", KeyCharacters::Words, 20),
    ("glptt-", KeyCharacters::Words, 20),
    ("hf_", KeyCharacters::Letters, 30), // Hugging Face
    ("npm_", KeyCharacters::Letters, 30),
    ("pypi-", KeyCharacters::Words, 16),
    ("rubygems_", KeyCharacters::Hex, 32),
    ("dckr_pat_", KeyCharacters::Words, 20),
    ("xoxa-", KeyCharacters::Words, 10), // Slack
    ("xoxb-", KeyCharacters::Words, 10),
    ("xoxe-", KeyCharacters::Words, 10),
    ("xoxp-", KeyCharacters::Words, 10),
    ("xoxr-", KeyCharacters::Words, 10),
    ("xoxs-", KeyCharacters::Words, 10),
    ("xapp-", KeyCharacters::Words, 16),
    ("SG.", KeyCharacters::Dotted, 32), // SendGrid
    ("SK", KeyCharacters::Hex, 32),     // Twilio
    ("hvs.", KeyCharacters::Words, 20), // Vault
    ("hvb.", KeyCharacters::Words, 20),
    ("AGE-SECRET-KEY-1", KeyCharacters::Upper, 40),
    ("dop_v1_", KeyCharacters::Hex, 32), // DigitalOcean
    ("doo_v1_", KeyCharacters::Hex, 32),
    ("dor_v1_", KeyCharacters::Hex, 32),
    ("shpat_", KeyCharacters::Letters, 32), // Shopify
    ("shpss_", KeyCharacters::Letters, 32),
    ("shpca_", KeyCharacters::Letters, 32),
    ("shppa_", KeyCharacters::Letters, 32),
    ("gsk_", KeyCharacters::Letters, 30),     // Groq
    ("lin_api_", KeyCharacters::Letters, 30), // Linear
    ("figd_", KeyCharacters::Words, 30),      // Figma
    ("dapi", KeyCharacters::Hex, 32),         // Databricks
    ("tskey-", KeyCharacters::Words, 20),     // Tailscale
    ("PMAK-", KeyCharacters::Words, 30),      // Postman
    ("NRAK-", KeyCharacters::Upper, 20),      // New Relic
    ("sntrys_", KeyCharacters::Words, 30),    // Sentry
    ("secret_", KeyCharacters::Letters, 40),  // Notion
];

/// Where the text matched by a pattern may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchStart {
    /// Not in the middle of a word or a key.
    NotWithin,
    /// Anywhere.
    Anywhere,
    /// After eight to ten digits, which are part of the secret.
    BehindDigits,
}

/// Whether a match is secret regardless of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchSecrecy {
    IsSecret,
    /// Unless it is a placeholder for a secret.
    UnlessPlaceholder,
    /// Unless it is a word, a number or a path.
    UnlessOrdinary,
}

/// Secrets that need more than a prefix to recognize: the strings to search for, where they may begin, when a match
/// counts, and the pattern from there on. The last group is the secret; a group `name` before it must be the name of a
/// secret. Matches bytes, not characters.
pub(super) const PATTERNS: [(&[&str], MatchStart, MatchSecrecy, &str); 14] = [
    (
        &["eyJ"],
        MatchStart::NotWithin,
        MatchSecrecy::IsSecret,
        r"(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w.-]{8,})",
    ),
    (
        &["hooks.slack.com/"],
        MatchStart::Anywhere,
        MatchSecrecy::IsSecret,
        r"hooks\.slack\.com/\w+/([\w/]{20,})",
    ),
    (
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        MatchStart::Anywhere,
        MatchSecrecy::IsSecret,
        r"discord(?:app)?\.com/api/webhooks/\d+/([\w-]{30,})",
    ),
    (&[":AA"], MatchStart::BehindDigits, MatchSecrecy::IsSecret, r"(:AA[\w-]{33})(?:[^\w-]|\z)"),
    (
        &["://"],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessPlaceholder,
        r"://[^\s/@:]*:([^\s/@\[\]<>{}$]{3,})@",
    ),
    // A token alone before the host, as in GitHub URLs.
    (&["://"], MatchStart::Anywhere, MatchSecrecy::UnlessOrdinary, r"://([^\s/@:\[\]<>{}$]{16,})@"),
    (&["earer "], MatchStart::Anywhere, MatchSecrecy::UnlessOrdinary, r"earer +([\w.~+/-]{12,}=*)"),
    (
        &["asic "],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessOrdinary,
        r"asic +([A-Za-z0-9+/]{12,}=*)",
    ),
    (
        &["machine "],
        MatchStart::NotWithin,
        MatchSecrecy::UnlessPlaceholder,
        r"machine\s+\S+\s+login\s+\S+\s+password\s+([^\s\[]{3,})",
    ),
    // npm.
    (
        &["_auth="],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessPlaceholder,
        r#"_auth=["']?([A-Za-z0-9+/]{8,}=*)"#,
    ),
    // Settings as in the environment and its files: `DB_PASSWORD=…`, `export API_TOKEN="…"`.
    (
        &["PASS", "PWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY"],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessPlaceholder,
        r#"(?<name>[A-Z_]+)=["']?([^\s"'`\\$<>(){}\[\];,&|]{6,})"#,
    ),
    (
        &["_KEY="],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessOrdinary,
        r#"_KEY=["']?([^\s"'`\\$<>(){}\[\];,&|]{12,})"#,
    ),
    // Code and documents: a name, `=` or `:`, and a value that is not a word.
    (
        &[
            "assword",
            "PASSWORD",
            "asswd",
            "assphrase",
            "ecret",
            "SECRET",
            "oken",
            "TOKEN",
            "pi_key",
            "piKey",
            "pi-key",
            "pikey",
            "API_KEY",
            "ccess_key",
            "ccessKey",
            "ACCESS_KEY",
            "ccountKey",
            "rivate_key",
            "rivateKey",
        ],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessOrdinary,
        r#"(?<name>[A-Za-z_-]+)["']? *(?::=|=>|[:=]) *["']?([^\s"'`\\$<>(){}\[\];,]{8,})"#,
    ),
    // A password of several words must be quoted. Plain words and numbers are prose, documentation or test data.
    (
        &["assword", "assphrase", "ecret", "PASSWORD", "PASSPHRASE", "SECRET"],
        MatchStart::Anywhere,
        MatchSecrecy::UnlessOrdinary,
        r#"(?<name>[A-Za-z_-]+)["']? *[:=] *["']((?:[^\s"'`\\$<>(){}\[\]]+ )+[^\s"'`\\$<>(){}\[\]]*\d[^"'`\\$<>(){}\[\]\n]*)["']"#,
    ),
];
