//! Teams at work, from a request to its outcome: real actors, a real directory, and a model of one's own.

mod isolation_tests;
mod order_tests;
mod testing;
