//! What of a survey is worth showing, and in which order. Pure: nothing is read, and nothing is measured.

use std::cmp::Reverse;

use super::map::{Mark, Relevance};
use super::survey::{Sought, Survey, Surveyed, is_generated, is_ordinary};
use tree::RepoPath;

/// Files in which one term is shown.
const FILES_PER_TERM: usize = 4;
/// Places in one file where one term is shown.
const PLACES_PER_FILE: usize = 2;

/// Files at the root that say what the project is made of.
const MANIFESTS: [&str; 10] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "Gemfile",
    "CMakeLists.txt",
    "Makefile",
];
const MAX_MANIFESTS: usize = 3;
/// Bytes of a README and of a manifest.
const README_BYTES: usize = 1600;
const MANIFEST_BYTES: usize = 800;

/// Places in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pick<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) places: Vec<Place>,
}

/// A line worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: usize,
    /// Whether the line defines what is sought.
    pub(super) defines: bool,
}

/// At most `most` places, files in the order in which they were chosen; none in the files of `shown`.
pub(super) fn choose<'a>(survey: &'a Survey, shown: &[RepoPath], most: usize) -> Vec<Pick<'a>> {
    let is_shown = |file: &&Surveyed| shown.contains(&file.path);
    let mut terms: Vec<&Sought> =
        survey.terms.iter().filter(|sought| tells(sought, survey)).collect();
    terms.sort_by_key(|sought| (Reverse(sought.term.weight()), sought.files, sought.bit));
    let mut picks: Vec<Pick<'a>> = Vec::new();
    let mut left = most;
    for sought in terms {
        let has_it = |file: &&Surveyed| file.marks.iter().any(|mark| mark.terms & sought.bit != 0);
        let files = survey.files.iter().filter(has_it).filter(|file| !is_shown(file));
        for file in files.take(FILES_PER_TERM) {
            for place in places(&file.marks, sought.bit) {
                if left == 0 {
                    return picks;
                }
                left -= usize::from(add(&mut picks, &file.path, place));
            }
        }
    }
    picks
}

/// With a file named, only what was taken from a program; else also a word that few files have.
fn tells(sought: &Sought, survey: &Survey) -> bool {
    let all = survey.files.len();
    let nothing_named = survey.names.files.is_empty();
    if sought.term.is_strong() {
        return sought.files > 0 && sought.files <= (all / 4).max(20);
    }
    nothing_named && sought.is_rare(all)
}

/// Where the term of `bit` is best shown: definitions before uses.
fn places(marks: &[Mark], bit: u64) -> impl Iterator<Item = Place> {
    let marks = marks.iter().filter(|mark| mark.terms & bit != 0);
    let mut places: Vec<Place> =
        marks.map(|mark| Place { line: mark.line, defines: mark.defines & bit != 0 }).collect();
    places.sort_by_key(|place| (!place.defines, place.line));
    places.into_iter().take(PLACES_PER_FILE)
}

/// Whether the place is new.
fn add<'a>(picks: &mut Vec<Pick<'a>>, path: &'a RepoPath, place: Place) -> bool {
    let Some(pick) = picks.iter_mut().find(|pick| pick.path == path) else {
        picks.push(Pick { path, places: vec![place] });
        return true;
    };
    if let Some(known) = pick.places.iter_mut().find(|known| known.line == place.line) {
        known.defines |= place.defines;
        false
    } else {
        pick.places.push(place);
        true
    }
}

/// Files that say what the project is, with the bytes they may take.
pub(super) fn introductions(survey: &Survey) -> Vec<(&RepoPath, usize)> {
    let at_root = |path: &&RepoPath| !path.as_str().contains('/');
    let paths: Vec<&RepoPath> =
        survey.files.iter().map(|file| &file.path).filter(at_root).collect();
    let find = |is: &dyn Fn(&str) -> bool| paths.iter().copied().find(|path| is(path.as_str()));
    let readme = find(&|path| path.to_lowercase().starts_with("readme"));
    let manifests = MANIFESTS.iter().filter_map(|name| find(&|path| path == *name));
    let manifests = manifests.take(MAX_MANIFESTS).map(|path| (path, MANIFEST_BYTES));
    readme.map(|path| (path, README_BYTES)).into_iter().chain(manifests).collect()
}

/// The files that have to do with the request, and all others: beside what is named, ordinary and shallow ones first.
pub(super) fn by_relevance(survey: &Survey) -> (Vec<&Surveyed>, Vec<&Surveyed>) {
    let is_relevant = |file: &&Surveyed| file.relevance != Relevance::default();
    let (relevant, mut others): (Vec<&Surveyed>, Vec<&Surveyed>) =
        survey.files.iter().partition(is_relevant);
    others.sort_by_key(|file| {
        let path = &file.path;
        let is_near = survey.names.files.iter().any(|named| named.path.parent() == path.parent());
        (!is_near, !is_ordinary(path), is_generated(path), depth(path), path)
    });
    (relevant, others)
}

/// Whether nothing in the tree answers to the request.
pub(super) fn is_vague(survey: &Survey) -> bool {
    let names = &survey.names;
    let relevant = |file: &Surveyed| file.relevance.name > 0 || file.relevance.defines > 0;
    names.files.is_empty()
        && names.directories.is_empty()
        && !survey.terms.iter().any(|sought| sought.term.is_strong() && sought.files > 0)
        && !survey.files.first().is_some_and(relevant)
}

fn depth(path: &RepoPath) -> usize {
    path.components().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named::Names;
    use crate::terms::{Term, TermKind};

    fn sought(text: &str, kind: TermKind, bit: u64, files: usize) -> Sought {
        Sought { term: Term { kind, text: text.to_owned() }, bit, files }
    }

    fn file(path: &str, marks: &[(usize, u64, u64)]) -> Surveyed {
        let marks = marks.iter().map(|&(line, terms, defines)| Mark { line, terms, defines });
        Surveyed {
            path: RepoPath::parse(path).unwrap(),
            relevance: Relevance::default(),
            marks: marks.collect(),
        }
    }

    fn survey() -> Survey {
        Survey {
            files: vec![
                file("a.rs", &[(1, 0b01, 0), (5, 0b01, 0), (9, 0b01, 0b01), (12, 0b11, 0)]),
                file("b.rs", &[(3, 0b10, 0)]),
            ],
            truncated: false,
            names: Names::default(),
            terms: vec![
                sought("often", TermKind::Word, 0b01, 1),
                sought("rare_name", TermKind::Identifier, 0b10, 2),
            ],
        }
    }

    fn lines(picks: &[Pick<'_>]) -> Vec<(String, Vec<usize>)> {
        let lines = |pick: &Pick<'_>| pick.places.iter().map(|place| place.line).collect();
        picks.iter().map(|pick| (pick.path.to_string(), lines(pick))).collect()
    }

    #[test]
    fn telling_terms_come_first_and_definitions_before_uses() {
        let survey = survey();
        let picks = choose(&survey, &[], 9);
        assert_eq!(
            lines(&picks),
            [("a.rs".to_owned(), vec![12, 9, 1]), ("b.rs".to_owned(), vec![3])]
        );
        let defining = picks.iter().flat_map(|pick| &pick.places).filter(|place| place.defines);
        assert_eq!(defining.map(|place| place.line).collect::<Vec<_>>(), [9]);
        assert_eq!(lines(&choose(&survey, &[], 2)).len(), 2);
        assert!(choose(&survey, &[], 0).is_empty());
    }

    #[test]
    fn what_is_shown_already_is_not_chosen() {
        let survey = survey();
        let shown = [RepoPath::parse("a.rs").unwrap()];
        assert_eq!(lines(&choose(&survey, &shown, 9)), [("b.rs".to_owned(), vec![3])]);
    }

    #[test]
    fn a_project_introduces_itself_at_its_root() {
        let files = ["Cargo.toml", "README.md", "a/Cargo.toml", "z.rs"].map(|path| file(path, &[]));
        let survey = Survey { files: files.to_vec(), terms: Vec::new(), ..survey() };
        let paths: Vec<&str> =
            introductions(&survey).iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["README.md", "Cargo.toml"]);
        assert!(is_vague(&survey));
        let (relevant, others) = by_relevance(&survey);
        assert!(relevant.is_empty());
        let others: Vec<&str> = others.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(others, ["Cargo.toml", "README.md", "z.rs", "a/Cargo.toml"]);
    }
}
