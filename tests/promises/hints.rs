//! Hints work: each has a test, and what it names can be run. What else a message says is tested where it is printed.

mod coverage;
mod follow;
mod past;
mod refusals;
mod requests;
mod sites;
mod terminals;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use follow::Printed;
use sites::Source;
use tokens::{Token, read_tokens};

use crate::promises::tidy::sources::{ROOT, collect, crate_dirs};

/// Runs a scenario and returns the hints that it printed.
fn printed_by(scenario: fn(&Printed)) -> Vec<String> {
    let printed = Printed::default();
    scenario(&printed);
    printed.into_hints()
}

#[test]
fn every_hint_has_a_test() {
    let scenarios = [refusals::ALL, past::ALL, requests::ALL, terminals::ALL].concat();
    let ended: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> =
            scenarios.iter().map(|scenario| scope.spawn(|| printed_by(*scenario))).collect();
        running.into_iter().map(ScopedJoinHandle::join).collect()
    });
    let failed = ended.iter().filter(|ended| ended.is_err()).count();
    let printed: Vec<String> = ended.into_iter().flatten().flatten().collect();
    let (sources, quotes) = sources_and_quotes();
    let sites = sites::sites(&sources);
    assert!(sites.len() > 100, "only {} hints were found", sites.len());
    let untested = coverage::untested(&sites, &printed, &quotes);
    let untested =
        untested.iter().map(|it| format!("{}:{}: {}", it.place.0, it.place.1, it.template));
    let mut untested: Vec<String> = untested.collect();
    untested.sort();
    assert!(
        failed == 0 && untested.is_empty(),
        "{failed} scenarios failed; these hints have no test: print each in a scenario in tests/promises/hints/, which also follows it, \
         or quote {} characters of its own in another test:\n{}",
        coverage::QUOTE,
        untested.join("\n")
    );
}

/// Returns the sources without their tests, and the texts in all tests but these.
fn sources_and_quotes() -> (Vec<Source>, Vec<String>) {
    let root = Path::new(ROOT);
    let mut files = Vec::new();
    let mut dirs: Vec<PathBuf> =
        crate_dirs().iter().map(|dir| root.join(dir).join("src")).collect();
    dirs.push(root.join("tests"));
    for dir in &dirs {
        collect(dir, &mut files);
    }
    let (mut sources, mut quotes) = (Vec::new(), Vec::new());
    let text = |token: &Token| token.text().map(str::to_owned);
    for file in files {
        let path = file.strip_prefix(root).expect("it is below the root").to_string_lossy();
        let (code, tests) = read_tokens(&fs::read_to_string(&file).expect("a source file is text"));
        quotes.extend(tests.iter().filter_map(text));
        if !path.starts_with("tests/")
            && !path.ends_with("tests.rs")
            && !path.ends_with("testing.rs")
        {
            sources.push(Source { path: path.into_owned(), tokens: code });
        } else if !path.starts_with("tests/promises/hints") {
            quotes.extend(code.iter().filter_map(text));
        }
    }
    (sources, quotes)
}

#[test]
fn keys_that_hints_name_exist() {
    let defaults: toml::Table = config::DEFAULTS.parse().expect("the defaults are TOML");
    for site in sites::sites(&sources_and_quotes().0) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.*".contains(c);
        for key in site.template.split(|c| !is_part(c)).map(|key| key.trim_matches('.')) {
            let path: Vec<&str> = key.split('.').collect();
            let names_a_key = path.len() > 1 && defaults.contains_key(path[0]);
            assert!(!names_a_key || has_key(&defaults, &path), "{key}: {}", site.template);
        }
    }
}

/// Returns true if a table has the key, where `*` is any table.
fn has_key(table: &toml::Table, path: &[&str]) -> bool {
    let Some((name, rest)) = path.split_first() else { return true };
    let mut found = table.iter().filter(|(key, _)| *name == "*" || key == name);
    found.any(|(_, value)| rest.is_empty() || value.as_table().is_some_and(|it| has_key(it, rest)))
}

#[test]
fn a_hint_is_found_wherever_it_is_set() {
    let code = r#"
const ROOM: &str = "make room there";
fn cure(class: Class) -> &'static str {
    match class { Class::A => "try it later", Class::B => ROOM }
}
fn f(class: Class) -> Error {
    let look = if true { "look at {}" } else { "look there" };
    let (kind, hint) = (Kind::A, cure(class));
    g("what", "say it again");
    warn("hint: name {it}");
    error.hint(look).hint(format!("use {} or {more}", x.join(", ")))
}
fn g(what: &str, hint: &str) -> Error { Error::new("no hint here").hint(hint) }
#[cfg(test)]
mod tests { fn t() { error.hint("in a test") } }
"#;
    let source = Source { path: "f.rs".to_owned(), tokens: read_tokens(code).0 };
    let found = sites::sites(&[source]);
    let found: Vec<&str> = found.iter().map(|site| site.template.as_str()).collect();
    let expected = [
        "look at {}",
        "look there",
        "make room there",
        "name {it}",
        "say it again",
        "try it later",
        "use {} or {more}",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_hint_is_tested_if_it_was_printed_or_its_own_words_are_quoted() {
    let site =
        |template: &str| sites::Site { template: template.to_owned(), place: Default::default() };
    let sites = [
        site("the change is in the workspace: undo {it} or keep it"),
        site("the change is in the workspace: ask again later for it"),
    ];
    let untested = |printed: &str, quote: &str| {
        let (printed, quotes) = ([printed.to_owned()], [quote.to_owned()]);
        coverage::untested(&sites, &printed, &quotes)
            .iter()
            .map(|it| it.template.len())
            .sum::<usize>()
    };
    let all = untested("", "the change is in the workspace");
    assert_eq!(all, sites[0].template.len() + sites[1].template.len());
    assert_eq!(untested("", "ask again later for"), sites[0].template.len());
    let printed = "the change is in the workspace: undo a.txt or keep it";
    assert_eq!(untested(printed, ""), sites[1].template.len());
}
