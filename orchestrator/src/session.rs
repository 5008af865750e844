//! What is known from one request to the next: earlier turns, memory and recordings. How a
//! single request goes belongs to [`crate::request`].

pub(crate) mod compacting;
pub mod context;
pub mod memory;
pub mod past_requests;
pub mod replay;
pub(crate) mod revisiting;
pub(crate) mod run_beginning;
pub(crate) mod turn;
