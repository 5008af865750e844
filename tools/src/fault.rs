//! Places between two steps that must survive a crash, where a test can make this program fail or die. Not in what is shipped.
//!
//! The feature `fault-points` is on in tests only. There, the variable `DEEPSEEK_KILL_AT` is the number of the point at
//! which the process kills itself, and `armed::at` does the same for one thread.

use std::io;

/// A step was made, and the next was not begun. It is an error only where a test wants one.
#[cfg(not(any(test, feature = "fault-points")))]
#[inline]
pub const fn point() -> io::Result<()> {
    Ok(())
}

#[cfg(any(test, feature = "fault-points"))]
pub use armed::point;

#[cfg(any(test, feature = "fault-points"))]
pub mod armed {
    //! The points as tests see them.

    use std::cell::Cell;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::io;

    /// What happens at a point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Fault {
        /// The step is an error, as on a full disk.
        Fails,
        /// The thread unwinds without tidying up, as if the process died.
        Dies,
    }

    thread_local! {
        static HERE: Cell<Option<(u64, Fault)>> = const { Cell::new(None) };
    }

    /// Runs `work` with `fault` at its point number `at`, counted from zero. It says whether the point was reached.
    pub fn at<T>(at: u64, fault: Fault, work: impl FnOnce() -> T) -> (T, bool) {
        HERE.set(Some((at, fault)));
        let done = work();
        (done, HERE.take().is_none())
    }

    /// See [`super::point`].
    pub fn point() -> io::Result<()> {
        kill_if_due();
        match HERE.get() {
            None => Ok(()),
            Some((0, fault)) => {
                HERE.set(None);
                match fault {
                    Fault::Fails => Err(io::Error::from(io::ErrorKind::StorageFull)),
                    Fault::Dies => std::panic::resume_unwind(Box::new("a fault point")),
                }
            }
            Some((left, fault)) => {
                HERE.set(Some((left - 1, fault)));
                Ok(())
            }
        }
    }

    fn kill_if_due() {
        static DUE: OnceLock<Option<u64>> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let due = DUE.get_or_init(|| std::env::var("DEEPSEEK_KILL_AT").ok()?.parse().ok());
        if *due == Some(PASSED.fetch_add(1, Ordering::SeqCst)) {
            let signal = rustix::process::Signal::KILL;
            rustix::process::kill_process(rustix::process::getpid(), signal).unwrap_or_default();
        }
    }
}
