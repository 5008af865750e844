//! The fake DeepSeek: a server on loopback that validates, caches, fails and answers like the real one, following a script.
//!
//! It is not a model: answers come from the script or from a function of the request.

mod answer;
mod behaviour;
mod cache;
mod content;
mod dialect;
mod http;
mod options;
mod play;
mod refusal;
mod render;
mod request;
mod route;
mod schema;
mod script;
mod server;
mod state;
mod validate;

pub use behaviour::Behaviour;
pub use options::{CacheMode, Options, ReasoningCheck};
pub use request::{Exchange, ReceivedRequest};
pub use script::{
    Answerer, Replies, Script, ScriptError, ScriptedCall, ScriptedReply, UsageOverride,
};
pub use server::{Server, ServerError};

#[cfg(test)]
mod docs;
#[cfg(test)]
mod tests;
