//! Which file, and which operation on it, a header means, and which sections can wait. No file is read here.

pub(crate) mod put_aside;
pub(crate) mod resolve;
