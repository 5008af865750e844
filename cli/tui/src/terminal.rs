//! The terminal itself: raw input, output, and the guarantee that its settings are restored, also after a panic.

use std::fmt;
use std::io::{self, Write as _};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc as blocking};
use std::thread;

use nix::sys::signal::{Signal, raise};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use tokio::sync::mpsc;

use crate::conversation::AlternateScreen;
use crate::keys::{PASTE_END, PASTE_START};
use crate::screen::ScreenSize;

/// Enables bracketed paste.
const BEGIN: &str = "\x1b[?2004h";
/// Disables everything that is ever enabled, shows the cursor, and ends an unfinished frame.
const END: &str = "\x1b[?2026l\x1b[?7h\x1b[?2004l\x1b[?25h\x1b[0m";

/// Switches to the alternate screen and back, with the mouse released.
const VISIT: &str = "\x1b[?1049h\x1b[?25l";
const RETURN: &str = "\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l";

/// Makes the terminal report the buttons of the mouse, which include its wheel.
const CAPTURE: &str = "\x1b[?1000h\x1b[?1006h";

/// True while the alternate screen is shown.
static IS_AWAY: AtomicBool = AtomicBool::new(false);

/// The settings of the terminal before it was taken; `None` while it is not taken.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The settings of the terminal before it was lent without echo; `None` while it is not.
static ECHOING: Mutex<Option<Termios>> = Mutex::new(None);

/// Text that was typed at a question and is not its answer.
static GIVEN_BACK: Mutex<String> = Mutex::new(String::new());

/// True while our panic hook is installed, which restores the terminal before the panic is printed.
static IS_GUARDED: AtomicBool = AtomicBool::new(false);

/// The terminal, held until this is dropped.
pub(crate) struct HeldTerminal {
    /// Asks the thread to wait for input.
    polls: blocking::SyncSender<()>,
    /// Receives what the thread saw.
    seen: mpsc::Receiver<Seen>,
    /// True if the thread was asked and has not replied.
    is_polling: bool,
    /// True if another [`Terminal`] had lent the terminal when this one took it.
    is_nested: bool,
}

/// What the thread saw on the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// There is something to read.
    Input,
    /// The terminal is gone.
    End,
}

impl fmt::Debug for HeldTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}

impl HeldTerminal {
    /// Takes the terminal, and returns what was typed before. A panic of this thread restores the terminal before it is printed.
    pub(crate) fn enter() -> io::Result<(Self, Vec<u8>)> {
        let (polls, polled) = blocking::sync_channel(1);
        let (sender, seen) = mpsc::channel(1);
        // The thread polls but does not read, so that it takes no input from a program that the terminal is lent to. It ends with
        // the process.
        thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while polled.recv().is_ok() && sender.blocking_send(wait_for_input()).is_ok() {}
        })?;
        let is_nested = IS_GUARDED.swap(true, Ordering::Relaxed);
        let terminal = Self { polls, seen, is_polling: false, is_nested };
        let typed = Self::take()?;
        if is_nested {
            return Ok((terminal, typed));
        }
        let previous_hook = panic::take_hook();
        let ours = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            // Panics of other threads are reported by their supervisors; a message here would break the live rows.
            if thread::current().id() == ours {
                restore();
                previous_hook(info);
            } else {
                tracing::error!("{info}");
            }
        }));
        Ok((terminal, typed))
    }

    /// Takes the terminal again after [`Self::lend`], and returns what was typed in the meantime and not read.
    pub(crate) fn take() -> io::Result<Vec<u8>> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ours = match &*before {
            // The shell changed the settings when it stopped the program.
            Some(settings) => settings.clone(),
            None => before.insert(tcgetattr(rustix::stdio::stdin())?).clone(),
        };
        drop(before);
        ours.input_modes -= InputModes::ICRNL
            | InputModes::INLCR
            | InputModes::IGNCR
            | InputModes::ISTRIP
            | InputModes::IXON;
        ours.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        // A read returns immediately with what is available.
        ours.special_codes[SpecialCodeIndex::VMIN] = 0;
        ours.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &ours)?;
        write_to_terminal(BEGIN)?;
        let mut buffer = [0; 4096];
        let count = rustix::io::read(rustix::stdio::stdin(), &mut buffer)?;
        let mut new = buffer.get(..count).unwrap_or_default().to_vec();
        // While the terminal was not raw, it translated the bytes of Enter and Ctrl-D.
        for byte in &mut new {
            *byte = match *byte {
                b'\n' => b'\r',
                b'\0' => b'\x04',
                other => other,
            };
        }
        let kept = std::mem::take(&mut *GIVEN_BACK.lock().unwrap_or_else(PoisonError::into_inner));
        let mut typed =
            if kept.is_empty() { kept } else { format!("{PASTE_START}{kept}{PASTE_END}") }
                .into_bytes();
        typed.append(&mut new);
        Ok(typed)
    }

    /// Restores the settings of the terminal, for another program to use it.
    pub(crate) fn lend() {
        restore();
    }

    /// Like [`Self::lend`], to a command that only prints: what is typed meanwhile is not echoed into its output.
    pub(crate) fn lend_without_echo() -> io::Result<()> {
        restore();
        let settings = tcgetattr(rustix::stdio::stdin())?;
        let mut silent = settings.clone();
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &silent)?;
        *ECHOING.lock().unwrap_or_else(PoisonError::into_inner) = Some(settings);
        Ok(())
    }

    /// Stops the process as the shell does on Ctrl-Z, until the shell continues it. Returns what was typed in the meantime.
    pub(crate) fn suspend() -> io::Result<Vec<u8>> {
        Self::lend();
        // The signal is delivered before `raise` returns, so the terminal is not taken back too early.
        raise(Signal::SIGTSTP)?;
        Self::take()
    }

    /// Waits for input and returns it; an error if the terminal is gone. Cancel safe.
    pub(crate) async fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 4096];
        loop {
            if !self.is_polling {
                self.polls.send(()).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                self.is_polling = true;
            }
            let seen = self.seen.recv().await;
            self.is_polling = false;
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(0) if seen != Some(Seen::Input) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                // The input was read by the program that the terminal was lent to.
                Ok(0) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(count) => return Ok(buffer.get(..count).unwrap_or_default().to_vec()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the current size, or 80 × 24 if it is unknown.
    pub(crate) fn size() -> ScreenSize {
        const DEFAULT: ScreenSize = ScreenSize { columns: 80, rows: 24 };
        match tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                ScreenSize { columns: size.ws_col, rows: size.ws_row }
            }
            Ok(_) | Err(_) => DEFAULT,
        }
    }
}

impl Drop for HeldTerminal {
    fn drop(&mut self) {
        restore();
        if !self.is_nested {
            IS_GUARDED.store(false, Ordering::Relaxed);
            if !thread::panicking() {
                drop(panic::take_hook());
            }
        }
    }
}

/// Makes the terminal echo what is typed, for a program that reads lines, if a conversation has lent it without echo.
pub fn restore_echo() {
    let settings = ECHOING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(settings) = settings {
        // If the terminal is gone, nothing is typed.
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &settings).ok();
    }
}

/// Gives text to the next [`Terminal::take`], as a paste, so that it is kept but not acted on.
pub(crate) fn give_back(text: &str) {
    GIVEN_BACK.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
}

/// Waits until there is something to read.
fn wait_for_input() -> Seen {
    let stdin = rustix::stdio::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut ready, None) {
        Ok(_)
            if ready.iter().any(|it| it.revents().intersects(PollFlags::HUP | PollFlags::ERR)) =>
        {
            Seen::End
        }
        // An interrupted poll also counts: the read then finds nothing, and polls again.
        Ok(_) | Err(_) => Seen::Input,
    }
}

/// Writes and flushes.
pub(crate) fn write_to_terminal(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Switches to the alternate screen, as it is allowed.
pub(crate) fn visit(screen: AlternateScreen) {
    if screen.is_allowed() && !IS_AWAY.swap(true, Ordering::Relaxed) {
        // If the terminal is gone, the next write reports it.
        write_to_terminal(VISIT).ok();
        if screen == AlternateScreen::WithMouse {
            write_to_terminal(CAPTURE).ok();
        }
    }
}

/// Switches back from the alternate screen.
pub(crate) fn leave() {
    if IS_AWAY.swap(false, Ordering::Relaxed) {
        write_to_terminal(RETURN).ok();
    }
}

/// Returns true while the alternate screen is shown.
pub(crate) fn is_away() -> bool {
    IS_AWAY.load(Ordering::Relaxed)
}

/// Restores the settings that the terminal had. Errors are ignored: the terminal may be gone.
fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        leave();
        write_to_terminal(END).ok();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &before).ok();
    }
}
