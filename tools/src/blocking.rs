//! Work that blocks, off the runtime.

/// Does what blocks where blocking is allowed.
pub async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // It can only fail when the whole program is shutting down.
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|died| std::panic::resume_unwind(died.into_panic()))
}
