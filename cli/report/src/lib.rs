//! A session as a self-contained HTML page, from its recorded events alone. Pure: whoever asks for the page reads what the
//! events refer to, and writes the page.

mod calls;
mod mission;
mod page;

pub use page::{PageSources, session_page};
