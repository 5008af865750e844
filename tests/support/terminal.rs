//! A pseudo-terminal that runs the program and types input.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::program::{Program, wait_until};

/// A program that shows nothing for this long hangs.
const HANGS: Duration = Duration::from_mins(1);

/// A terminal with a program at it. The program is killed on drop.
pub(crate) struct Terminal {
    child: std::process::Child,
    typed: File,
    /// The settings before the program was started.
    pub(crate) settings_before: Termios,
    shown: Arc<Mutex<Vec<u8>>>,
    /// The thread that reads until no process holds the terminal open.
    reads: JoinHandle<()>,
}

impl Terminal {
    /// Starts a program at a new terminal of 40 rows and 100 columns.
    pub(crate) fn start(program: &mut Program) -> Self {
        Self::start_in(program, 40, 100)
    }

    /// Like [`Self::start`], with this many rows and columns.
    pub(crate) fn start_in(program: &mut Program, rows: u16, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, size(rows, columns)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.to_bytes());
        let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let settings_before = tcgetattr(&slave).unwrap();
        let child = program.at_terminal(&slave);
        let typed = File::from(master);
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut read, heard) = (typed.try_clone().unwrap(), Arc::clone(&shown));
        let reads = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = read.read(&mut buffer) {
                heard.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, typed, settings_before, shown, reads }
    }

    /// Returns all output so far, including control sequences.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until `text` has been shown this many times.
    pub(crate) fn until(&self, text: &str, times: usize) {
        let seen =
            wait_until(HANGS, || (self.shown().matches(text).count() >= times).then_some(()));
        assert!(seen.is_some(), "{text:?} is not shown {times} times:\n{}", self.shown());
    }

    /// Waits until `text` has been shown or the program has ended.
    pub(crate) fn until_or_end(&mut self, text: &str) {
        let seen = wait_until(HANGS, || {
            (self.shown().contains(text) || self.child.try_wait().unwrap().is_some()).then_some(())
        });
        assert!(seen.is_some(), "it neither shows {text:?} nor ends:\n{}", self.shown());
    }

    /// Types `text`.
    pub(crate) fn types(&mut self, text: &str) {
        self.typed.write_all(text.as_bytes()).unwrap();
    }

    /// Returns all output from byte `at` on.
    pub(crate) fn shown_since(&self, at: usize) -> Vec<u8> {
        self.shown.lock().unwrap()[at..].to_vec()
    }

    /// Resizes the terminal and notifies the program.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        tcsetwinsize(&self.typed, size(rows, columns)).unwrap();
        self.signal(Signal::WINCH);
    }

    /// Returns the current settings of the terminal.
    pub(crate) fn settings(&self) -> Termios {
        tcgetattr(&self.typed).unwrap()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits until the program ends, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.ends()
    }

    /// Like [`Self::end`], for terminals whose output is inspected afterwards: waits until all output has been read.
    pub(crate) fn ends(&mut self) -> Option<i32> {
        let ended = wait_until(HANGS, || self.child.try_wait().unwrap());
        let ended = ended.unwrap_or_else(|| panic!("it hangs:\n{}", self.shown()));
        let is_read = wait_until(HANGS, || self.reads.is_finished().then_some(()));
        assert!(is_read.is_some(), "something still holds the terminal:\n{}", self.shown());
        ended.code()
    }
}

const fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Both fail if the program has already ended, which is the usual case.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
