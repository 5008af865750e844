//! Tests that every known shape is found wherever it occurs, and that nothing else is.

use super::shapes::secret_spans;
use super::table::{KEYS, KeyCharacters};

/// Returns the parts of a text that are masked.
fn masked(text: &str) -> Vec<&str> {
    secret_spans(text).into_iter().map(|span| text.get(span).unwrap()).collect()
}

fn chars(count: usize) -> String {
    "a1B2c3D4e5F6g7H8".chars().cycle().take(count).collect()
}

fn hex(count: usize) -> String {
    "9f86d081884c7d65".chars().cycle().take(count).collect()
}

/// Tries every key with its minimum length.
#[test]
fn keys_are_found_wherever_they_stand_and_shorter_ones_are_not() {
    for (beginning, made, least) in KEYS {
        let rest = match made {
            KeyCharacters::Letters | KeyCharacters::Words | KeyCharacters::Dotted => chars(least),
            KeyCharacters::Upper => chars(least).to_uppercase(),
            KeyCharacters::Hex => hex(least),
        };
        let key = format!("{beginning}{rest}");
        for around in ["KEY", "x=KEY", "\"KEY\"", "X_KEY", "(KEY)", "a\nKEY\nb", "é KEY é", "KEY."]
        {
            let text = around.replace("KEY", &key);
            assert!(
                masked(&text).iter().any(|it| it.trim_end_matches('.') == key),
                "{text}: {:?}",
                masked(&text)
            );
        }
        let short: String = key.chars().take(key.len() - 1).collect();
        assert_eq!(masked(&format!("({short})")), Vec::<&str>::new(), "{short}");
        assert_eq!(masked(&format!("x{key}")), Vec::<&str>::new(), "{key} within a word");
    }
}

#[test]
fn secrets_are_recognized_by_their_context() {
    let (long, base64) = (chars(40), format!("{}==", chars(86)));
    let jwt = format!("eyJ{}.eyJ{}.{}", chars(20), chars(30), chars(43));
    let telegram = format!("123456789:AA{}", chars(33));
    for (text, secret) in [
        (format!("aws_secret_access_key = {long}"), long.as_str()),
        (format!("AWS_SECRET_ACCESS_KEY={long}"), &long),
        (format!("\"secretAccessKey\": \"{long}\""), &long),
        (
            format!("https://hooks.slack.com/services/T000/B000/{long}"),
            &format!("T000/B000/{long}"),
        ),
        (format!("https://discord.com/api/webhooks/1234567/{long}"), &long),
        (jwt.clone(), &jwt),
        (format!("Authorization: Bearer {long}"), &long),
        (format!("authorization: bearer {long}"), &long),
        (format!("Authorization: Basic {base64}"), &base64),
        ("postgres://app:hunter2!x@db/app".to_owned(), "hunter2!x"),
        ("redis://:letmein@cache:6379".to_owned(), "letmein"),
        (format!("https://{long}@github.com/x/y"), &long),
        ("DB_PASSWORD=hunter2".to_owned(), "hunter2"),
        ("export PGPASSWORD='correct-horse'".to_owned(), "correct-horse"),
        ("SESSION_SECRET=\"letmeinplease\"".to_owned(), "letmeinplease"),
        ("password = \"Tr0ub4dor&3x\"".to_owned(), "Tr0ub4dor&3x"),
        ("passphrase: 'correct h0rse 7 battery'".to_owned(), "correct h0rse 7 battery"),
        (format!("AccountName=x;AccountKey={base64};"), &base64),
        (format!("api_key: {long},"), &long),
        (format!("STRIPE_KEY={long}"), &long),
        (telegram.clone(), &telegram),
        ("machine h login me password letmein\n".to_owned(), "letmein"),
        ("machine h\n  login me\n  password letmein\n".to_owned(), "letmein"),
        (format!("//r.npmjs.org/:_authToken={long}"), &long),
        (format!("_auth={base64}"), &base64),
    ] {
        assert_eq!(masked(&text), [secret], "{text}");
    }
}

#[test]
fn blocks_are_masked_line_by_line() {
    let body = format!("{}\n{}", chars(64), chars(20));
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "] {
        let block = if kind == "PGP " { " BLOCK" } else { "" };
        let text = format!(
            "a\n-----BEGIN {kind}PRIVATE KEY{block}-----\n{body}\n-----END {kind}PRIVATE KEY{block}-----\nplain text\n"
        );
        assert_eq!(masked(&text), body.lines().collect::<Vec<_>>(), "{text}");
    }
    let shown: String = body.lines().flat_map(|line| ["   7| ", line, "\n"]).collect();
    let text =
        format!("   6| -----BEGIN PRIVATE KEY-----\n{shown}   9| -----END PRIVATE KEY-----\n");
    assert_eq!(masked(&text), body.lines().collect::<Vec<_>>());
    let text = format!(
        "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{0}\\n-----END PRIVATE KEY-----\\n\"",
        chars(64)
    );
    assert_eq!(masked(&text).len(), 1, "{:?}", masked(&text));
    let text =
        format!("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{body}\nPrivate-MAC: 1\n");
    assert_eq!(masked(&text), body.lines().collect::<Vec<_>>());
    // One block without an end, and one that is only mentioned in prose.
    assert_eq!(masked(&format!("-----BEGIN PRIVATE KEY-----\n{body}")).len(), 2);
    let prose = "A file with -----BEGIN PRIVATE KEY----- in it\nis never read by anything here.\nfn main() {}\n";
    assert!(
        masked(prose).iter().all(|it| !prose.lines().skip(1).any(|line| line == *it)),
        "{:?}",
        masked(prose)
    );
}

#[test]
fn code_and_prose_are_left_alone() {
    for text in [
        "task-force",
        "risk-averse-but-long-enough-word",
        "sk-learn-contrib-with-a-long-name",
        "ghp_",
        "let token = next_token();",
        "password: String,",
        "password: Option<String>,",
        "if password == other_password {",
        "token: CancellationToken,",
        "api_key_env = \"DEEPSEEK_API_KEY\"",
        "TOKEN_COUNT=409600",
        "MAX_TOKENS=409600",
        "PASSWORD_FILE=/run/secrets/db",
        "PASSWORD=$DB_PASSWORD",
        "PASSWORD=${DB_PASSWORD}",
        "PASSWORD=changeme",
        "API_KEY=your-key-here",
        "secret = os.environ[\"S\"]",
        "http://localhost:8080/a@b",
        "https://user:password@example.com/",
        "ssh://git@github.com/a/b.git",
        "a bearer of bad news",
        "the machine is down",
        "tokenizer = \"bert-base-uncased\"",
        "basic understanding",
        "PATH=/usr/local/bin:/usr/bin",
        "secret_files = [\".env\"]",
        "const TOKEN: &str = \"x-agent-role\";",
        "id: 0123456789:AAbc",
        "SKILL=1",
        "eyJ.a.b",
        "PRIMARY_KEY=id",
        "token.len() == other.token_count",
        "\"That's the password: 'PASSWORD 123'!\", cried the Lama.",
        "passphrase: 'correct horse 7 battery'",
        "assert_eq!(parse(\"secret: 'two words and 42'\"), Ok(2));",
        "| Secret: \"Open Sesame 1\" | what the door wants |",
    ] {
        assert_eq!(masked(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn time_is_linear_in_the_length_of_the_text() {
    let parts = [
        "PASSWORD",
        "eyJ",
        "-eyJ",
        "://",
        "earer ",
        "machine ",
        "-----BEGIN PRIVATE KEY-----",
        "sk-",
        "SK",
        ":AA",
        "x:",
        "SECRET_",
        "password = \"a ",
        "Private-Lines: 9999999\n",
    ];
    for part in parts {
        let text = part.repeat(400_000 / part.len());
        // With quadratic time, this would exceed the time limit of tests.
        secret_spans(&text);
    }
}
