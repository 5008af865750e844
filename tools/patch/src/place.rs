//! Where a hunk belongs in a file, and the new bytes. Paths, and other files, are not known here.

pub(crate) mod already_applied;
pub(crate) mod compare;
pub(crate) mod copied_numbers;
pub(crate) mod doubts;
pub(crate) mod edits;
pub(crate) mod left_behind;
pub(crate) mod locate;
pub(crate) mod new_file;
pub(crate) mod old_whitespace;
pub(crate) mod rewrite;
pub(crate) mod witnesses;
