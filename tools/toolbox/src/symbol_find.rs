//! The tool that shows where a name is defined and used.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Find>(
    "symbol.find",
    "Show where a function, type or constant is defined and used.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Find {
    /// The name, such as `parse` or `Cart::total`.
    name: String,
}

impl Arguments for Find {
    fn look(self) -> Result<Look, String> {
        Ok(Look::Symbol { name: said("name", self.name)? })
    }
}
