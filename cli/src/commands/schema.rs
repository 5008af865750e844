//! `deepseek schema`: the JSON Schema of what the program prints for other programs.

use clap::Args;

use crate::render;

/// Print the JSON Schema of journal lines, of --output stream-json, and of a failure in JSON.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {}

/// Made of the events' source by a test.
const SCHEMA: &str = include_str!("../../../docs/events.schema.json");

/// Runs the command.
pub(crate) fn run() {
    render::text(SCHEMA);
}
