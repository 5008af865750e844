//! A small parser for the flags of a command line.
//!
//! ```
//! use flag_parser::{parse, Flag, Spec};
//!
//! let spec = Spec::new([Flag::switch("verbose", "Say more").short('v')]);
//! let parsed = parse(&spec, &["-v", "file"]).unwrap();
//! assert!(parsed.is_set("verbose"));
//! assert_eq!(parsed.rest(), ["file"]);
//! ```

mod help;
mod parse;
mod spec;

pub use help::help;
pub use parse::{parse, ArgsError, Parsed};
pub use spec::{Flag, Spec};
