//! Parses a command line into words, so that policy can match words instead of text. Pure.
//!
//! Anything that needs a shell to understand (substitutions, subshells, variables) is marked opaque, never guessed. So
//! is syntax that only some shells know, since `sh` runs the command.

use policy::{Opaque, PolicyCommand, SimpleCommand, Unread, hands_on};
use thiserror::Error;

mod script;
mod syntax;
mod word;

pub use script::{ScriptStep, ShellScript};

#[cfg(test)]
mod lines_tests;
#[cfg(test)]
mod rules_tests;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    text: String,
    command: PolicyCommand,
    needs_shell: bool,
    masks_failure: bool,
}

/// Why a text is not a command.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum CommandSyntaxError {
    /// There is nothing to run.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// `&& &&`, a leading `|` and similar.
    #[error("an operator has no command before or after it")]
    MissingCommand,
    /// A control character that is not white space.
    #[error("the command contains a control character")]
    ControlCharacter,
}

/// Commands that only a shell has, not a program.
const BUILTINS: [&str; 29] = [
    ".", ":", "alias", "bg", "break", "cd", "command", "continue", "eval", "exec", "exit",
    "export", "fg", "getopts", "hash", "jobs", "read", "readonly", "return", "set", "shift",
    "source", "trap", "type", "ulimit", "umask", "unalias", "unset", "wait",
];

/// How deeply nested scripts are parsed, as in `sh -c "sh -c …"`.
const MAX_SCRIPTS: usize = 6;
/// Maximum number of commands parsed in such scripts, per line.
const MAX_INNER: usize = 64;

impl CommandLine {
    /// Parses `text` without expanding anything.
    pub fn parse(text: &str) -> Result<Self, CommandSyntaxError> {
        let text = text.trim_matches([' ', '\t', '\n']);
        if text.chars().any(|c| c.is_control() && c != '\t' && c != '\n') {
            return Err(CommandSyntaxError::ControlCharacter);
        }
        let (segments, what, needs_shell, masks_failure) = match syntax::read_syntax(text) {
            Ok(reading) => (reading.segments, None, reading.needs_shell, reading.masks_failure),
            Err(glimpse) if !glimpse.is_grammatical && glimpse.what == Opaque::Unreadable => {
                refuse(text)?;
                (glimpse.segments, Some(glimpse.what), true, glimpse.masks_failure)
            }
            Err(glimpse) => (glimpse.segments, Some(glimpse.what), true, glimpse.masks_failure),
        };
        if segments.is_empty() {
            return Err(CommandSyntaxError::Empty);
        }
        let has_builtin = |segment: &SimpleCommand| {
            segment.words.first().is_some_and(|program| BUILTINS.contains(&program.as_str()))
        };
        let needs_shell = needs_shell || segments.iter().any(has_builtin);
        let mut scripts = Scripts::default();
        for segment in &segments {
            scripts.find(&segment.words, MAX_SCRIPTS);
        }
        let what = what.or(scripts.has_more.then_some(Opaque::TooLong));
        let inner = scripts.found;
        let opaque = what.map(|what| Unread { what, text: text.to_owned() });
        let command = PolicyCommand { segments, inner, opaque };
        Ok(Self { text: text.to_owned(), command, needs_shell, masks_failure })
    }

    /// The command as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the command as policy sees it.
    pub const fn command(&self) -> &PolicyCommand {
        &self.command
    }

    /// Returns the simple commands of the line; for an opaque line, those that can be found.
    pub fn segments(&self) -> &[SimpleCommand] {
        &self.command.segments
    }

    /// Returns the program that a line starts, if it is looked up by its name and no shell is needed to know it.
    pub fn named_program(line: &str) -> Option<String> {
        let line = Self::parse(line).ok().filter(|line| !line.needs_shell())?;
        Some(line.program().to_owned()).filter(|program| !program.contains('/'))
    }

    /// Returns whether the line needs a shell to run.
    pub const fn needs_shell(&self) -> bool {
        self.needs_shell
    }

    /// Returns whether the line can succeed although a command in it failed, because it has an operator other than `&&`.
    pub const fn masks_failure(&self) -> bool {
        self.masks_failure
    }

    /// Returns what in the line cannot be judged by its words; `None` if everything can.
    pub fn opaque(&self) -> Option<Opaque> {
        self.command.opaque.as_ref().map(|unread| unread.what)
    }

    /// Returns the structure that the exit status of the line depends on.
    pub fn script(&self) -> ShellScript {
        script::read_script(&self.text)
    }

    /// Returns syntax in the line that `sh` need not know, and what to write instead.
    pub fn dialect(&self) -> Option<(&'static str, &'static str)> {
        script::dialect(&self.text)
    }

    /// Returns the program that runs first.
    pub fn program(&self) -> &str {
        self.segments().first().and_then(|segment| segment.words.first()).map_or("", String::as_str)
    }
}

/// Detects the specific errors in a text that the grammar cannot parse.
fn refuse(text: &str) -> Result<(), CommandSyntaxError> {
    if word::ends_in_quotes(text) {
        return Err(CommandSyntaxError::OpenQuote);
    }
    let lacks_before = text.starts_with(['&', '|', ';']);
    if lacks_before || text.ends_with("&&") || text.ends_with('|') {
        return Err(CommandSyntaxError::MissingCommand);
    }
    Ok(())
}

/// Finds the commands inside words that a program may run: the scripts of `sh -c`, `eval`, `env -S` and similar.
#[derive(Default)]
struct Scripts {
    found: Vec<SimpleCommand>,
    /// True if there were more commands than are parsed.
    has_more: bool,
}

impl Scripts {
    fn find(&mut self, words: &[String], depth: usize) {
        if !(0..words.len()).any(|at| words.get(at..).is_some_and(hands_on)) {
            return;
        }
        let scripts = words.iter().skip(1).filter(|word| word.contains(char::is_whitespace));
        // `eval` joins its words before it parses them.
        let joined = words.get(1..).unwrap_or_default().join(" ");
        for script in scripts.chain([&joined]) {
            if depth == 0 || self.found.len() > MAX_INNER {
                self.has_more = true;
                return;
            }
            let segments = match syntax::read_syntax(script) {
                Ok(reading) => reading.segments,
                Err(glimpse) => glimpse.segments,
            };
            for segment in segments {
                let words = segment.words.clone();
                self.found.push(segment);
                self.find(&words, depth - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_shell_has_is_no_named_program() {
        for builtin in [":", "exit 0", "set -e", "cd .", "eval true", "trap '' EXIT", "type sh"] {
            assert_eq!(CommandLine::named_program(builtin), None, "{builtin}");
        }
        let named = CommandLine::named_program("no-such-program -v");
        assert_eq!(named.as_deref(), Some("no-such-program"));
        assert_eq!(CommandLine::named_program("./here"), None);
    }

    fn words(text: &str) -> Vec<Vec<String>> {
        CommandLine::parse(text).unwrap().segments().iter().map(|it| it.words.clone()).collect()
    }

    #[test]
    fn a_single_command_needs_no_shell() {
        let command = CommandLine::parse("cargo test -p 'my crate' \"a \\\" b\" c\\ d").unwrap();
        let expected = ["cargo", "test", "-p", "my crate", "a \" b", "c d"];
        assert_eq!(command.segments()[0].words, expected);
        assert!(!command.needs_shell());
        for (builtin, is_builtin) in [
            (":", true),
            ("exit 0", true),
            ("'cd' .", true),
            ("command -v sh", true),
            ("echo cd", false),
            ("./exit", false),
        ] {
            let line = CommandLine::parse(builtin).unwrap();
            assert_eq!(line.needs_shell(), is_builtin, "{builtin}");
            assert_eq!(line.opaque(), None, "{builtin}");
        }
        assert_eq!(command.opaque(), None);
        assert_eq!(command.program(), "cargo");
    }

    #[test]
    fn operators_split_segments() {
        let expected = [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]];
        assert_eq!(words("a b && c | d; e"), expected);
        assert!(CommandLine::parse("a || b").unwrap().needs_shell());
        assert_eq!(words("a\nb"), [["a"], ["b"]]);
    }

    #[test]
    fn operators_in_quotes_are_text() {
        assert_eq!(words("echo 'a && b' \"c | d\""), [["echo", "a && b", "c | d"]]);
    }

    #[test]
    fn syntax_beyond_plain_words_is_opaque() {
        for text in [
            "a $(rm x)",
            "a `b`",
            "a \"$X\"",
            "a > f",
            "a < f",
            "(a)",
            "a & b",
            "X={a,b} c",
            "a &> f",
        ] {
            assert!(CommandLine::parse(text).unwrap().opaque().is_some(), "{text}");
        }
        for text in ["a 2>&1", "a >/dev/null 2>&1", "a 2> /dev/null | b", "a '$X'", "ls *.rs"] {
            assert_eq!(CommandLine::parse(text).unwrap().opaque(), None, "{text}");
        }
        assert_eq!(words("a 2>&1 b"), [["a", "b"]]);
    }

    #[test]
    fn backquotes_are_read_like_dollar_parentheses() {
        let read = |text: &str| CommandLine::parse(text).unwrap();
        for (backquotes, brackets) in [
            ("a `b c | d`", "a $(b c | d)"),
            ("a \"x `b` y\" `c 'd'` && e", "a \"x $(b) y\" $(c 'd') && e"),
            ("a `b \"c\"` 'd e' f", "a $(b \"c\") 'd e' f"),
        ] {
            let (one, other) = (read(backquotes), read(brackets));
            assert_eq!(one.opaque(), Some(Opaque::Substitution), "{backquotes}");
            assert_eq!(one.segments(), other.segments(), "{backquotes}");
        }
        for literal in ["a 'b `c` | d'", "a \\` b", "a \"\\`\" b"] {
            assert_eq!(read(literal).opaque(), None, "{literal}");
        }
        for unclear in ["a `b", "a `b \\`c\\``", "a '`' # it's", "a \"${b:-'`'}\""] {
            assert_eq!(read(unclear).opaque(), Some(Opaque::Substitution), "{unclear}");
        }
        // The grammar would compare all ways to parse these, and never finish.
        for backquotes in 1..20 {
            let line = format!("a {} {}b", "`x ".repeat(backquotes), "b |".repeat(200));
            assert!(read(&line).opaque().is_some(), "{backquotes}");
        }
    }

    #[test]
    fn malformed_lines_are_errors() {
        let error = |text| CommandLine::parse(text).unwrap_err();
        assert_eq!(error("  "), CommandSyntaxError::Empty);
        assert_eq!(error("a 'b"), CommandSyntaxError::OpenQuote);
        assert_eq!(error("a \"b"), CommandSyntaxError::OpenQuote);
        assert_eq!(error("a &&"), CommandSyntaxError::MissingCommand);
        assert_eq!(error("&& a"), CommandSyntaxError::MissingCommand);
        assert_eq!(error("a\u{1b}[31m"), CommandSyntaxError::ControlCharacter);
    }

    #[test]
    fn equivalent_spellings_are_the_same_command() {
        let command = |text| CommandLine::parse(text).unwrap().command().clone();
        assert_eq!(command("cargo test 'a b'"), command("cargo  \"test\" a\\ b"));
        let differ = [
            ["ls *.rs", "ls '*.rs'"],
            ["a && b", "a || b"],
            ["a b", "'a b'"],
            ["! a", "a"],
            ["X=1 a", "a"],
            ["X=1 a", "X=2 a"],
            ["a $X", "a $Y"],
        ];
        for [one, other] in differ {
            assert_ne!(command(one), command(other), "{one}");
        }
    }

    #[test]
    fn long_or_deeply_nested_lines_are_opaque_and_do_not_crash() {
        let pieces = [
            "(",
            "{ ",
            "$((",
            "$(",
            "[[ ",
            "`",
            "\"$(",
            "if ",
            "a && ",
            "case a in a) ",
            "<<a ",
            "a=(",
            "${a:-",
            "+(a|",
            "! ",
            ">a ",
            "<(",
            "a;",
            "'b' ",
            "sh -c ",
        ];
        for piece in pieces {
            for length in [200, MAX_TEXT, 100_000] {
                let line = CommandLine::parse(&piece.repeat(length / piece.len()));
                let is_judged = line.is_ok_and(|line| line.opaque().is_none());
                assert!(!is_judged || length <= MAX_TEXT, "{piece} {length}");
            }
        }
        let many = format!("sh {}", "'sh -c x' ".repeat(300));
        assert_eq!(CommandLine::parse(&many).unwrap().opaque(), Some(Opaque::TooLong));
    }

    #[test]
    fn pipes_after_a_syntax_error_are_parsed_in_bounded_time() {
        for (before, after) in [
            ("$(a|b| )  ", "c$"),
            ("`a|b| `  ", "c$"),
            ("[ << x ", "while#]]"),
            ("then do |<< ", "!if${ "),
            ("<< x 1|&a", "a{] "),
            ("(a|b| ) '", ""),
            ("'a' $(\"b\"|c| ) \"", "c$"),
        ] {
            for pipe in ["d|", "d |& ", "|d", "d|||"] {
                let line = CommandLine::parse(&format!("{before}{}{after}", pipe.repeat(60)));
                assert!(line.is_ok_and(|line| line.opaque().is_some()), "{before}{pipe}{after}");
            }
        }
        let words = "a|".repeat(60);
        for read in [format!("grep -E '{words}b' c | wc"), "a || b || ".repeat(9) + "c"] {
            assert_eq!(CommandLine::parse(&read).unwrap().opaque(), None, "{read}");
        }
    }

    #[test]
    fn any_character_may_follow_a_brace() {
        for c in ['\u{10ffff}', '\u{31860}', '😀', '中'] {
            for line in [format!("echo {{{c}"), format!("echo '{{{c}}}' | wc {c}")] {
                CommandLine::parse(&line).unwrap();
            }
            let line = CommandLine::parse(&format!("echo a{c} b")).unwrap();
            assert_eq!(line.segments()[0].words, ["echo", &format!("a{c}"), "b"]);
        }
    }

    /// The longest line that is parsed, in bytes.
    const MAX_TEXT: usize = 4096;

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ a-c'\"\\\\&|;<>$`(){}#é中😀\n]{0,40}") {
            if let Ok(command) = CommandLine::parse(&text) {
                proptest::prop_assert!(command.segments().iter().all(|it| !(it.words.is_empty() && it.assignments.is_empty())));
            }
        }
    }
}
