//! What an answer is read as: files with hunks, and the ways to read each. It knows neither files nor policy.

use std::ops::Range;

use super::body::Body;
use super::header::{Name, Numbers};
use super::lines::show;
use super::refuse::HunkRef;
use super::tolerance::Tolerance;

/// One file of a diff, as its headers tell it.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// What follows `diff --git `.
    pub(super) git: Option<&'a [u8]>,
    pub(super) old: Option<Name>,
    pub(super) new: Option<Name>,
    pub(super) rename_from: Option<Name>,
    pub(super) rename_to: Option<Name>,
    pub(super) new_file_mode: Option<&'a [u8]>,
    pub(super) deleted_file_mode: Option<&'a [u8]>,
    /// What follows `index `.
    pub(super) index: Option<&'a [u8]>,
    pub(super) changes_mode: bool,
    pub(super) copies: bool,
    pub(super) is_binary: bool,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// Its lines in the answer, from 0.
    pub(super) span: Range<usize>,
}

/// One hunk, with the ways to read its body, longest first.
#[derive(Debug)]
pub(super) struct Hunk<'a> {
    pub(super) header: &'a [u8],
    /// Line of the answer the header is on, from 1.
    pub(super) at: usize,
    pub(super) numbers: Option<Numbers>,
    pub(super) readings: Vec<Reading<'a>>,
    /// How it could be read instead. Where this fits, too, neither is known to be meant.
    pub(super) rival: Option<Body<'a>>,
}

/// A way to read a body, and what it forgives.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) body: Body<'a>,
    pub(super) forgives: Option<Tolerance>,
}

impl Hunk<'_> {
    /// The hunk as a mismatch names it; `index` counts from 0.
    pub(super) fn reference(&self, index: usize, of: usize) -> HunkRef {
        HunkRef { index: index + 1, of, line: self.at, header: show(self.header) }
    }
}
