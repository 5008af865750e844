//! Takes from an answer what surrounds its diff: reasoning, fences, text, other forms. The lines of the diff are read in
//! [`crate::diff`].

pub(crate) mod blocks;
pub(crate) mod envelope;
pub(crate) mod examples;
pub(crate) mod fence;
pub(crate) mod foreign_marks;
pub(crate) mod leak;
pub(crate) mod other_forms;
pub(crate) mod regions;
pub(crate) mod translate;
