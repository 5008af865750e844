//! Sets of days, kept as ranges. A day is a number; the calendar is up to the caller.

mod range;
mod set;
mod text;

pub use range::DayRange;
pub use set::DaySet;
pub use text::ParseError;
