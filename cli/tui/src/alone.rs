//! Visits outside of a conversation: a session is picked, or a change reviewed. Keys in, rows of a screen of its own out.

use actors::publisher::Answer;
use actors::workspace::Taken;
use front::error::{CliError, Kind};
use front::paint::Paint;
use tokio::signal::unix::{SignalKind, signal};

use crate::keys::Keys;
use crate::picker::{KeptSession, Picker};
use crate::screen::whole;
use crate::terminal::{Terminal, visit, write};
use crate::visit::{Does, Review, Visit};

/// Lets the user choose one of these sessions, newest first: its id; none when the user does not want any.
pub async fn pick(kept: Vec<KeptSession>, paint: Paint) -> Result<Option<String>, CliError> {
    let picked = alone(Visit::Sessions(Picker::new(kept)), paint).await;
    match picked.map_err(|error| error.hint("name the session: deepseek -r ID"))? {
        Does::Resumes(id) => Ok(Some(id)),
        Does::Stays | Does::Leaves | Does::Answers(_) => Ok(None),
    }
}

/// Lets the user go through a painted diff file by file: what is answered; none when the user goes back, or it is no diff.
pub async fn review(diff: &str, taken: Taken, paint: Paint) -> Result<Option<Answer>, CliError> {
    let Some(review) = Review::of(diff, taken) else { return Ok(None) };
    match alone(Visit::Review(review), paint).await? {
        Does::Answers(answer) => Ok(Some(answer)),
        Does::Stays | Does::Leaves | Does::Resumes(_) => Ok(None),
    }
}

/// Shows a visit until a key ends it. The terminal is as it was before when this is dropped.
async fn alone(mut shown: Visit, paint: Paint) -> Result<Does, CliError> {
    let gone = |error: std::io::Error| CliError::caused(Kind::Internal, &error);
    let mut resized = signal(SignalKind::window_change()).map_err(gone)?;
    let (mut terminal, typed) = Terminal::enter().map_err(gone)?;
    let mut keys = Keys::default();
    let mut pressed = keys.feed(&typed);
    visit(true);
    loop {
        let size = Terminal::size();
        for key in pressed {
            match shown.key(&key, size) {
                Does::Stays => {}
                ended @ (Does::Leaves | Does::Answers(_) | Does::Resumes(_)) => return Ok(ended),
            }
        }
        write(&whole(&shown.rows(size, paint), size)).map_err(gone)?;
        let patience = keys.patience();
        let wait = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        pressed = tokio::select! {
            typed = terminal.read() => keys.feed(&typed.map_err(gone)?),
            () = wait => keys.lapse(),
            _ = resized.recv() => Vec::new(),
        };
    }
}
