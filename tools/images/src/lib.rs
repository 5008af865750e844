//! Images for models: recognized by their content, decoded in a separate process, shrunk to fit.
//!
//! A decoder reads what others have written, so it runs in a process that has isolated itself, with little memory and
//! time. This process only compares the first bytes.

mod fit;
mod kind;
mod worker;

pub use fit::{FittedImage, ImageBounds, ImageError, MAX_BASE64_BYTES, base64};
pub use kind::{HEAD_BYTES, ImageKind};
pub use worker::{fit, worker};
