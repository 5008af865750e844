//! The tool that calls a tool of a server by its name, where there are too many to offer them all.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::look::Look;
use crate::server_tool::is_server_tool;
use crate::tool::{Arguments, Tool};

pub(crate) const TOOL: Tool =
    Tool::new::<Call>("tool.call", "Call a tool that tool_find has found, by its name.");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Call {
    /// The name of the tool.
    name: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Arguments for Call {
    fn look(self) -> Result<Look, String> {
        if !is_server_tool(&self.name) {
            return Err(format!(
                "`{}` is no tool that tool_find finds; call it directly",
                self.name
            ));
        }
        let arguments = Value::Object(self.arguments).to_string();
        Ok(Look::ServerTool { name: self.name, arguments })
    }
}
