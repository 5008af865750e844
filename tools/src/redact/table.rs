//! The shapes of secrets, as a table: the prefixes of providers' keys, and what follows the name of a password. Pure.

/// The characters of a key after its prefix.
#[derive(Clone, Copy)]
pub(super) enum Made {
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

impl Made {
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
pub(super) const KEYS: [(&str, Made, usize); 54] = [
    ("sk-", Made::Words, 16),        // DeepSeek, OpenAI, Anthropic
    ("sk_live_", Made::Letters, 16), // Stripe
    ("sk_test_", Made::Letters, 16),
    ("rk_live_", Made::Letters, 16),
    ("rk_test_", Made::Letters, 16),
    ("whsec_", Made::Letters, 16),
    ("AKIA", Made::Upper, 16), // AWS
    ("ASIA", Made::Upper, 16),
    ("AIza", Made::Words, 30), // Google
    ("ya29.", Made::Words, 20),
    ("GOCSPX-", Made::Words, 20),
    ("ghp_", Made::Letters, 30), // GitHub
    ("gho_", Made::Letters, 30),
    ("ghu_", Made::Letters, 30),
    ("ghs_", Made::Letters, 30),
    ("ghr_", Made::Letters, 30),
    ("github_pat_", Made::Words, 30),
    ("glpat-", Made::Words, 20), // GitLab
    ("gldt-", Made::Words, 20),
    ("glrt-", Made::Words, 20),
    ("glptt-", Made::Words, 20),
    ("hf_", Made::Letters, 30), // Hugging Face
    ("npm_", Made::Letters, 30),
    ("pypi-", Made::Words, 16),
    ("rubygems_", Made::Hex, 32),
    ("dckr_pat_", Made::Words, 20),
    ("xoxa-", Made::Words, 10), // Slack
    ("xoxb-", Made::Words, 10),
    ("xoxe-", Made::Words, 10),
    ("xoxp-", Made::Words, 10),
    ("xoxr-", Made::Words, 10),
    ("xoxs-", Made::Words, 10),
    ("xapp-", Made::Words, 16),
    ("SG.", Made::Dotted, 32), // SendGrid
    ("SK", Made::Hex, 32),     // Twilio
    ("hvs.", Made::Words, 20), // Vault
    ("hvb.", Made::Words, 20),
    ("AGE-SECRET-KEY-1", Made::Upper, 40),
    ("dop_v1_", Made::Hex, 32), // DigitalOcean
    ("doo_v1_", Made::Hex, 32),
    ("dor_v1_", Made::Hex, 32),
    ("shpat_", Made::Letters, 32), // Shopify
    ("shpss_", Made::Letters, 32),
    ("shpca_", Made::Letters, 32),
    ("shppa_", Made::Letters, 32),
    ("gsk_", Made::Letters, 30),     // Groq
    ("lin_api_", Made::Letters, 30), // Linear
    ("figd_", Made::Words, 30),      // Figma
    ("dapi", Made::Hex, 32),         // Databricks
    ("tskey-", Made::Words, 20),     // Tailscale
    ("PMAK-", Made::Words, 30),      // Postman
    ("NRAK-", Made::Upper, 20),      // New Relic
    ("sntrys_", Made::Words, 30),    // Sentry
    ("secret_", Made::Letters, 40),  // Notion
];

/// Where the text matched by a pattern may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// Not in the middle of a word or a key.
    NotWithin,
    /// Anywhere.
    Anywhere,
    /// After eight to ten digits, which are part of the secret.
    BehindDigits,
}

/// Whether a match is secret regardless of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    IsSecret,
    /// Unless it is a placeholder for a secret.
    UnlessPlaceholder,
    /// Unless it is a word, a number or a path.
    UnlessOrdinary,
}

/// Secrets that need more than a prefix to recognize: the strings to search for, where they may begin, when a match
/// counts, and the pattern from there on. The last group is the secret; a group `name` before it must be the name of a
/// secret. Matches bytes, not characters.
pub(super) const PATTERNS: [(&[&str], Begins, Found, &str); 14] = [
    (&["eyJ"], Begins::NotWithin, Found::IsSecret, r"(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w.-]{8,})"),
    (
        &["hooks.slack.com/"],
        Begins::Anywhere,
        Found::IsSecret,
        r"hooks\.slack\.com/\w+/([\w/]{20,})",
    ),
    (
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Begins::Anywhere,
        Found::IsSecret,
        r"discord(?:app)?\.com/api/webhooks/\d+/([\w-]{30,})",
    ),
    (&[":AA"], Begins::BehindDigits, Found::IsSecret, r"(:AA[\w-]{33})(?:[^\w-]|\z)"),
    (&["://"], Begins::Anywhere, Found::UnlessPlaceholder, r"://[^\s/@:]*:([^\s/@\[\]<>{}$]{3,})@"),
    // A token alone before the host, as in GitHub URLs.
    (&["://"], Begins::Anywhere, Found::UnlessOrdinary, r"://([^\s/@:\[\]<>{}$]{16,})@"),
    (&["earer "], Begins::Anywhere, Found::UnlessOrdinary, r"earer +([\w.~+/-]{12,}=*)"),
    (&["asic "], Begins::Anywhere, Found::UnlessOrdinary, r"asic +([A-Za-z0-9+/]{12,}=*)"),
    (
        &["machine "],
        Begins::NotWithin,
        Found::UnlessPlaceholder,
        r"machine\s+\S+\s+login\s+\S+\s+password\s+([^\s\[]{3,})",
    ),
    // npm.
    (
        &["_auth="],
        Begins::Anywhere,
        Found::UnlessPlaceholder,
        r#"_auth=["']?([A-Za-z0-9+/]{8,}=*)"#,
    ),
    // Settings as in the environment and its files: `DB_PASSWORD=…`, `export API_TOKEN="…"`.
    (
        &["PASS", "PWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY"],
        Begins::Anywhere,
        Found::UnlessPlaceholder,
        r#"(?<name>[A-Z_]+)=["']?([^\s"'`\\$<>(){}\[\];,&|]{6,})"#,
    ),
    (
        &["_KEY="],
        Begins::Anywhere,
        Found::UnlessOrdinary,
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
        Begins::Anywhere,
        Found::UnlessOrdinary,
        r#"(?<name>[A-Za-z_-]+)["']? *(?::=|=>|[:=]) *["']?([^\s"'`\\$<>(){}\[\];,]{8,})"#,
    ),
    // A password of several words must be quoted. Plain words and numbers are prose, documentation or test data.
    (
        &["assword", "assphrase", "ecret", "PASSWORD", "PASSPHRASE", "SECRET"],
        Begins::Anywhere,
        Found::UnlessOrdinary,
        r#"(?<name>[A-Za-z_-]+)["']? *[:=] *["']((?:[^\s"'`\\$<>(){}\[\]]+ )+[^\s"'`\\$<>(){}\[\]]*\d[^"'`\\$<>(){}\[\]\n]*)["']"#,
    ),
];
