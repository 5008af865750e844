//! Runs the same work on many items in a few threads. The caller supplies the work.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More threads do not help, because the file system is the bottleneck.
const MOST: usize = 4;

/// Runs `act` on each of `jobs`, with a thread-local value from `start`. When one fails, the others stop early. The
/// results are in no particular order.
pub(super) fn act_on_each<T: Sync, L, R: Send, E: Send>(
    jobs: &[T],
    start: impl Fn() -> L + Sync,
    act: impl Fn(&mut L, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut local = start();
        let mut done = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match act(&mut local, job) {
                Ok(result) => done.push(result),
                Err(error) => {
                    next.store(jobs.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let threads = thread::available_parallelism().map_or(2, NonZero::get).min(MOST);
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        let mut all = work()?;
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(all)
    })
}
