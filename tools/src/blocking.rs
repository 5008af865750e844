//! Runs blocking work off the async runtime.

/// Runs `work` on a thread that may block, and returns its result.
pub async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // This fails only when the whole program is shutting down.
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|died| std::panic::resume_unwind(died.into_panic()))
}
