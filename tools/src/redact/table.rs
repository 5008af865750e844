//! What secrets look like, as a table: how providers begin their keys, and what stands behind the name of a password. Pure.

/// What a key is made of behind its beginning.
#[derive(Clone, Copy)]
pub(super) enum Made {
    /// Letters and digits.
    Letters,
    /// Letters, digits, `-` and `_`.
    Words,
    /// The same, and `.`.
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

/// Keys that are told by how they begin: the beginning, what follows, and how many bytes of that at least.
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

/// Where the text may begin that a pattern is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// Where no word or key goes on.
    NotWithin,
    /// Anywhere.
    Anywhere,
    /// Behind eight to ten digits, which are a part of the secret.
    BehindDigits,
}

/// Whether what a pattern finds is secret, whatever it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    IsSecret,
    /// Unless it is what stands for a secret.
    UnlessPlaceholder,
    /// Unless it is a word, a number or a place.
    UnlessOrdinary,
}

/// What is told by more than its beginning: what it has somewhere, where that may stand, and the pattern from there on, with the
/// secret as the last group; a group `name` before it has to be the name of a secret. Bytes, not letters.
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
    // A token alone before the host, as GitHub takes it.
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
    // Settings: `DB_PASSWORD=…`, `export API_TOKEN="…"`, as the environment and its files have them.
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
    // Code and documents: a name, `=` or `:`, and something that is no word.
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
    // A password of several words is in quotes.
    (
        &["assword", "assphrase", "ecret", "PASSWORD", "PASSPHRASE", "SECRET"],
        Begins::Anywhere,
        Found::UnlessPlaceholder,
        r#"(?<name>[A-Za-z_-]+)["']? *[:=] *["']((?:[^\s"'`\\$<>(){}\[\]]+ )+[^\s"'`\\$<>(){}\[\]]*\d[^"'`\\$<>(){}\[\]\n]*)["']"#,
    ),
];
