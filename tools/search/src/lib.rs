//! Finds what a request is about: searches the files of a tree, and gathers the evidence that goes into a prompt.
//!
//! Everything here blocks and belongs on a blocking thread. Nothing here writes or calls a model.

mod depth;
mod evidence;
mod example;
mod excerpt;
mod fingerprint;
mod instructions;
mod items;
mod long_file;
mod look;
mod named;
mod overview;
mod packing;
mod passages;
mod rare_lines;
mod reader;
mod render;
mod spans;
mod terms;
mod text;
mod wanted;

pub use evidence::{EvidenceOptions, Spread, evidence_about, gather};
pub use fingerprint::tree_hash;
pub use instructions::{Instructions, directories_above, instruction_headings, instructions_of};
pub use items::{Evidence, EvidenceItem, ItemKind, MapLine};
pub use look::{
    Defined, DefinitionInFile, DirectoryNames, FileMatches, LookError, LookLines, Matches, Shown,
    Symbol, VisibleTree, shown_of,
};
pub use render::{BYTES_PER_TOKEN, TITLE_BYTES, Titles, estimate_tokens, render, render_stable};
pub use terms::{Term, TermKind, extract};
pub use text::{Hit, PatternError, PatternKind, SearchLimits, search};
