//! Finds the files and lines of a tree that a request is about.
//!
//! Everything here blocks and must run on a blocking thread. Nothing here writes to a tree or calls a model.

mod bm25;
mod definitions;
mod document;
mod git;
mod grammar;
mod history;
mod index;
mod kind;
mod manifest;
mod mentions;
mod patterns;
mod postings;
mod rank;
mod ranking;
mod settled;
mod stem;
mod store;
mod unsynced;
mod update;
mod words;

pub use definitions::{Definition, definitions};
pub use document::Document;
pub use index::{Condition, Index, IndexOptions, MayRead, Status};
pub use kind::{FileKind, is_generated};
pub use manifest::ManifestError;
pub use rank::{WINDOW, Window};
pub use ranking::{RankedFile, Ranking};
pub use store::StoreError;
pub use update::Updated;
