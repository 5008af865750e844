//! Finds the files and lines of a tree that a request is about.
//!
//! Everything here blocks and must run on a blocking thread. Nothing here writes to a tree or calls a model.

mod defined;
mod index;
mod ranked;
mod stored;

pub use defined::definitions::{Definition, definitions_of_file};
pub use defined::document::Document;
pub use defined::kind::{FileKind, is_generated, is_hidden};
pub use index::{Condition, Index, IndexOptions, IndexStatus, MayRead};
pub use ranked::rank::{WINDOW, Window};
pub use ranked::ranking::{RankedFile, Ranking};
pub use stored::manifest::ManifestError;
pub use stored::store::StoreError;
pub use stored::update::Updated;
