//! A parsed answer: files with hunks, and the possible readings of each hunk. Neither files nor policy are known here.

use std::ops::Range;

use crate::diff::headers::{Name, Numbers};
use crate::diff::hunk_lines::{self, Body, HunkLine};
use crate::diff::lines::lossy_text;
use crate::plan::tolerance::Tolerance;
use crate::refusal::reasons::HunkRef;

/// One file of a diff, as described by its headers.
#[derive(Debug, Default)]
pub(crate) struct Section<'a> {
    /// The text after `diff --git `.
    pub(crate) git: Option<&'a [u8]>,
    pub(crate) old: Option<Name>,
    pub(crate) new: Option<Name>,
    pub(crate) rename_from: Option<Name>,
    pub(crate) rename_to: Option<Name>,
    pub(crate) new_file_mode: Option<&'a [u8]>,
    pub(crate) deleted_file_mode: Option<&'a [u8]>,
    /// The text after `index `.
    pub(crate) index: Option<&'a [u8]>,
    pub(crate) changes_mode: bool,
    pub(crate) copies: bool,
    pub(crate) is_binary: bool,
    pub(crate) hunks: Vec<Hunk<'a>>,
    /// The lines of the answer that it spans, from 0.
    pub(crate) span: Range<usize>,
}

/// A hunk, with the possible readings of its body, longest first.
#[derive(Debug)]
pub(crate) struct Hunk<'a> {
    pub(crate) header: &'a [u8],
    /// The line of the answer with the header, from 1.
    pub(crate) at: usize,
    pub(crate) numbers: Option<Numbers>,
    pub(crate) readings: Vec<Reading<'a>>,
}

/// A reading of a body, and the tolerance it needs.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) body: Body<'a>,
    pub(crate) tolerates: Option<Tolerance>,
}

impl Section<'_> {
    /// Returns true if `names` can be those of the section.
    pub(crate) fn awaits(&self, names: &(Option<Name>, Option<Name>)) -> bool {
        let is_bare = self.old.is_none() && self.new.is_none() && self.hunks.is_empty();
        let is_whole_file = names.0 == Some(Name::Null) || names.1 == Some(Name::Null);
        let is_renamed = self.rename_to.is_some();
        is_bare && !(is_renamed && is_whole_file) && !self.is_complete_without(names)
    }

    /// Returns true if the section creates an empty file, and `names` are those of another file, which exists.
    fn is_complete_without(&self, names: &(Option<Name>, Option<Name>)) -> bool {
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

impl<'a> Hunk<'a> {
    /// Yields the lines of each reading.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &[HunkLine<'a>]> {
        self.readings.iter().map(|reading| reading.body.as_slice())
    }

    /// Returns the lines of the longest reading.
    pub(crate) fn longest(&self) -> &[HunkLine<'a>] {
        self.bodies().next().unwrap_or_default()
    }

    /// Returns the lines of the shortest reading.
    pub(crate) fn shortest(&self) -> &[HunkLine<'a>] {
        self.bodies().last().unwrap_or_default()
    }

    /// Returns true if a reading has as many lines as the header says.
    pub(crate) fn holds(&self) -> bool {
        self.bodies().any(|body| hunk_lines::holds(body, self.numbers))
    }

    /// Returns true if every reading has old lines.
    pub(crate) fn has_old(&self) -> bool {
        self.bodies().all(|body| body.iter().any(HunkLine::is_old))
    }

    /// Returns a reference to the hunk for a mismatch; `index` counts from 0.
    pub(crate) fn reference(&self, index: usize, of: usize) -> HunkRef {
        HunkRef { index: index + 1, of, line: self.at, header: lossy_text(self.header) }
    }
}
