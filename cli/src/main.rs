//! The `deepseek` command.

fn main() {}
