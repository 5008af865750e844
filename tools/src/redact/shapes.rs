//! What secrets look like: the beginnings that providers give their keys, and what stands behind the name of a password. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::Regex;

use super::values::{is_ordinary, is_placeholder, is_secret_name};

/// What a key is made of behind its beginning.
#[derive(Clone, Copy)]
enum Made {
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
    const fn of(self, byte: u8) -> bool {
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
const KEYS: [(&str, Made, usize); 54] = [
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
enum Begins {
    /// Where no word or key goes on.
    NotWithin,
    /// Anywhere.
    Anywhere,
    /// Behind eight to ten digits, which are a part of the secret.
    BehindDigits,
}

/// Whether what a pattern finds is secret, whatever it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    IsSecret,
    /// Unless it is what stands for a secret.
    UnlessPlaceholder,
    /// Unless it is a word, a number or a place.
    UnlessOrdinary,
}

/// What is told by more than its beginning: what it has somewhere, where that may stand, and the pattern from there on, with the
/// secret as the last group; a group `name` before it has to be the name of a secret. Bytes, not letters.
const PATTERNS: [(&[&str], Begins, Found, &str); 14] = [
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

/// Bytes that a pattern is looked for in: what is longer is cut, and what is secret of it goes on as far as its last word.
const WINDOW: usize = 1024;
/// Longer words are no names.
const LONGEST_NAME: usize = 64;

/// The ends of headers of blocks of lines.
const BLOCKS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
/// What their headers begin with, and how many bytes before the end at most.
const HEADER: (&str, usize) = ("-----BEGIN ", 40);
/// What ends them.
const FOOTER: &str = "-----END ";
/// A block of which the number of lines is told.
const COUNTED_BLOCK: &str = "Private-Lines: ";

/// What something of a text begins to look like.
#[derive(Clone, Copy)]
enum Shape {
    Key(Made, usize),
    Pattern(usize),
    Block,
    CountedBlock,
}

struct Shapes {
    finder: AhoCorasick,
    of: Vec<Shape>,
    patterns: Vec<Regex>,
}

static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let (mut beginnings, mut of) = (Vec::new(), Vec::new());
    let mut add = |beginning, shape| {
        beginnings.push(beginning);
        of.push(shape);
    };
    for (beginning, made, least) in KEYS {
        add(beginning, Shape::Key(made, least));
    }
    for (index, (parts, ..)) in PATTERNS.iter().enumerate() {
        for part in *parts {
            add(part, Shape::Pattern(index));
        }
    }
    for header in BLOCKS {
        add(header, Shape::Block);
    }
    add(COUNTED_BLOCK, Shape::CountedBlock);
    let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(beginnings).ok()?;
    let patterns =
        PATTERNS.iter().map(|(.., pattern)| Regex::new(&format!(r"(?-u)\A(?:{pattern})")));
    Some(Shapes { finder, of, patterns: patterns.collect::<Result<_, _>>().ok()? })
});

/// Where something looks like a secret. None spans lines.
pub(super) fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let Some(shapes) = SHAPES.as_ref() else { return spans };
    // What is secret, or was looked at, is not looked at again: no text takes longer than its length.
    let mut done = 0;
    let mut looked_at = vec![0; shapes.of.len()];
    for found in shapes.finder.find_overlapping_iter(text) {
        let Some(looked_at) = looked_at.get_mut(found.pattern().as_usize()) else { continue };
        if found.start() < done.max(*looked_at) {
            continue;
        }
        let looks_so = match shapes.of.get(found.pattern().as_usize()) {
            Some(Shape::Key(made, least)) => key(text, found.range(), *made, *least),
            Some(Shape::Pattern(index)) => shapes.pattern(*index, text, found.start()),
            Some(Shape::Block) => {
                done = done.max(block(text, found.range(), &mut spans));
                None
            }
            Some(Shape::CountedBlock) => {
                done = done.max(counted_block(text, found.end(), &mut spans));
                None
            }
            None => None,
        };
        match looks_so {
            Some(Looks::Secret(span)) => {
                done = done.max(span.end);
                spans.push(span);
            }
            Some(Looks::Ordinary { until }) => *looked_at = until,
            None => {}
        }
    }
    spans
}

/// What something turns out to be that has the form of a secret.
enum Looks {
    Secret(Range<usize>),
    /// Words, names, places.
    Ordinary {
        until: usize,
    },
}

/// A key of which the beginning stands here.
fn key(text: &str, beginning: Range<usize>, made: Made, least: usize) -> Option<Looks> {
    let before = text.as_bytes().get(..beginning.start)?.last();
    if before.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let rest = text.as_bytes().get(beginning.end..)?;
    let until = beginning.end + rest.iter().take_while(|byte| made.of(**byte)).count();
    let whole = text.get(beginning.end..until)?;
    // Names that are put together of words, like `sk-learn-contrib-example`, are no keys.
    let is_words = matches!(made, Made::Words | Made::Dotted) && is_ordinary(whole);
    let is_key = whole.len() >= least && !is_words;
    Some(if is_key { Looks::Secret(beginning.start..until) } else { Looks::Ordinary { until } })
}

impl Shapes {
    fn pattern(&self, index: usize, text: &str, start: usize) -> Option<Looks> {
        let (_, begins, found, _) = PATTERNS.get(index)?;
        let digits = || {
            let before = text.as_bytes().get(..start).unwrap_or_default();
            before.iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count()
        };
        let from = match begins {
            Begins::NotWithin if is_within(text, start) => return None,
            Begins::NotWithin | Begins::Anywhere => start,
            Begins::BehindDigits => match digits() {
                count @ 8..=10 => start - count,
                _ => return None,
            },
        };
        let bytes = text.as_bytes();
        let window = bytes.get(start..bytes.len().min(start + WINDOW))?;
        let is_of_a_name = |byte: &&u8| byte.is_ascii_alphabetic() || b"-_".contains(byte);
        let word = window.iter().take_while(is_of_a_name).count();
        if word > LONGEST_NAME {
            return Some(Looks::Ordinary { until: start + word });
        }
        let groups = self.patterns.get(index)?.captures(window)?;
        let name = groups.name("name").and_then(|name| str::from_utf8(name.as_bytes()).ok());
        if name.is_some_and(|name| !names_a_secret(name)) {
            return None;
        }
        let group = groups.get(groups.len() - 1)?.range();
        let first = if *begins == Begins::BehindDigits { from } else { start + group.start };
        let mut until = start + group.end;
        if group.end == window.len() {
            let goes_on = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.+/=".contains(byte);
            until += bytes.get(until..)?.iter().take_while(goes_on).count();
        }
        while !text.is_char_boundary(until) {
            until += 1;
        }
        let value = text.get(first..until)?;
        let is_secret = match found {
            Found::IsSecret => true,
            Found::UnlessPlaceholder => !is_placeholder(value),
            Found::UnlessOrdinary => !is_ordinary(value),
        };
        Some(if is_secret { Looks::Secret(first..until) } else { Looks::Ordinary { until } })
    }
}

/// Whether a name, of which the first letter may be cut off, is that of a secret.
fn names_a_secret(name: &str) -> bool {
    const CUT: [&str; 10] = [
        "assword",
        "asswd",
        "assphrase",
        "ecret",
        "oken",
        "pikey",
        "ccesskey",
        "ccountkey",
        "rivatekey",
        "pass",
    ];
    let flat: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    is_secret_name(name) || CUT.contains(&flat.to_lowercase().as_str())
}

/// Whether a word or a key goes on across this place.
fn is_within(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default().last();
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// The lines of a block with this header, as far as they look like it; and where they end.
fn block(text: &str, header: Range<usize>, spans: &mut Vec<Range<usize>>) -> usize {
    let before = text.as_bytes().get(header.start.saturating_sub(HEADER.1)..header.start);
    let begins = |bytes: &[u8]| memchr::memmem::find(bytes, HEADER.0.as_bytes()).is_some();
    if !before.is_some_and(begins) {
        return header.end;
    }
    let rest = text.get(header.end..).unwrap_or_default();
    let mut length = 0;
    for (index, line) in rest.split_inclusive('\n').enumerate() {
        if let Some(at) = line.find(FOOTER) {
            length += at;
            break;
        }
        if index > 0 && !is_of_a_block(line) {
            break;
        }
        length += line.len();
    }
    lines(text, header.end..header.end + length, spans);
    header.end + length
}

/// Whether a line may stand in a block: digits of base 64, or a header, also where it is quoted, numbered or part of a diff.
fn is_of_a_block(line: &str) -> bool {
    let may_stand =
        |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\\"',|- \t\r\n:.[]".contains(&byte);
    let words = line.split_whitespace().filter(|word| word.len() > 1).count();
    line.bytes().all(may_stand) && (words <= 2 || line.contains(": "))
}

/// As many lines behind this one as it says.
fn counted_block(text: &str, from: usize, spans: &mut Vec<Range<usize>>) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let mut all = rest.split_inclusive('\n');
    let first = all.next().unwrap_or_default();
    let count: usize = first.trim().parse().unwrap_or_default();
    let length: usize = all.take(count).map(str::len).sum();
    let begin = from + first.len();
    lines(text, begin..begin + length, spans);
    begin + length
}

/// The lines of a part of a text, without what stands before them where it is shown with line numbers or as a diff.
fn lines(text: &str, part: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let mut at = part.start;
    for line in text.get(part).unwrap_or_default().split_inclusive('\n') {
        let gutter = line.find('|').filter(|bar| {
            line.get(..*bar).is_some_and(|number| {
                number.bytes().all(|byte| byte == b' ' || byte.is_ascii_digit())
            })
        });
        let shown = line.get(gutter.map_or(0, |bar| bar + 1)..).unwrap_or_default();
        let behind = line.len() - shown.trim_start_matches([' ', '\t', '-', '+']).len();
        let content = line.get(behind..).unwrap_or_default().trim_end();
        // What is masked already is not masked again.
        if !content.is_empty() && !content.starts_with(super::OPENING) {
            spans.push(at + behind..at + behind + content.len());
        }
        at += line.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is masked of a text.
    fn masked(text: &str) -> Vec<&str> {
        spans(text).into_iter().map(|span| text.get(span).unwrap()).collect()
    }

    fn chars(count: usize) -> String {
        "a1B2c3D4e5F6g7H8".chars().cycle().take(count).collect()
    }

    fn hex(count: usize) -> String {
        "9f86d081884c7d65".chars().cycle().take(count).collect()
    }

    /// Every key with as much behind it as it has at least.
    #[test]
    fn keys_are_found_wherever_they_stand_and_shorter_ones_are_not() {
        for (beginning, made, least) in KEYS {
            let rest = match made {
                Made::Letters | Made::Words | Made::Dotted => chars(least),
                Made::Upper => chars(least).to_uppercase(),
                Made::Hex => hex(least),
            };
            let key = format!("{beginning}{rest}");
            for around in
                ["KEY", "x=KEY", "\"KEY\"", "X_KEY", "(KEY)", "a\nKEY\nb", "é KEY é", "KEY."]
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
    fn what_is_told_by_its_surroundings_is_found() {
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
            ("passphrase: 'correct horse 7 battery'".to_owned(), "correct horse 7 battery"),
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
        // One without an end, and one that is only talked about.
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
        ] {
            assert_eq!(masked(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn no_text_takes_longer_than_its_length() {
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
            // It would not come back in the time that tests have.
            spans(&text);
        }
    }
}
