//! The user's files and git as they are: edited, committed and undone. Attacks on them are in `confinement`.

mod commit;
mod deep_trees;
mod files;
mod full_disk;
mod rewind;
mod their_git;
mod their_review;
