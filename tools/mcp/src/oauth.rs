//! Logins at servers: who gives tokens for a server, how the user gets them, and how they are kept and renewed.
//!
//! The user approved the address of a server. Where that server leads is its word only, so it may not lead to more private
//! places than its own, and the issuer of a token is the one that was asked for it.

mod authority;
mod led;
mod listener;
mod login;
mod tokens;
mod zone;

pub(crate) use authority::Challenge;
pub use listener::RedirectListener;
pub use login::{AskedOfDevice, AskedOfUser, Login, LoginError};
pub(crate) use tokens::Tokens;
pub use tokens::{NoTokens, TokenStore};
