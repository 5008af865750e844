//! Extracts the terms of a request: paths, quoted text, errors, identifiers and words. Pure: whether they exist is
//! checked elsewhere.

use std::collections::BTreeSet;

mod prose;

pub(super) use prose::is_common;

use tools::words::is_han;

/// Maximum number of terms that look like paths.
const MAX_PATHS: usize = 24;
/// Maximum number of quoted texts, errors and identifiers together.
const MAX_STRONG: usize = 24;
/// Maximum number of identifier parts and plain words together.
const MAX_WEAK: usize = 16;
/// Longer text is not a name.
const MAX_TERM_BYTES: usize = 120;

/// A name with one of these extensions is a file name and not a method call.
const FILE_EXTENSIONS: &str = "\
    adoc bash bat c cc cfg cjs conf cpp cs css csv cxx go gradle h hpp html ini java js json \
    jsonl jsx kt less lock lua md mjs mod php pl proto py pyi rb rs rst scala scss sh sql sum \
    svelte svg swift tf toml ts tsx txt vue xml yaml yml zig zsh";

/// File names without an extension.
const BARE_FILES: &str =
    "Dockerfile Gemfile Justfile LICENSE Makefile Procfile README Rakefile justfile";

/// Something that a request mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The kind of term.
    pub kind: TermKind,
    /// The text, as written; in lower case for parts and words.
    pub text: String,
}

/// The kind of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// Text that looks like the path of a file or a directory.
    Path {
        /// The line named with it, counted from 1.
        line: Option<usize>,
    },
    /// Text in backticks or quotes.
    Quoted,
    /// The part of an error message that is likely to occur literally in a source file.
    Error,
    /// A name from a program.
    Identifier,
    /// A word inside an identifier.
    Part,
    /// Any other word that is not too common to be useful.
    Word,
}

impl Term {
    /// Returns how significant the term is; larger is more significant.
    pub fn weight(&self) -> u32 {
        match self.kind {
            TermKind::Path { .. } => 16,
            TermKind::Quoted | TermKind::Error => 8,
            TermKind::Identifier => 6,
            TermKind::Word => 2,
            TermKind::Part => 1,
        }
    }

    /// Returns true for text taken from a program, as opposed to a word of prose.
    pub fn is_strong(&self) -> bool {
        match self.kind {
            TermKind::Quoted | TermKind::Error | TermKind::Identifier => true,
            TermKind::Path { .. } | TermKind::Part | TermKind::Word => false,
        }
    }

    /// Returns true if `text` contains the term: strong terms as whole words, others also as a word inside an
    /// identifier.
    ///
    /// `build` is in `build_tree`, `getBuilds` and `Build`, but not in `rebuild`. Paths are never found.
    pub fn is_in(&self, text: &str) -> bool {
        match self.kind {
            TermKind::Path { .. } => false,
            TermKind::Quoted | TermKind::Error | TermKind::Identifier => {
                prose::has_whole(text, &self.text)
            }
            TermKind::Part | TermKind::Word => prose::has_word(text, &self.text),
        }
    }

    /// Returns true if `name`, a file name without its extension, equals this term or its plural.
    pub fn is_name(&self, name: &str) -> bool {
        let singular = name.strip_suffix(['s', 'S']);
        name.eq_ignore_ascii_case(&self.text)
            || singular.is_some_and(|name| name.eq_ignore_ascii_case(&self.text))
    }
}

/// Returns a bounded number of terms of `request`. Those of one kind are in the order of first mention.
pub fn extract(request: &str) -> Vec<Term> {
    let mut found = Found::default();
    let prose = paths(request, &mut found);
    for line in request.lines() {
        quoted(line, &mut found);
        if let Some(message) = error_message(line) {
            found.add(TermKind::Error, message);
        }
    }
    let mut weak = Vec::new();
    prose::scan(&prose, &mut |kind, text| match kind {
        TermKind::Part | TermKind::Word => weak.push((kind, text)),
        TermKind::Path { .. } | TermKind::Quoted | TermKind::Error | TermKind::Identifier => {
            found.add(kind, &text);
        }
    });
    // Words are added last, so that a name counts as a name even if it is mentioned as a word first.
    for (kind, text) in weak {
        found.add(kind, &text);
    }
    found.terms
}

/// Returns true if `path` can only be the path of a file.
pub(super) fn is_surely_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && FILE_EXTENSIONS.split(' ').any(|known| extension.eq_ignore_ascii_case(known))
    })
}

#[derive(Default)]
struct Found {
    terms: Vec<Term>,
    seen: BTreeSet<(bool, String)>,
    paths: usize,
    strong: usize,
    weak: usize,
}

impl Found {
    fn add(&mut self, kind: TermKind, text: &str) {
        let (count, max) = match kind {
            TermKind::Path { .. } => (&mut self.paths, MAX_PATHS),
            TermKind::Quoted | TermKind::Error | TermKind::Identifier => {
                (&mut self.strong, MAX_STRONG)
            }
            TermKind::Part | TermKind::Word => (&mut self.weak, MAX_WEAK),
        };
        let is_path = matches!(kind, TermKind::Path { .. });
        let usable = !text.is_empty() && text.len() <= MAX_TERM_BYTES;
        if usable && *count < max && self.seen.insert((is_path, text.to_owned())) {
            *count += 1;
            self.terms.push(Term { kind, text: text.to_owned() });
        }
    }
}

/// Adds everything that looks like a path, and returns the request without the text that certainly is one.
fn paths(request: &str, found: &mut Found) -> String {
    let mut prose = String::with_capacity(request.len());
    for piece in request.split_inclusive(|c: char| !is_path_char(c)) {
        let run = piece.strip_suffix(|c: char| !is_path_char(c)).unwrap_or(piece);
        let end = piece.get(run.len()..).unwrap_or_default();
        let mut rest = run.to_owned();
        if !run.contains("://") {
            for candidate in candidates(run) {
                if let Some((path, line)) = path_in(candidate) {
                    found.add(TermKind::Path { line }, path.trim_end_matches('/'));
                    if is_surely_file(path) {
                        rest = rest.replacen(path, " ", 1);
                    }
                }
            }
        }
        prose.push_str(&rest);
        prose.push_str(end);
    }
    prose
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || "_-./@+~[]$#:".contains(c)
}

/// Returns the parts of a run of path characters that may be paths: Chinese has no spaces around them.
fn candidates(run: &str) -> Vec<&str> {
    if !run.contains(is_han) {
        return vec![run];
    }
    let mut candidates = vec![run, run.trim_matches(is_han).trim_matches('/')];
    candidates.extend(run.split(is_han).filter(|piece| is_surely_file(piece)));
    candidates.dedup();
    candidates
}

/// Returns the path in `text`, and the line that follows it as in `a.rs:12:5` or `a.rs#L12`.
fn path_in(text: &str) -> Option<(&str, Option<usize>)> {
    let (path, place) = text.split_once([':', '#']).unwrap_or((text, ""));
    let path = path.trim_start_matches(['@', '+', '-']).trim_end_matches(['.', '-', '+']);
    let path = match (path.strip_prefix('['), path.strip_suffix(']')) {
        (Some(open), _) if !path.contains(']') => open,
        (_, Some(close)) if !path.contains('[') => close,
        (Some(_), Some(_)) => path.trim_matches(['[', ']']),
        (_, _) => path,
    };
    let digits = place.trim_start_matches('L').split(|c: char| !c.is_ascii_digit()).next();
    let line = digits.and_then(|digits| digits.parse().ok()).filter(|line| *line > 0);
    is_path_like(path).then_some((path, line))
}

fn is_path_like(text: &str) -> bool {
    if text.contains("//") || !text.contains(char::is_alphanumeric) {
        return false;
    }
    text.contains('/') || BARE_FILES.split(' ').any(|name| name == text) || has_extension(text)
}

/// Also true for `.env`, whose stem is empty.
fn has_extension(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(_, extension)| {
        extension.len() <= 12
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    })
}

/// Adds the quoted texts of a line.
fn quoted(line: &str, found: &mut Found) {
    if line.trim_start().starts_with("```") {
        return;
    }
    for quote in ['`', '"'] {
        let pieces: Vec<&str> = line.split(quote).collect();
        // Every second piece is inside quotes, except for a last one that is not closed.
        let closed = pieces.len().saturating_sub(1);
        for text in pieces.iter().take(closed).skip(1).step_by(2) {
            add_quoted(text, found);
        }
    }
    for (open, close) in [('“', '”'), ('「', '」'), ('《', '》')] {
        for piece in line.split(open).skip(1) {
            if let Some((text, _)) = piece.split_once(close) {
                add_quoted(text, found);
            }
        }
    }
}

fn add_quoted(text: &str, found: &mut Found) {
    let text = text.trim().trim_end_matches("()");
    if text.contains(char::is_whitespace) && is_surely_file(text) {
        found.add(TermKind::Path { line: None }, text);
    }
    let long_enough = text.chars().count() >= if text.contains(is_han) { 2 } else { 3 };
    let known = is_surely_file(text) || is_common(&text.to_lowercase());
    if long_enough && !known && text.contains(char::is_alphanumeric) {
        found.add(TermKind::Quoted, text);
    }
}

/// Returns the longest piece of an error message without anything that a program would have filled in.
fn error_message(line: &str) -> Option<&str> {
    const MARKS: [&str; 4] = ["error", "exception", "panic", "fatal"];
    let (head, message) = line.split_once(": ")?;
    let mark = head.split_whitespace().next_back()?.to_ascii_lowercase();
    if !MARKS.iter().any(|word| mark.contains(word)) {
        return None;
    }
    let pieces = message.split(|c: char| c.is_ascii_digit() || "'\"`:(){}<>[]".contains(c));
    let pieces = pieces.map(|piece| piece.trim_matches(|c: char| !c.is_alphanumeric()));
    let longest = pieces.rev().max_by_key(|piece| piece.len())?;
    (longest.len() >= 8 && longest.contains(' ')).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(request: &str, wanted: impl Fn(TermKind) -> bool) -> Vec<String> {
        let terms = extract(request).into_iter();
        terms.filter(|term| wanted(term.kind)).map(|term| term.text).collect()
    }

    fn paths_of(request: &str) -> Vec<String> {
        of(request, |kind| matches!(kind, TermKind::Path { .. }))
    }

    fn strong_of(request: &str) -> Vec<String> {
        let terms = extract(request).into_iter();
        terms.filter(Term::is_strong).map(|term| term.text).collect()
    }

    fn words_of(request: &str) -> Vec<String> {
        of(request, |kind| kind == TermKind::Word)
    }

    #[test]
    fn paths_are_found_in_prose() {
        for (request, path) in [
            ("look at src/main.rs.", "src/main.rs"),
            ("look at ./src/main.rs, please", "./src/main.rs"),
            ("(see [src/a.rs])", "src/a.rs"),
            ("@src/a.rs has it", "src/a.rs"),
            ("open .env", ".env"),
            ("edit the Makefile", "Makefile"),
            ("app/[id]/page.tsx", "app/[id]/page.tsx"),
            ("修复src/main.rs中的错误", "src/main.rs"),
            ("打开docs/说明.md看看", "docs/说明.md"),
            ("说明.md", "说明.md"),
            ("naïve/größe.py:3", "naïve/größe.py"),
            ("`my notes/a b.md`", "my notes/a b.md"),
            ("in src/api/ somewhere", "src/api"),
        ] {
            assert!(
                paths_of(request).contains(&path.to_owned()),
                "{request}: {:?}",
                paths_of(request)
            );
        }
        let two = paths_of("把src/a.rs和src/b.rs合并");
        assert!(two.contains(&"src/a.rs".to_owned()) && two.contains(&"src/b.rs".to_owned()));
    }

    #[test]
    fn prose_and_addresses_are_not_paths() {
        assert_eq!(paths_of("Version 1.5 is out. See https://example.com/a/b.rs ... now"), [""; 0]);
    }

    #[test]
    fn paths_are_found_in_git_status_output() {
        assert_eq!(
            paths_of(" M src/lib.rs\n?? new.py\nR  old.rs -> src/new.rs\n"),
            ["src/lib.rs", "new.py", "old.rs", "src/new.rs"]
        );
    }

    #[test]
    fn lines_are_kept_with_their_path() {
        for request in ["a/b.rs:12:5: error", "a/b.rs#L12-L20", "a/b.rs:12"] {
            let path = Term { kind: TermKind::Path { line: Some(12) }, text: "a/b.rs".to_owned() };
            assert_eq!(extract(request).first(), Some(&path), "{request}");
        }
        assert_eq!(paths_of("tests/test_a.py::TestA::test_b"), ["tests/test_a.py"]);
        assert!(strong_of("tests/test_a.py::TestA::test_b").contains(&"test_b".to_owned()));
    }

    #[test]
    fn names_come_with_their_parts() {
        let request = "rename parse_range and HttpClient in tree::snapshot, call flush() and go";
        assert_eq!(
            strong_of(request),
            ["parse_range", "HttpClient", "tree::snapshot", "tree", "snapshot", "flush"]
        );
        let parts = of(request, |kind| kind == TermKind::Part);
        assert_eq!(parts, ["parse", "range", "http", "client"]);
        assert_eq!(of("print sha256Digest", |kind| kind == TermKind::Part), ["digest"]);
        assert!(strong_of("e.g. this, i.e. that. Then").is_empty());
    }

    #[test]
    fn quotes_and_errors_are_taken_literally() {
        assert_eq!(
            strong_of("say \"hello there\" not `goodbye now` or \"open"),
            ["goodbye now", "hello there"]
        );
        assert_eq!(strong_of("“页码错误”"), ["页码错误"]);
        assert_eq!(
            strong_of("ValueError: page must be positive, got -1").first().unwrap(),
            "page must be positive, got"
        );
        assert_eq!(
            strong_of("error[E0433]: failed to resolve: use of undeclared type `Foo`"),
            ["Foo", "use of undeclared type", "E0433"]
        );
        assert!(strong_of("note: nothing to see here").is_empty());
    }

    #[test]
    fn common_words_are_left_out() {
        assert_eq!(
            words_of("Please fix the pagination of users, it does not work"),
            ["pagination", "user"]
        );
        assert!(words_of("what does this project do?").is_empty());
        assert_eq!(words_of("修复登录的分页"), ["登录", "分页"]);
        assert!(words_of("这个项目是做什么的").is_empty());
    }

    #[test]
    fn a_request_of_any_size_has_a_bounded_number_of_terms() {
        let request: String = (0..5000)
            .map(|n| format!("src/f{n}.rs name_{n} w{} `q {n}` ", "ö".repeat(n % 50)))
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(extract(&request).len(), MAX_PATHS + MAX_STRONG + MAX_WEAK);
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_is_the_same_each_time(request in "\\PC{0,80}|[a-z_.:/`\" 修的\n-]{0,60}") {
            let terms = extract(&request);
            for term in &terms {
                proptest::prop_assert!(!term.text.is_empty());
                term.is_in(&request);
                term.is_name(&request);
            }
            proptest::prop_assert_eq!(terms, extract(&request));
        }
    }
}
