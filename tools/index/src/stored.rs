//! The index on disk: its files, how they are brought up to date, and whether they are intact. Nothing is ranked here.

pub(crate) mod manifest;
pub(crate) mod postings;
pub(crate) mod settled;
pub(crate) mod store;
pub(crate) mod unsynced;
pub(crate) mod update;
