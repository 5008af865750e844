//! Matches commands against rules that list or forbid them, word by word. Pure.
//!
//! A listed command may have the options that `policy.options` allows for it and, if its rule ends in `*`, plain words.
//! Every other option needs approval: programs have too many options that make them run, read or write something else.

use std::fmt;

use config::Policy;

use crate::command::{Assignment, SimpleCommand, base_name};

/// The commands that run without asking.
#[derive(Debug, Clone)]
pub(crate) struct ListedCommand {
    rules: Vec<Rule>,
    options: Vec<(Vec<String>, Vec<CommandOption>)>,
    variables: Vec<String>,
}

/// Why a command is not listed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlisted<'a> {
    /// No rule begins with its words.
    Command,
    /// A rule matches, but the option is not allowed for it.
    Option(&'a str),
    /// A rule matches, but does not allow this further word.
    Word(&'a str),
    /// A rule matches, but the variable may not be set for it.
    Variable(&'a str),
}

impl fmt::Display for Unlisted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => write!(f, "is not listed in policy.allow_commands"),
            Self::Option(word) => {
                write!(f, "has `{word}`, which policy.options does not allow for it in this form")
            }
            Self::Word(word) => {
                write!(f, "has `{word}`, which its rule in policy.allow_commands does not allow")
            }
            Self::Variable(name) => {
                write!(f, "sets `{name}`, which policy.allow_variables does not list in this form")
            }
        }
    }
}

impl ListedCommand {
    pub(crate) fn new(policy: &Policy) -> Self {
        let named =
            |names: &Vec<String>| names.iter().map(|name| CommandOption::new(name)).collect();
        Self {
            rules: policy.allow_commands.iter().map(|rule| Rule::new(rule)).collect(),
            options: policy
                .options
                .iter()
                .map(|(command, names)| (split(command), named(names)))
                .collect(),
            variables: policy.allow_variables.clone(),
        }
    }

    /// Checks that a rule lists the words, and that no variable is set that could change what they do.
    pub(crate) fn admits<'a>(&self, segment: &'a SimpleCommand) -> Result<(), Unlisted<'a>> {
        let mut closest = Unlisted::Command;
        for rule in &self.rules {
            let Some(rest) = segment.words.strip_prefix(rule.words.as_slice()) else { continue };
            if segment.words.is_empty() {
                continue;
            }
            match self.admits_rest(rule, rest, segment.expands) {
                Ok(()) => match self.admits_variables(rule, &segment.assignments) {
                    Ok(()) => return Ok(()),
                    Err(unlisted) => closest = unlisted,
                },
                Err(unlisted) => closest = unlisted,
            }
        }
        Err(closest)
    }

    /// Checks that the variables set are those of the rule, or ones that may be set for any listed command.
    fn admits_variables<'a>(
        &self,
        rule: &Rule,
        assignments: &'a [Assignment],
    ) -> Result<(), Unlisted<'a>> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,=".contains(c);
        let is_harmless =
            |it: &Assignment| self.variables.contains(&it.name) && it.value.chars().all(is_plain);
        if !rule.sets.iter().all(|set| assignments.contains(set)) {
            return Err(Unlisted::Command);
        }
        let mut others = assignments.iter().filter(|it| !rule.sets.contains(it));
        others.find(|it| !is_harmless(it)).map_or(Ok(()), |it| Err(Unlisted::Variable(&it.name)))
    }

    /// Checks that `rule` allows the words that follow its own.
    fn admits_rest<'a>(
        &self,
        rule: &Rule,
        rest: &'a [String],
        expands: bool,
    ) -> Result<(), Unlisted<'a>> {
        let options = self.options_of(&rule.words);
        let mut rest = rest;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            if !is_option(word) {
                let admitted = match rule.open {
                    Open::No => false,
                    Open::ToWords => !word.contains(char::is_whitespace),
                    Open::ToText => true,
                };
                if !admitted || !is_plain(word, expands) || word.contains('=') {
                    return Err(Unlisted::Word(word));
                }
                continue;
            }
            rest = after_option(&options, word, after, expands).ok_or(Unlisted::Option(word))?;
        }
        Ok(())
    }

    /// Returns the options allowed for a command that begins with `words`, whatever the path of its program.
    fn options_of(&self, words: &[String]) -> Vec<&CommandOption> {
        let words = match words {
            // A module run by Python is a program of its own, and so is what Bundler runs.
            [python, flag, module @ ..]
                if matches!(python.as_str(), "python" | "python3") && flag == "-m" =>
            {
                module
            }
            [bundle, exec, program @ ..] if bundle == "bundle" && exec == "exec" => program,
            all => all,
        };
        let Some((program, words)) = words.split_first() else { return Vec::new() };
        let is_of = |command: &[String]| {
            command.split_first().is_some_and(|(first, others)| {
                first == base_name(program) && words.starts_with(others)
            })
        };
        let named = self.options.iter().filter(|(command, _)| is_of(command));
        named.flat_map(|(_, options)| options).collect()
    }
}

/// The words a command begins with, and which words may follow.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// Variables set before the command.
    sets: Vec<Assignment>,
    words: Vec<String>,
    open: Open,
}

/// Which words may follow those of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    No,
    /// `*`: words without spaces.
    ToWords,
    /// `**`: any words. Some programs would split a word with spaces again.
    ToText,
}

impl Rule {
    pub(crate) fn new(rule: &str) -> Self {
        let open = match rule {
            _ if rule.ends_with("**") => Open::ToText,
            _ if rule.ends_with('*') => Open::ToWords,
            _ => Open::No,
        };
        let begins = rule.trim_end_matches('*');
        // Quoted as in a shell if a word has a space or ends in a star.
        let words = shlex::split(begins).unwrap_or_else(|| split(begins));
        let is_set = |word: &&String| assignment(word).is_some();
        let count = words.iter().take_while(is_set).count();
        let sets = words.iter().take(count).filter_map(|word| assignment(word)).collect();
        Self { sets, words: words.into_iter().skip(count).collect(), open }
    }

    /// Returns true if the rule forbids `words`: the program by any path or suffix, then the other words in order,
    /// possibly with others between them.
    pub(crate) fn forbids(&self, words: &[String]) -> bool {
        let (Some(program), Some(rule)) = (words.first(), self.words.first()) else { return false };
        let name = base_name(program);
        let same = name == rule
            || (self.open != Open::No
                && name.strip_prefix(rule.as_str()).is_some_and(|rest| rest.starts_with('.')));
        let mut rest = words.iter().skip(1);
        same && self.words.iter().skip(1).all(|rule| rest.any(|word| word == rule))
    }
}

/// An option that is allowed for a command.
#[derive(Debug, Clone)]
struct CommandOption {
    /// Including its dashes.
    name: String,
    takes: Takes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `-x`: no value.
    Nothing,
    /// `-p=`: a value, either joined or as the next word.
    Value(Kind),
    /// `--color[=]`: an optional value, joined only.
    JoinedValue,
}

/// Which values an option allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One word.
    Word,
    /// `=*`: any text.
    Text,
    /// `=name`: a name in lower case.
    Name,
}

impl Kind {
    fn admits(self, value: &str, expands: bool) -> bool {
        let is_of_name =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:-".contains(c);
        is_plain(value, expands)
            && match self {
                Self::Word => !value.contains(char::is_whitespace),
                Self::Text => true,
                Self::Name => value.chars().all(is_of_name),
            }
    }
}

/// Where the value of an option is.
enum Value<'a> {
    None,
    Joined(Kind, &'a str),
    Next(Kind),
}

impl CommandOption {
    fn new(text: &str) -> Self {
        let forms = [
            ("[=]", Takes::JoinedValue),
            ("=", Takes::Value(Kind::Word)),
            ("=*", Takes::Value(Kind::Text)),
            ("=name", Takes::Value(Kind::Name)),
        ];
        let form = forms.iter().find_map(|(end, takes)| Some((text.strip_suffix(end)?, *takes)));
        let (name, takes) = form.unwrap_or((text, Takes::Nothing));
        Self { name: name.to_owned(), takes }
    }

    fn value_in<'a>(&self, word: &'a str) -> Option<Value<'a>> {
        let rest = word.strip_prefix(self.name.as_str())?;
        let is_letter = self.name.chars().count() == 2;
        let joined = || rest.strip_prefix('=').or(is_letter.then_some(rest));
        match self.takes {
            Takes::Nothing => rest.is_empty().then_some(Value::None),
            Takes::JoinedValue if rest.is_empty() => Some(Value::None),
            Takes::JoinedValue => Some(Value::Joined(Kind::Word, joined()?)),
            Takes::Value(kind) if rest.is_empty() => Some(Value::Next(kind)),
            Takes::Value(kind) => Some(Value::Joined(kind, joined()?)),
        }
    }
}

/// Returns what follows an option and its value, if both are allowed.
fn after_option<'a>(
    options: &[&CommandOption],
    word: &str,
    after: &'a [String],
    expands: bool,
) -> Option<&'a [String]> {
    match find(options, word)? {
        Value::None => Some(after),
        Value::Joined(kind, value) => kind.admits(value, expands).then_some(after),
        Value::Next(kind) => {
            let (value, after) = after.split_first()?;
            (!is_option(value) && kind.admits(value, expands)).then_some(after)
        }
    }
}

/// Finds the option that `word` is, or checks that it joins only single-letter options without values, as in `-xvs`.
fn find<'a>(options: &[&CommandOption], word: &'a str) -> Option<Value<'a>> {
    let is_letter = |letter: char| {
        options
            .iter()
            .any(|option| option.takes == Takes::Nothing && option.name.chars().eq(['-', letter]))
    };
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    options.iter().find_map(|option| option.value_in(word)).or_else(|| {
        letters.is_some_and(|letters| letters.chars().all(is_letter)).then_some(Value::None)
    })
}

/// Returns true if a program takes the word for an option. A lone `-` is standard input.
fn is_option(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

/// Returns true if a word stays in the workspace and stands for itself: it matches no files, and is no `@file` of
/// further words.
fn is_plain(word: &str, expands: bool) -> bool {
    let leaves = word.starts_with(['/', '~']) || word.split('/').any(|part| part == "..");
    let matches_files = expands && word.contains(['*', '?', '[']);
    !leaves && !matches_files && !word.starts_with('@')
}

/// Returns the rule that lists exactly these words and variables.
pub(crate) fn rule_for(segment: &SimpleCommand) -> String {
    let set =
        segment.assignments.iter().map(|it| quoted_word(&format!("{}={}", it.name, it.value)));
    let words: Vec<String> =
        set.chain(segment.words.iter().map(|word| quoted_word(word))).collect();
    words.join(" ")
}

/// Parses a word that sets a variable.
fn assignment(word: &str) -> Option<Assignment> {
    let (name, value) = word.split_once('=')?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| Assignment { name: name.to_owned(), value: value.to_owned() })
}

/// Quotes a text as one word of a shell.
pub fn quoted_word(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
