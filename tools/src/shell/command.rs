//! A command line read into argv segments, so that policy can match words instead of text. Pure.
//!
//! What can not be understood without running a shell (substitutions, subshells, variables) is marked opaque, never guessed.

use thiserror::Error;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    text: String,
    segments: Vec<Vec<String>>,
    needs_shell: bool,
    expands: bool,
    masks_failure: bool,
    opaque: Option<&'static str>,
}

/// Why a text is no command.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum CommandSyntaxError {
    /// Nothing to run.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// `&& &&`, a leading `|` or the like.
    #[error("an operator has no command beside it")]
    MissingCommand,
    /// A control character that is not white space.
    #[error("the command has a control character")]
    ControlCharacter,
}

impl CommandLine {
    /// Reads `text` by the rules of a POSIX shell, without expanding anything.
    pub fn parse(text: &str) -> Result<Self, CommandSyntaxError> {
        let text = text.trim();
        if text.chars().any(|c| c.is_control() && c != '\t' && c != '\n') {
            return Err(CommandSyntaxError::ControlCharacter);
        }
        let mut reader = Reader::default();
        reader.read(text)?;
        if reader.segments.is_empty() {
            return Err(CommandSyntaxError::Empty);
        }
        Ok(Self {
            text: text.to_owned(),
            needs_shell: reader.needs_shell
                || reader.opaque.is_some()
                || reader.segments.len() > 1
                || reader.segments.iter().any(|words| begins_with_assignment(words)),
            segments: reader.segments,
            expands: reader.expands,
            masks_failure: reader.masks_failure,
            opaque: reader.opaque,
        })
    }

    /// The command as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The simple commands it runs, each as its words; assignments before a command are words too.
    pub fn segments(&self) -> &[Vec<String>] {
        &self.segments
    }

    /// Whether it has to be run by a shell.
    pub const fn needs_shell(&self) -> bool {
        self.needs_shell
    }

    /// Whether a word has a wildcard or `~` that is not quoted, so that a shell would put file names in its place.
    pub const fn expands(&self) -> bool {
        self.expands
    }

    /// Whether it can end well although a command in it failed: it has an operator other than `&&`.
    pub const fn masks_failure(&self) -> bool {
        self.masks_failure
    }

    /// What in it can not be judged by its words, if anything.
    pub const fn opaque(&self) -> Option<&'static str> {
        self.opaque
    }

    /// The program that runs first.
    pub fn program(&self) -> &str {
        self.segments.first().and_then(|words| words.first()).map_or("", String::as_str)
    }
}

/// Whether a shell would set a variable before it runs the command.
fn begins_with_assignment(words: &[String]) -> bool {
    let name = words.first().and_then(|word| word.split_once('=')).map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the line")]
struct Reader {
    segments: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// Whether a part of the word is quoted.
    is_quoted: bool,
    after_operator: bool,
    needs_shell: bool,
    expands: bool,
    masks_failure: bool,
    opaque: Option<&'static str>,
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<(), CommandSyntaxError> {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            rest = match c {
                '\'' => self.single_quoted(rest)?,
                '"' => self.double_quoted(rest)?,
                '\\' => self.escaped(rest),
                ' ' | '\t' => {
                    self.end_word();
                    rest
                }
                '&' if rest.starts_with('>') => self.redirect(rest),
                '&' | '|' | ';' | '\n' => self.operator(c, rest)?,
                '>' | '<' => self.redirect(rest),
                '#' if self.word.is_none() => {
                    rest.find('\n').and_then(|at| rest.get(at..)).unwrap_or("")
                }
                other => {
                    self.plain(other);
                    rest
                }
            };
        }
        self.end_segment();
        if self.after_operator { Err(CommandSyntaxError::MissingCommand) } else { Ok(()) }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn plain(&mut self, c: char) {
        match c {
            '$' => self.opaque = self.opaque.or(Some("a variable or substitution")),
            '`' => self.opaque = self.opaque.or(Some("a command substitution")),
            '(' | ')' => self.opaque = self.opaque.or(Some("a subshell")),
            '{' | '}' => self.opaque = self.opaque.or(Some("a brace expression")),
            '*' | '?' | '[' | '~' => (self.needs_shell, self.expands) = (true, true),
            '!' => self.needs_shell = true,
            _ => {}
        }
        self.push(c);
    }

    fn single_quoted<'a>(&mut self, rest: &'a str) -> Result<&'a str, CommandSyntaxError> {
        self.is_quoted = true;
        let (inner, after) = rest.split_once('\'').ok_or(CommandSyntaxError::OpenQuote)?;
        self.word.get_or_insert_default().push_str(inner);
        Ok(after)
    }

    fn double_quoted<'a>(&mut self, rest: &'a str) -> Result<&'a str, CommandSyntaxError> {
        self.word.get_or_insert_default();
        self.is_quoted = true;
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return Ok(rest.get(at + 1..).unwrap_or("")),
                '$' | '`' => {
                    self.opaque = self.opaque.or(Some("a variable or substitution"));
                    self.push(c);
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\' | '$' | '`'))) => self.push(escaped),
                    Some((_, other)) => {
                        self.push('\\');
                        self.push(other);
                    }
                    None => return Err(CommandSyntaxError::OpenQuote),
                },
                other => self.push(other),
            }
        }
        Err(CommandSyntaxError::OpenQuote)
    }

    fn escaped<'a>(&mut self, rest: &'a str) -> &'a str {
        self.is_quoted = true;
        match rest.chars().next() {
            Some('\n') | None => rest.get(1..).unwrap_or(""),
            Some(c) => {
                self.push(c);
                rest.get(c.len_utf8()..).unwrap_or("")
            }
        }
    }

    /// `>`, `>>`, `<`, `&>`: to a descriptor or `/dev/null` it is harmless, else it is a write nobody can see in the words.
    fn redirect<'a>(&mut self, rest: &'a str) -> &'a str {
        self.needs_shell = true;
        // The descriptor before the operator is no word: a single digit, as it is.
        let is_digit = |word: &str| matches!(word.as_bytes(), [b'0'..=b'9']);
        if self.word.as_deref().is_some_and(is_digit) && !self.is_quoted {
            self.word = None;
        }
        self.end_word();
        let rest = rest.trim_start_matches(['>', '<', ' ', '\t']);
        let end = rest.find([' ', '\t', ';', '|', '\n', '<', '>']).unwrap_or(rest.len());
        let (target, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let descriptor = target
            .strip_prefix('&')
            .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
        if !descriptor && target != "/dev/null" {
            self.opaque = self.opaque.or(Some("a redirection to or from a file"));
        }
        after
    }

    fn operator<'a>(&mut self, c: char, rest: &'a str) -> Result<&'a str, CommandSyntaxError> {
        let double = rest.starts_with(c) && (c == '&' || c == '|');
        let rest = if double { rest.get(1..).unwrap_or("") } else { rest };
        if c == '&' && !double {
            self.opaque = self.opaque.or(Some("a background command"));
        }
        self.needs_shell = true;
        self.masks_failure |= !(double && c == '&');
        let ended = self.end_segment();
        if !ended && (self.after_operator || self.segments.is_empty()) && c != '\n' {
            return Err(CommandSyntaxError::MissingCommand);
        }
        self.after_operator = double || c == '|';
        Ok(rest)
    }

    fn end_word(&mut self) {
        self.is_quoted = false;
        if let Some(word) = self.word.take() {
            self.words.push(word);
        }
    }

    fn end_segment(&mut self) -> bool {
        self.end_word();
        if self.words.is_empty() {
            return false;
        }
        self.segments.push(std::mem::take(&mut self.words));
        self.after_operator = false;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        CommandLine::parse(text).unwrap().segments().to_vec()
    }

    #[test]
    fn one_command_is_run_without_a_shell() {
        let command = CommandLine::parse("cargo test -p 'my crate' \"a \\\" b\" c\\ d").unwrap();
        assert_eq!(command.segments(), [["cargo", "test", "-p", "my crate", "a \" b", "c d"]]);
        assert!(!command.needs_shell());
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
    fn what_words_do_not_show_is_opaque() {
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
    fn broken_lines_are_errors() {
        let error = |text| CommandLine::parse(text).unwrap_err();
        assert_eq!(error("  "), CommandSyntaxError::Empty);
        assert_eq!(error("a 'b"), CommandSyntaxError::OpenQuote);
        assert_eq!(error("a \"b"), CommandSyntaxError::OpenQuote);
        assert_eq!(error("a &&"), CommandSyntaxError::MissingCommand);
        assert_eq!(error("&& a"), CommandSyntaxError::MissingCommand);
        assert_eq!(error("a\u{1b}[31m"), CommandSyntaxError::ControlCharacter);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ a-c'\"\\\\&|;<>$`(){}#é\n]{0,40}") {
            if let Ok(command) = CommandLine::parse(&text) {
                proptest::prop_assert!(command.segments().iter().all(|words| !words.is_empty()));
            }
        }
    }
}
