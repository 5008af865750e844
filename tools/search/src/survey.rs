//! Everything that is known of a tree about one request, before anything is chosen from it.

use std::cmp::Reverse;

use super::map::{Language, Mark, Relevance, bits};
use super::named::{Names, resolve};
use super::terms::{Term, TermKind, extract, is_surely_file};
use super::text::{any_of, in_parallel, matching_lines};
use tree::{Listed, ReadTree, RepoPath, list};

/// Lines that are remembered of one term in one file.
const MARKS_PER_TERM: usize = 4;
/// Longer lines were not written by hand and would not be shown.
const MAX_LINE_BYTES: usize = 1000;

/// A tree, seen with a request in mind.
pub(super) struct Survey {
    /// Most relevant first, then by path.
    pub(super) files: Vec<Surveyed>,
    /// Whether the tree has more files than were looked at.
    pub(super) truncated: bool,
    /// What the user named.
    pub(super) names: Names,
    /// What else the request talks about.
    pub(super) terms: Vec<Sought>,
}

/// A file that may be read.
#[derive(Debug, Clone)]
pub(super) struct Surveyed {
    pub(super) path: RepoPath,
    pub(super) relevance: Relevance,
    /// By line.
    pub(super) marks: Vec<Mark>,
}

/// A term that was searched for.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    pub(super) term: Term,
    /// Its bit in the marks.
    pub(super) bit: u64,
    /// How many files have it.
    pub(super) files: usize,
}

impl Survey {
    pub(super) fn of(
        request: &str,
        tree: &ReadTree,
        max_files: usize,
        max_file_bytes: u64,
        may_read: &dyn Fn(&RepoPath) -> bool,
    ) -> Survey {
        let listing = list(tree.root(), max_files);
        let mut files = listing.files;
        files.retain(|file| may_read(&file.path));
        let mut terms = extract(request);
        let names = resolve(&terms, tree, &files, may_read);
        terms.retain(|term| !matches!(term.kind, TermKind::Path { .. }));
        terms.extend(names.loose.iter().cloned());

        let marks = scan(tree, &files, &terms, max_file_bytes);
        let sought = count(&terms, &marks);
        let rare = sought.iter().filter(|sought| sought.is_rare(files.len()));
        let rare = rare.fold(0, |bits, sought| bits | sought.bit);
        let mut surveyed: Vec<Surveyed> = files
            .into_iter()
            .zip(marks)
            .map(|(file, marks)| {
                let named = names.names(&file.path);
                let relevance = Relevance::of(&file.path, named, &marks, &terms, rare);
                Surveyed { path: file.path, relevance, marks }
            })
            .collect();
        surveyed
            .sort_by(|a, b| (Reverse(a.relevance), &a.path).cmp(&(Reverse(b.relevance), &b.path)));
        Survey { files: surveyed, truncated: listing.truncated, names, terms: sought }
    }
}

impl Sought {
    /// Whether few enough of `all` files have it for it to say something.
    pub(super) fn is_rare(&self, all: usize) -> bool {
        self.files > 0 && self.files <= (all / 10).max(3)
    }
}

/// How many files have each term.
fn count(terms: &[Term], marks: &[Vec<Mark>]) -> Vec<Sought> {
    let has = |bit: u64, marks: &[Mark]| marks.iter().any(|mark| mark.terms & bit != 0);
    bits(terms)
        .map(|(bit, term)| Sought {
            term: term.clone(),
            bit,
            files: marks.iter().filter(|marks| has(bit, marks)).count(),
        })
        .collect()
}

/// Where the terms stand, for each of `files`.
fn scan(tree: &ReadTree, files: &[Listed], terms: &[Term], max_bytes: u64) -> Vec<Vec<Mark>> {
    let in_text = |term: &&Term| !matches!(term.kind, TermKind::Path { .. });
    let texts: Vec<&str> = terms.iter().filter(in_text).map(|term| term.text.as_str()).collect();
    if texts.is_empty() {
        return vec![Vec::new(); files.len()];
    }
    let matcher = match any_of(&texts) {
        Ok(matcher) => matcher,
        Err(error) => {
            tracing::debug!(%error, "the terms of the request cannot be searched for");
            return vec![Vec::new(); files.len()];
        }
    };
    in_parallel(files, |searcher, file| {
        let mut marks = Marks::default();
        if !is_generated(&file.path) {
            let language = Language::of(&file.path);
            matching_lines(searcher, &matcher, tree, file, max_bytes, |line, text| {
                if text.len() <= MAX_LINE_BYTES {
                    marks.add(line, text, language, terms);
                }
                true
            });
        }
        marks.marks
    })
}

/// Whether a program wrote the file: it repeats what is said elsewhere.
pub(super) fn is_generated(path: &RepoPath) -> bool {
    let name = path.name();
    [".lock", "-lock.json", "-lock.yaml", ".min.js", ".min.css", ".map", ".svg", ".sum", ".snap"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Whether people write such files by hand.
pub(super) fn is_ordinary(path: &RepoPath) -> bool {
    is_surely_file(path.as_str()) && !is_generated(path)
}

#[derive(Default)]
struct Marks {
    marks: Vec<Mark>,
    /// How often each term was marked, by the number of its bit.
    times: Vec<usize>,
}

impl Marks {
    fn add(&mut self, line: usize, text: &str, language: Option<Language>, terms: &[Term]) {
        self.times.resize(terms.len(), 0);
        let mut mark = Mark { line, terms: 0, defines: 0 };
        let mut is_news = false;
        for ((bit, term), times) in bits(terms).zip(&mut self.times) {
            if term.is_in(text) {
                mark.terms |= bit;
                *times += 1;
                is_news |= *times <= MARKS_PER_TERM;
            }
        }
        if mark.terms == 0 {
            return;
        }
        if let Some(name) = language.and_then(|language| language.defined_on(text)) {
            let defined = bits(terms).filter(|(_, term)| term.is_in(&name));
            mark.defines = defined.fold(0, |bits, (bit, _)| bits | bit);
        }
        // A definition is worth more than the uses before it, but a file of a thousand is not remembered whole.
        let many = self.marks.len() >= 2 * MARKS_PER_TERM * terms.len();
        if is_news || (mark.defines != 0 && !many) {
            self.marks.push(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn survey(request: &str, files: &[(&str, String)]) -> Survey {
        let home = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = ReadTree::open(home.path()).unwrap();
        Survey::of(request, &tree, 100, 100_000, &|path| path.as_str() != "secret.rs")
    }

    fn order(survey: &Survey) -> Vec<&str> {
        survey.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn files_are_ordered_by_what_they_have_to_do_with_it() {
        let uses = "fn main() { parse_range(); }\n".to_owned();
        let defines = "// text\nfn parse_range() {}\n".to_owned();
        let survey = survey(
            "`parse_range` is wrong, see z.rs",
            &[
                ("a.rs", uses.clone()),
                ("b.rs", defines.clone()),
                ("c.rs", "nothing".to_owned()),
                ("secret.rs", defines),
                ("x.lock", uses),
                ("z.rs", String::new()),
            ],
        );
        assert_eq!(order(&survey), ["z.rs", "b.rs", "a.rs", "c.rs", "x.lock"]);
        let sought = survey.terms.iter().find(|sought| sought.term.text == "parse_range").unwrap();
        assert_eq!(sought.files, 2);
        let marks = &survey.files.get(1).unwrap().marks;
        let mark = marks.first().unwrap();
        assert_eq!((mark.line, mark.defines & sought.bit, marks.len()), (2, sought.bit, 1));
    }

    #[test]
    fn a_common_word_does_not_hide_a_rare_one() {
        let text = format!("{}needle\nfn pagination() {{}}\n", "pagination\n".repeat(1000));
        let survey = survey("pagination of the \"needle\"", &[("a.rs", text)]);
        let file = survey.files.first().unwrap();
        let lines: Vec<usize> = file.marks.iter().map(|mark| mark.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 1001, 1002]);
    }
}
