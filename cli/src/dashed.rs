//! Requests that begin with a dash, as lists and front matter do. No option has white space in its name, so such a word
//! is a request. Pure.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Rewrites a command line that cannot be parsed, so that words which are no options are values; `None` if there are
/// none. A value follows its option; a word of the request comes last, after `--`.
pub(crate) fn with_requests_marked(words: &[OsString], grammar: &Command) -> Option<Vec<OsString>> {
    let mut options: Vec<&Arg> = grammar.get_arguments().collect();
    let mut within = grammar;
    let (mut marked, mut requests) = (Vec::new(), Vec::<OsString>::new());
    let mut is_other = false;
    let mut rest = words.iter();
    for word in rest.by_ref() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            requests.extend(rest.cloned());
            break;
        }
        if let Some(found) = within.find_subcommand(text) {
            options.extend(found.get_arguments());
            within = found;
        }
        if let Some(switch) = marked.last_mut().filter(|it: &&mut OsString| {
            it.to_str().is_some_and(|it| options.iter().any(|option| is_switch(option, it, text)))
        }) {
            switch.push("=true");
            is_other = true;
        }
        let before = marked.last_mut().filter(|it: &&mut OsString| {
            it.to_str().is_some_and(|it| options.iter().any(|option| awaits(option, it)))
        });
        // Nothing else can follow an option that needs a value.
        let is_value = before.is_some() && is_dashed(text);
        if !is_value && !is_request(text, &options) {
            marked.push(word.clone());
            continue;
        }
        is_other = true;
        match before {
            Some(option) => {
                option.push("=");
                option.push(word);
            }
            None => requests.push(word.clone()),
        }
    }
    if !is_other {
        return None;
    }
    if !requests.is_empty() {
        marked.push("--".into());
    }
    marked.extend(requests);
    Some(marked)
}

/// Returns true if `word` is this option, which may be a bare switch or have a value, and `next` is no value of it.
fn is_switch(option: &Arg, word: &str, next: &str) -> bool {
    let may_be_bare = option.get_num_args().is_some_and(|count| count.min_values() == 0);
    let values = option.get_possible_values();
    let is_value = |next: &str| values.iter().any(|value| value.matches(next, false));
    word.strip_prefix("--").is_some_and(|long| option.get_long() == Some(long))
        && may_be_bare
        && is_value("true")
        && !is_value(next)
        && !next.starts_with('-')
}

/// Returns true if a word begins with a dash and has white space in it.
fn is_dashed(word: &str) -> bool {
    word.starts_with('-') && word.contains(char::is_whitespace)
}

/// Returns true if a word begins with a dash and cannot be an option with its value.
fn is_request(word: &str, options: &[&Arg]) -> bool {
    let Some(name) = word.strip_prefix('-').filter(|_| is_dashed(word)) else { return false };
    let is_option = if let Some(long) = name.strip_prefix('-') {
        let name = long.split('=').next().unwrap_or_default();
        options.iter().any(|option| option.get_long() == Some(name))
    } else {
        let short = name.chars().next();
        options.iter().any(|it| it.get_short() == short && it.get_action().takes_values())
    };
    !is_option
}

/// Returns true if a word is this option, without the value that it needs.
fn awaits(option: &Arg, word: &str) -> bool {
    let is_needed = option.get_num_args().is_none_or(|count| count.min_values() > 0);
    let is_it = if let Some(long) = word.strip_prefix("--") {
        option.get_long() == Some(long)
    } else {
        let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
        let short = letters.next();
        short.is_some() && letters.next().is_none() && option.get_short() == short
    };
    is_it && is_needed && option.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    fn marked(words: &[&str]) -> Option<Vec<String>> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut grammar = Cli::command();
        grammar.build();
        let marked = with_requests_marked(&words, &grammar)?;
        Some(marked.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn words_that_are_no_options_are_values() {
        for (words, expected) in [
            (&["-p", "- a\n- b", "--tools", "false"][..], &["-p=- a\n- b", "--tools", "false"][..]),
            (&["ask", "--tools", "Why?"], &["ask", "--tools=true", "Why?"]),
            (
                &["ask", "--- x\n", "--output", "json"],
                &["ask", "--output", "json", "--", "--- x\n"],
            ),
            (&["--model is ignored", "why"], &["why", "--", "--model is ignored"]),
            (&["-p", "--model=x is ignored"], &["-p=--model=x is ignored"]),
            (&["commit", "-m", "- first\n"], &["commit", "-m=- first\n"]),
            (&["plan", "-1 is returned"], &["plan", "--", "-1 is returned"]),
        ] {
            let expected: Vec<String> = expected.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(marked(words), Some(expected), "{words:?}");
        }
    }

    #[test]
    fn options_with_spaces_in_their_values_stay() {
        for words in [
            &["--set=a=\"b c\"", "--nonsense"][..],
            &["-pfix it", "--nonsense"],
            &["ask", "--", "- it"],
            &["fix", "it", "--nonsense"],
        ] {
            assert_eq!(marked(words), None, "{words:?}");
        }
    }
}
