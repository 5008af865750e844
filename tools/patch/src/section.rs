//! A parsed answer: files with hunks, and the possible readings of each hunk. Neither files nor policy are known here.

use std::ops::Range;

use super::body::Body;
use super::header::{Name, Numbers};
use super::lines::show;
use super::refuse::HunkRef;
use super::tolerance::Tolerance;

/// One file of a diff, as described by its headers.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// The text after `diff --git `.
    pub(super) git: Option<&'a [u8]>,
    pub(super) old: Option<Name>,
    pub(super) new: Option<Name>,
    pub(super) rename_from: Option<Name>,
    pub(super) rename_to: Option<Name>,
    pub(super) new_file_mode: Option<&'a [u8]>,
    pub(super) deleted_file_mode: Option<&'a [u8]>,
    /// The text after `index `.
    pub(super) index: Option<&'a [u8]>,
    pub(super) changes_mode: bool,
    pub(super) copies: bool,
    pub(super) is_binary: bool,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// The lines of the answer that it spans, from 0.
    pub(super) span: Range<usize>,
}

/// A hunk, with the possible readings of its body, longest first.
#[derive(Debug)]
pub(super) struct Hunk<'a> {
    pub(super) header: &'a [u8],
    /// The line of the answer with the header, from 1.
    pub(super) at: usize,
    pub(super) numbers: Option<Numbers>,
    pub(super) readings: Vec<Reading<'a>>,
}

/// A reading of a body, and the tolerance it needs.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) body: Body<'a>,
    pub(super) tolerates: Option<Tolerance>,
}

impl Section<'_> {
    /// Returns true if the section creates an empty file, and `names` are those of another file, which exists.
    pub(super) fn is_complete_without(&self, names: &(Option<Name>, Option<Name>)) -> bool {
        let (Some(git), Some(_)) = (self.git, self.new_file_mode) else { return false };
        let (Some(Name::Path(old)), Some(Name::Path(new))) = names else { return false };
        let is_empty = self.index.is_none_or(|index| {
            let hash = memchr::memmem::find(index, b"..").and_then(|at| index.get(at + 2..));
            hash.is_some_and(|hash| hash.starts_with(b"e69de29"))
        });
        let bare = |name: &'_ [u8]| {
            let name = name.trim_ascii_end();
            name.strip_prefix(b"a/").or(name.strip_prefix(b"b/")).unwrap_or(name).to_vec()
        };
        let (old, new) = (bare(old), bare(new));
        is_empty && old == new && memchr::memmem::find(git, &old).is_none()
    }
}

impl Hunk<'_> {
    /// Returns a reference to the hunk for a mismatch; `index` counts from 0.
    pub(super) fn reference(&self, index: usize, of: usize) -> HunkRef {
        HunkRef { index: index + 1, of, line: self.at, header: show(self.header) }
    }
}
