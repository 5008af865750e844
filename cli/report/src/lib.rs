//! A session or an evaluation as a self-contained HTML page, from what is recorded of it alone. Pure: whoever asks for the page
//! reads what the records refer to, and writes the page.

mod calls;
mod cases;
mod evaluation;
mod figures;
mod markup;
mod mission;
mod page;
mod variants;

pub use evaluation::{EvalPageSources, evaluation_page};
pub use page::{PageSources, session_page};
