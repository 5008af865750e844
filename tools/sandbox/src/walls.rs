//! The walls themselves, each put up by the helper for itself and what it starts.

pub(crate) mod landlock;
pub(crate) mod limits;
pub(crate) mod namespaces;
pub(crate) mod seccomp;
pub(crate) mod view;
