//! The grammar of a unified diff: headers, hunks, their lines and counts. No file and no policy is known here.

pub(crate) mod gutter;
pub(crate) mod headers;
pub(crate) mod hunk_lines;
pub(crate) mod lines;
pub(crate) mod parse;
pub(crate) mod parser;
pub(crate) mod sections;
