//! The terminal itself: keys as they are pressed, bytes as they are written, and its own settings back whatever happens.

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

use crate::screen::Size;

/// Pastes come between marks.
const BEGIN: &str = "\x1b[?2004h";
/// Everything that is ever switched on is off, the cursor is there, and a frame that was begun is ended.
const END: &str = "\x1b[?2026l\x1b[?7h\x1b[?2004l\x1b[?25h\x1b[0m";

/// To a screen of its own, and back to what stood there before.
const VISIT: &str = "\x1b[?1049h\x1b[?25l";
const RETURN: &str = "\x1b[?25h\x1b[?1049l";

/// Whether a screen of its own is shown.
static IS_AWAY: AtomicBool = AtomicBool::new(false);

/// The settings of the terminal before it was ours, while it is.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether a panic is told only after the terminal was given back.
static IS_GUARDED: AtomicBool = AtomicBool::new(false);

/// The terminal, ours until this is dropped.
pub(crate) struct Terminal {
    /// Asks whether there is something to read.
    asks: blocking::SyncSender<()>,
    /// Told when there is.
    told: mpsc::Receiver<Seen>,
    is_asked: bool,
    /// Whether it was taken while it was lent, by what it was lent to.
    is_within: bool,
}

/// What is seen of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// There is something to read.
    Input,
    /// The terminal is gone.
    End,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}

impl Terminal {
    /// Takes the terminal, with what was typed before. A panic of this thread gives it back before it is told.
    pub(crate) fn enter() -> io::Result<(Self, Vec<u8>)> {
        let (asks, asked) = blocking::sync_channel(1);
        let (tell, told) = mpsc::channel(1);
        // It only looks: what is typed while the terminal is lent is not taken from whoever has it. It ends with the process.
        thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || while asked.recv().is_ok() && tell.blocking_send(look()).is_ok() {})?;
        let is_within = IS_GUARDED.swap(true, Ordering::Relaxed);
        let terminal = Self { asks, told, is_asked: false, is_within };
        let typed = Self::take()?;
        if is_within {
            return Ok((terminal, typed));
        }
        let told_before = panic::take_hook();
        let ours = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            // Others are caught by their supervisors, which tell of it; a message would tear the live rows.
            if thread::current().id() == ours {
                give_back();
                told_before(info);
            } else {
                tracing::error!("{info}");
            }
        }));
        Ok((terminal, typed))
    }

    /// Takes the terminal again, after [`Self::lend`], with what was typed meanwhile and read by no one.
    pub(crate) fn take() -> io::Result<Vec<u8>> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ours = match &*before {
            // They were taken away from us, by a shell that stopped the program.
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
        // A read never waits: what is there is taken.
        ours.special_codes[SpecialCodeIndex::VMIN] = 0;
        ours.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &ours)?;
        write(BEGIN)?;
        let mut buffer = [0; 4096];
        let count = rustix::io::read(rustix::stdio::stdin(), &mut buffer)?;
        let mut typed = buffer.get(..count).unwrap_or_default().to_vec();
        // While the terminal was not ours, it made other bytes of what the Enter key and Ctrl-D send.
        for byte in &mut typed {
            *byte = match *byte {
                b'\n' => b'\r',
                b'\0' => b'\x04',
                other => other,
            };
        }
        Ok(typed)
    }

    /// Gives the terminal back for a while.
    pub(crate) fn lend() {
        give_back();
    }

    /// Stops the program, as its shell would, until the shell lets it go on.
    pub(crate) fn suspend() -> io::Result<Vec<u8>> {
        Self::lend();
        // It is delivered to this thread before it returns, so nothing is taken back too early.
        raise(Signal::SIGTSTP)?;
        Self::take()
    }

    /// What was typed. Empty when nothing was; an error when the terminal is gone. Nothing is lost when this is dropped before.
    pub(crate) async fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 4096];
        loop {
            if !self.is_asked {
                self.asks.send(()).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                self.is_asked = true;
            }
            let seen = self.told.recv().await;
            self.is_asked = false;
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(0) if seen != Some(Seen::Input) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                // It was taken while the terminal was lent.
                Ok(0) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(count) => return Ok(buffer.get(..count).unwrap_or_default().to_vec()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How large it is now.
    pub(crate) fn size() -> Size {
        const USUAL: Size = Size { columns: 80, rows: 24 };
        match tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: size.ws_col, rows: size.ws_row }
            }
            Ok(_) | Err(_) => USUAL,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
        if !self.is_within {
            IS_GUARDED.store(false, Ordering::Relaxed);
            if !thread::panicking() {
                drop(panic::take_hook());
            }
        }
    }
}

/// Waits until there is something to read.
fn look() -> Seen {
    let stdin = rustix::stdio::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut ready, None) {
        Ok(_)
            if ready.iter().any(|it| it.revents().intersects(PollFlags::HUP | PollFlags::ERR)) =>
        {
            Seen::End
        }
        // Or it was interrupted, and is looked at again.
        Ok(_) | Err(_) => Seen::Input,
    }
}

/// Writes at once.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Goes to a screen of its own, or comes back. Whether it was not there.
pub(crate) fn visit(is_wanted: bool) -> bool {
    let is_new = IS_AWAY.swap(is_wanted, Ordering::Relaxed) != is_wanted;
    if is_new {
        // A terminal that is gone shows nothing; the next write tells.
        write(if is_wanted { VISIT } else { RETURN }).ok();
    }
    is_new
}

/// Whether a screen of its own is shown.
pub(crate) fn is_away() -> bool {
    IS_AWAY.load(Ordering::Relaxed)
}

/// Puts the settings back that the terminal had. A terminal that is gone needs none.
fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        visit(false);
        write(END).ok();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &before).ok();
    }
}
