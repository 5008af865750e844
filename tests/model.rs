//! The exchange with models and their provider: prompts, tools, routing and faults.
//! What a request makes of the answers is in `requests`.

mod dialects;
mod dialogue;
mod faults;
mod networks;
mod odd_answers;
mod own_tools;
mod prompts;
mod routing;
mod servers;
mod tool_calls;
mod trials;
mod waits;
