//! Fault points: places between two steps that must survive a crash, where a test can make the program fail or die.
//! Releases do
//! not contain them.
//! Only tests enable the feature `fault-points`. With it, the process kills itself at the point whose number is in the
//! variable `DEEPSEEK_KILL_AT`; `armed::at` injects a fault into the current thread only.

use std::io;

/// Marks that a step is complete and the next has not begun. Fails only where a test injects a fault.
#[cfg(not(any(test, feature = "fault-points")))]
#[inline]
pub const fn point() -> io::Result<()> {
    Ok(())
}

#[cfg(any(test, feature = "fault-points"))]
pub use armed::point;

#[cfg(any(test, feature = "fault-points"))]
pub mod armed {
    //! Fault points in test builds.

    use std::cell::Cell;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::io;

    /// What happens at a fault point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Fault {
        /// The point returns an error, as on a full disk.
        Fails,
        /// The thread unwinds without cleaning up, as if the process had died.
        Dies,
    }

    thread_local! {
        static HERE: Cell<Option<(u64, Fault)>> = const { Cell::new(None) };
    }

    /// Runs `work` with `fault` armed at its point number `at`, counted from zero. Also returns whether that point was
    /// reached.
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
