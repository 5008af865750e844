//! Why a diff was refused, in words for models and people. Nothing is decided here.

pub(crate) mod advice;
pub(crate) mod difference;
pub(crate) mod nearest_place;
pub(crate) mod reasons;
