//! `deepseek schema`: the JSON Schema of the program's machine-readable output.

use clap::Args;

use crate::render;

/// Print the JSON Schema of events and errors.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {}

/// Covers journal lines, `--output stream-json` and errors. Generated from the source of the events by a test.
const SCHEMA: &str = include_str!("../../../docs/events.schema.json");

/// Runs the command.
pub(crate) fn run() {
    render::text(SCHEMA);
}
