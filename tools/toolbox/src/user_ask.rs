//! The tool that asks the user a question.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::look::Look;
use crate::tool::{Arguments, Tool, said};

pub(crate) const TOOL: Tool = Tool::new::<Ask>(
    "user.ask",
    "Ask the user one question. Only if the request is ambiguous in a way that leads to different answers and nothing in the workspace settles it.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// A short question, with the possible choices.
    question: String,
}

impl Arguments for Ask {
    fn look(self) -> Result<Look, String> {
        Ok(Look::Ask { question: said("question", self.question)? })
    }
}
