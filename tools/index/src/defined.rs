//! What one file contains: its definitions, its words and its purpose. No other file, and no request, is known here.

pub(crate) mod definitions;
pub(crate) mod document;
pub(crate) mod grammar;
pub(crate) mod kind;
mod languages;
