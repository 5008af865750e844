//! `deepseek auth`: the key, kept where commands cannot read it. It is never an argument, where other processes could see it.

use std::io::{self, BufRead as _, Read as _, Write as _};

use clap::{Args, Subcommand};
use front::error::{CliError, Kind};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::flags::Global;
use crate::render;
use crate::surroundings::Surroundings;

/// Keep the key for the provider.
#[derive(Debug, Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Keep a key: it is asked for, or read from standard input.
    Login,
    /// Forget the key that is kept.
    Logout,
    /// Say where the key comes from, and where requests go.
    Status,
}

/// Bytes that no key has.
const MAX_BYTES: u64 = 4 << 10;

/// Runs the command.
pub(crate) fn run(around: &Surroundings, global: &Global, args: &AuthArgs) -> Result<(), CliError> {
    match args.action {
        Action::Login => login(around),
        Action::Logout => {
            let had_one = around.key_store()?.forget().map_err(|error| unusable(&error))?;
            let said = if had_one { "the key is forgotten" } else { "no key was kept" };
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
        return Err(CliError::new(Kind::Usage, "this is not a key; nothing was changed").hint(
            "a key is one word: `deepseek auth login < FILE`, or type it when it is asked for",
        ));
    }
    let place = store.keep(key).map_err(|error| unusable(&error))?;
    render::warn(&format!("the key is kept in {place}"));
    Ok(())
}

fn status(around: &Surroundings, global: &Global) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let access = around.access(&settings, &workspace);
    for warning in &access.warnings {
        render::warn(&format!("warning: {warning}"));
    }
    render::line(&format!("requests go to {}", access.base_url));
    if access.key.is_none() {
        return Err(CliError::new(Kind::Usage, "there is no API key")
            .hint("get one at https://platform.deepseek.com/api_keys, then: deepseek auth login"));
    }
    render::line(&format!("the key is from {}", access.key_source));
    Ok(())
}

fn unusable(error: &io::Error) -> CliError {
    CliError::new(Kind::Usage, format!("the key cannot be kept or read: {error}"))
}

fn first_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(MAX_BYTES).read_line(&mut line)?;
    Ok(line)
}

/// A line from the terminal, which does not show it. Ctrl-C gives none.
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

/// A terminal that shows nothing of what is typed, until this is dropped.
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
