//! The configuration: its schema, layers and defaults.
//!
//! This crate resolves values and records where each came from. It does not act on any of them.

pub mod access;
mod guard;
mod keys;
mod layers;
mod lists;
mod misfit;
mod other_names;
mod part;
mod projects;
mod schema;
mod setting;

pub use keys::split_key;
pub use layers::{
    DEFAULTS, FileText, Inputs, Settings, WorkspaceTrust, parse_value, recorded, resolve_layers,
    to_record,
};
pub use lists::BELOW;
pub use other_names::{named_here, other_names};
pub use part::defaults_of;
pub use projects::{alternatives, made_beside, root_manifests};
pub use schema::*;
pub use setting::{ConfigError, Source};
