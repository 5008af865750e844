//! `deepseek auth`: stores the API key where commands cannot read it. The key is never an argument, which other processes
//! could see.

use std::io::{self, BufRead as _, Read as _, Write as _};

use clap::{Args, Subcommand};
use front::error::{CliError, CliErrorKind};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// Store or delete the API key, or show where it comes from.
#[derive(Debug, Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Store a key, typed at a prompt or read from standard input.
    Login,
    /// Delete the stored key.
    Logout,
    /// Show where the key comes from and where requests are sent.
    Status,
}

/// The most bytes that are read as a key.
const MAX_BYTES: u64 = 4 << 10;

/// Runs the command.
pub(crate) fn run(around: &Surroundings, global: &Global, args: &AuthArgs) -> Result<(), CliError> {
    match args.action {
        Action::Login => login(around),
        Action::Logout => {
            let had_one = around.key_store()?.forget().map_err(|error| unusable(&error))?;
            let said = if had_one { "key deleted" } else { "no key was stored" };
            render::warn(said);
            Ok(())
        }
        Action::Status => status(around, global),
    }
}

fn login(around: &Surroundings) -> Result<(), CliError> {
    let store = around.key_store()?;
    let typed = if around.stdin_is_terminal { hidden_line() } else { first_line() };
    let typed = typed.map_err(|error| unusable(&error))?;
    let key = typed.trim();
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(CliError::new(CliErrorKind::Usage, "this is not a key; nothing was changed")
            .hint(
                "a key is a single word: type it at the prompt, or `deepseek auth login < FILE`",
            ));
    }
    let place = store.keep(key).map_err(|error| unusable(&error))?;
    render::warn(&format!("key stored in {place}"));
    Ok(())
}

fn status(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let access = around.access(&settings, &workspace);
    for warning in &access.warnings {
        render::warn(&format!("warning: {warning}"));
    }
    render::print_line(&format!("requests go to {}", access.base_url));
    if access.key.is_none() {
        return Err(CliError::new(CliErrorKind::Usage, "there is no API key")
            .hint("get one at https://platform.deepseek.com/api_keys, then: deepseek auth login"));
    }
    render::print_line(&format!("the key comes from {}", access.key_source));
    Ok(())
}

fn unusable(error: &io::Error) -> CliError {
    CliError::new(CliErrorKind::Usage, format!("cannot store or read the key: {error}"))
}

fn first_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(MAX_BYTES).read_line(&mut line)?;
    Ok(line)
}

/// Reads a line from the terminal without echo. Ctrl-C returns an empty line.
fn hidden_line() -> io::Result<String> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const DELETE: u8 = 127;
    let terminal = Hidden::begin()?;
    io::stderr().write_all(b"Key: ")?;
    let mut typed = Vec::new();
    for byte in io::stdin().lock().take(MAX_BYTES).bytes() {
        match byte? {
            b'\r' | b'\n' | CTRL_D => break,
            CTRL_C => {
                typed.clear();
                break;
            }
            DELETE => drop(typed.pop()),
            byte => typed.push(byte),
        }
    }
    drop(terminal);
    io::stderr().write_all(b"\n")?;
    String::from_utf8(typed).map_err(io::Error::other)
}

/// A terminal without echo, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Flush, &modes)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        tcsetattr(io::stdin(), OptionalActions::Flush, &self.0).ok();
    }
}
