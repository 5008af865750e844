//! Decides which words of a secret file or of the environment are secret: those that would not appear elsewhere by
//! chance. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// Shorter values would match everywhere.
pub(super) const SHORTEST: usize = 8;
/// Longer runs of letters are not words.
const LONGEST_WORD: usize = 15;
/// Maximum digits of a number that is not a key, such as a port, a date or a count.
const LONGEST_NUMBER: usize = 8;
/// Separators between the words of one value.
const JOINTS: [char; 9] = ['-', '_', '.', '/', ':', '@', '+', '~', ' '];
/// Separators between the values of a line.
const BREAKS: [char; 17] =
    [' ', '\t', '"', '\'', '`', '=', ',', ';', ':', '@', '<', '>', '(', ')', '{', '}', '\\'];

/// Endings of names whose value is secret, in upper case without separators.
const SECRET_ENDS: [&str; 12] = [
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "TOKEN",
    "APIKEY",
    "ACCESSKEY",
    "ACCESSKEYID",
    "PRIVATEKEY",
    "ENCRYPTIONKEY",
    "SIGNINGKEY",
    "ACCOUNTKEY",
];
/// Last words of names whose value is secret; they must be whole words.
const SECRET_WORDS: [&str; 3] = ["PASS", "PWD", "DSN"];
/// Parts of names whose value is secret, anywhere in the name.
const SECRET_PARTS: [&str; 6] =
    ["PASSWORD", "PASSWD", "SECRET", "APIKEY", "CREDENTIAL", "AUTHTOKEN"];
/// Endings of names that describe a secret without containing it.
const TELLING: [&str; 14] = [
    "FILE", "PATH", "DIR", "NAME", "URL", "HOST", "TYPE", "MODE", "LENGTH", "COUNT", "POLICY",
    "TTL", "ENV", "ENABLED",
];
/// Values commonly put in place of a secret.
const PLACEHOLDERS: [&str; 16] = [
    "password",
    "passwd",
    "pass",
    "secret",
    "token",
    "changeme",
    "change_me",
    "change-me",
    "example",
    "placeholder",
    "redacted",
    "undefined",
    "postgres",
    "username",
    "your_password",
    "xxxxxxxx",
];

/// Returns whether a variable or a setting of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let flat: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase();
    let last = name.split(|c: char| !c.is_ascii_alphanumeric()).next_back().unwrap_or_default();
    let says = SECRET_WORDS.iter().any(|word| last.eq_ignore_ascii_case(word));
    // `PWD` alone is a directory.
    flat != "PWD"
        && !TELLING.iter().any(|end| flat.ends_with(end))
        && (says
            || SECRET_ENDS.iter().any(|end| flat.ends_with(end))
            || SECRET_PARTS.iter().any(|part| flat.contains(part)))
}

/// Returns the secret values of the variables whose names mark them as secret.
pub fn values_of_variables(vars: &BTreeMap<String, String>) -> Vec<String> {
    let secret = vars.iter().filter(|(name, _)| is_secret_name(name));
    let values = secret.map(|(_, value)| value.trim());
    values.filter(|value| is_secret_value(value)).map(str::to_owned).collect()
}

/// Returns the secret values in the text of a secret file: whole lines, what follows `=` or `:`, and single words.
pub fn values_in(text: &str) -> BTreeSet<String> {
    text.lines().flat_map(values_in_line).map(str::to_owned).collect()
}

fn values_in_line(line: &str) -> Vec<&str> {
    let line = line.trim();
    if line.starts_with("-----") {
        return Vec::new();
    }
    let set = line.split_once(['=', ':']).map(|(name, value)| {
        let value = value.trim().trim_matches([',', ';']);
        let name = name.trim().trim_matches(['"', '\'']);
        (name, unquoted(value))
    });
    let named = set.filter(|(name, value)| is_secret_name(name) && is_secret_value(value));
    let whole = set.map_or(line, |(_, value)| value);
    let words = line.split(BREAKS);
    let candidates =
        std::iter::once(whole).filter(|value| !value.contains([' ', '\t'])).chain(words);
    let candidates = candidates.filter(|value| !is_ordinary(value));
    named.map(|(_, value)| value).into_iter().chain(candidates).collect()
}

/// Strips one pair of quotes.
fn unquoted(value: &str) -> &str {
    let within = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    ['"', '\''].into_iter().find_map(within).unwrap_or(value)
}

/// Returns whether the value of a secret name is a secret, that is, not a single word, a path, a number or a placeholder.
pub(super) fn is_secret_value(value: &str) -> bool {
    let is_place = value.starts_with(['/', '.', '~', '$']) || is_plain_url(value);
    let is_word = value.len() <= LONGEST_WORD && value.chars().all(char::is_alphabetic);
    let is_number =
        value.len() <= LONGEST_NUMBER && value.bytes().all(|byte| byte.is_ascii_digit());
    value.len() >= SHORTEST && !is_place && !is_word && !is_number && !is_placeholder(value)
}

/// Returns whether a value is a placeholder for a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let one = lower.chars().next();
    PLACEHOLDERS.contains(&lower.as_str())
        || ["your", "<", "${", "{{", "%"].iter().any(|start| lower.starts_with(start))
        || lower.chars().all(|c| Some(c) == one || "*x.-_".contains(c))
}

fn is_plain_url(value: &str) -> bool {
    value.contains("://") && !value.contains('@') && is_ordinary(value)
}

/// Returns whether a text is too generic to be secret: words, names, numbers, paths, and combinations of them.
pub(super) fn is_ordinary(value: &str) -> bool {
    value.len() < SHORTEST || is_placeholder(value) || value.split(JOINTS).all(is_ordinary_piece)
}

/// Returns whether a piece is a word, possibly followed by a few digits, or a number.
fn is_ordinary_piece(piece: &str) -> bool {
    let word = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = piece.len() - word.len();
    if word.is_empty() {
        return digits <= LONGEST_NUMBER;
    }
    // A name like `CancellationToken` has few capitals; random text has many.
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let is_name = word.len() <= LONGEST_WORD || (1..=word.len() / 4).contains(&capitals);
    word.chars().all(char::is_alphabetic) && is_name && digits <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_places_and_numbers_are_not_secret() {
        for plain in [
            "production",
            "localhost:5432",
            "http://localhost:8080/api/v2",
            "/var/lib/postgresql/data",
            "us-east-1",
            "registry.npmjs.org",
            "someone@example.com",
            "2026-11-22",
            "127.0.0.1",
            "my-app-name",
            "true",
            "sha256",
            "python3.12",
            "DeepSeek",
            "changeme",
            "xxxxxxxxxxxx",
            "********",
            "your-api-key-here",
            "${DB_PASSWORD}",
        ] {
            assert!(is_ordinary(plain), "{plain}");
            assert_eq!(values_in(&format!("KIND={plain}\n")), BTreeSet::new(), "{plain}");
        }
    }

    #[test]
    fn keys_passwords_and_hashes_are_secret() {
        let named = |name: &str, value: &str| format!("{name}={value}\n");
        for text in [
            named("DB_PASSWORD", "correct-horse-battery"),
            named("WHATEVER", "Zm9vYmFyYmF6cXV4"),
            named("export X", "\"9f86d081884c7d65\""),
            named("SESSION_SECRET", "'two words 4 you'"),
            "9f86d081884c7d659a2feaa0\n".to_owned(),
            "host:5432:db:user:Tr0ub4dor&3x\n".to_owned(),
            "machine h login me password hunter2hunter9\n".to_owned(),
            "\"private_key_id\": \"9f86d081884c7d659a2f\",\n".to_owned(),
            "admin:$apr1$k3j2h1$9d8f7g6h5j4k3\n".to_owned(),
            "  token: 9f86d081884c7d659a2f\n".to_owned(),
            "https://me:p4ssw0rd-x9z8@host/x\n".to_owned(),
            "//registry.npmjs.org/:_authToken=9f86d081-884c-7d65\n".to_owned(),
        ] {
            assert!(!values_in(&text).is_empty(), "{text}");
        }
        let values = values_in("export DB_PASSWORD=\"correct-horse-battery\" \n");
        assert!(values.contains("correct-horse-battery"), "{values:?}");
    }

    #[test]
    fn names_mark_their_values_as_secret() {
        for name in [
            "DEEPSEEK_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "MYSQL_PWD",
            "PGPASSWORD",
            "DB_PASS",
            "apiKey",
            "client-secret",
            "NPM_CONFIG__AUTHTOKEN",
            "SECRET_KEY_BASE",
            "SENTRY_DSN",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "PATH",
            "HOME",
            "TOKEN_COUNT",
            "MAX_TOKENS",
            "PASSWORD_FILE",
            "SSH_AUTH_SOCK",
            "KEYBOARD",
            "MONKEY",
            "COMPASS_URL",
            "BYPASS_MODE",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values_of_variables_are_those_of_secret_names() {
        let vars = [
            ("A_TOKEN", "9f86d081884c7d65"),
            ("EDITOR", "9f86d081884c7d65x"),
            ("B_TOKEN", "short"),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(values_of_variables(&vars), ["9f86d081884c7d65"]);
    }
}
