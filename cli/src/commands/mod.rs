//! One file for each command.

pub(crate) mod apply;
pub(crate) mod auth;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod memory;
pub(crate) mod mock;
pub(crate) mod patch;
pub(crate) mod policy;
pub(crate) mod prompts;
pub(crate) mod replay;
pub(crate) mod rewind;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod sessions;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod usage;
