//! Logs in at a server at an address, and out: by a page in a browser, or by a code that is typed on another device. The
//! tokens are kept where the API key is, and shown nowhere.

use std::io::{self, BufRead as _, Read as _};
use std::thread;

use clap::Args;
use front::error::{CliError, CliErrorKind};
use mcp::{EntryOrigin, Login, LoginError, RedirectListener};
use serde_json::json;
use tokio::sync::oneshot;

use super::McpDesk;
use super::shown::entry_lines;
use crate::flags::OutputFormat;
use crate::render;

/// Log in at a server that is at an address.
#[derive(Debug, Args)]
pub(super) struct LoginArgs {
    /// The server's name.
    name: String,
    /// Show a code to type on another device, instead of an address to open on this one.
    #[arg(long)]
    device: bool,
    /// A right to ask for, instead of those of the server's entry; may be repeated.
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Do not ask before connecting to a server of the workspace.
    #[arg(long)]
    yes: bool,
}

/// Where a browser is sent if nothing can listen for it. The user pastes what it shows then.
const NOWHERE: &str = "http://127.0.0.1/callback";
/// The longest answer that is read, in bytes.
const MAX_BYTES: u64 = 16 << 10;

/// Logs in.
pub(super) async fn login(desk: &McpDesk<'_>, args: &LoginArgs) -> Result<(), CliError> {
    let entry = desk.entry(&args.name)?;
    let around = desk.around;
    let is_attended = around.stdin_is_terminal && around.stderr_is_terminal;
    if !(args.device || is_attended) {
        return Err(CliError::new(CliErrorKind::Denied, "a login needs you at a terminal")
            .hint("without one, log in with a code for another device: --device"));
    }
    if entry.origin == EntryOrigin::Project && desk.servers.approval(&entry).is_err() {
        for line in entry_lines(desk, &entry, &desk.servers.digest(&entry)) {
            render::warn(&line);
        }
        desk.confirm(args.yes, &args.name, "Connect to it?").await?;
    }
    let login = desk.servers.login(&entry, &args.scope).await.map_err(|error| failed(&error))?;
    let issuer = render::harmless(login.issuer());
    render::warn(&format!("{issuer} gives logins for {}", render::harmless(&entry.target())));
    let listener = if args.device { None } else { RedirectListener::open().await.ok() };
    let done = if args.device || (listener.is_none() && login.has_device_codes()) {
        by_device(&login).await
    } else {
        by_page(&login, listener).await
    };
    done.map_err(|error| failed(&error))?;
    match desk.global.output {
        OutputFormat::Text => render::print_line(&format!("logged in at `{}`", args.name)),
        OutputFormat::Json | OutputFormat::StreamJson => {
            render::json_line(&json!({ "name": args.name, "issuer": login.issuer() }));
        }
    }
    Ok(())
}

/// Logs out.
pub(super) async fn logout(desk: &McpDesk<'_>, name: &str) -> Result<(), CliError> {
    let entry = desk.entry(name)?;
    let had_one = desk.servers.logout(&entry).await.map_err(|error| failed(&error))?;
    match desk.global.output {
        OutputFormat::Text if had_one => render::print_line(&format!("logged out at `{name}`")),
        OutputFormat::Text => render::warn(&format!("there was no login at `{name}`")),
        OutputFormat::Json | OutputFormat::StreamJson => {
            render::json_line(&json!({ "name": name, "was_logged_in": had_one }));
        }
    }
    Ok(())
}

async fn by_page(login: &Login, listener: Option<RedirectListener>) -> Result<(), LoginError> {
    let redirect = listener.as_ref().map_or(NOWHERE, RedirectListener::address);
    let asked = login.ask_user(redirect).await?;
    render::warn(&format!("Open this address:\n\n{}\n", render::harmless(&asked.address)));
    render::warn("If the browser is on another machine, paste the address at which it ends here:");
    let answer = match listener {
        Some(listener) => tokio::select! {
            answer = listener.answer() => answer?,
            line = typed_line() => line?,
        },
        None => typed_line().await?,
    };
    login.finish(asked, &answer).await
}

async fn by_device(login: &Login) -> Result<(), LoginError> {
    let asked = login.ask_device().await?;
    let (address, code) = (render::harmless(&asked.address), render::harmless(&asked.code));
    render::warn(&format!("Open {address} on any device and type the code {code}"));
    if let Some(address) = &asked.address_with_code {
        render::warn(&format!("or open {}", render::harmless(address)));
    }
    login.finish_device(asked).await
}

/// Reads a line from the terminal, on a thread that is not waited for.
async fn typed_line() -> io::Result<String> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().take(MAX_BYTES).read_line(&mut line);
        tell.send(read.map(|_| line)).ok();
    });
    told.await.map_err(io::Error::other)?
}

/// Returns the failure to log in or out.
fn failed(error: &LoginError) -> CliError {
    let kind = match error {
        LoginError::Entry(..) | LoginError::Store(_) => CliErrorKind::Usage,
        LoginError::Refused(_) => CliErrorKind::NotDelivered,
        LoginError::Answer(_) | LoginError::Late => CliErrorKind::Denied,
    };
    CliError::caused(kind, error)
}
