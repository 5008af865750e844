//! The mechanisms of confinement. The helper applies each to itself and to what it starts.

pub(crate) mod landlock;
pub(crate) mod layers;
pub(crate) mod limits;
mod mounts;
pub(crate) mod namespaces;
pub(crate) mod seccomp;
pub(crate) mod view;
