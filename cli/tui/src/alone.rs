//! A session is picked before a conversation begins: keys in, rows of a screen of its own out.

use front::error::{CliError, Kind};
use front::paint::Paint;

use crate::keys::Keys;
use crate::picker::{KeptSession, Picker};
use crate::screen::whole;
use crate::terminal::{Terminal, visit, write};
use crate::visit::Does;

/// Lets the user choose one of these, newest first: its id; none when the user does not want any.
pub async fn pick(kept: Vec<KeptSession>, paint: Paint) -> Result<Option<String>, CliError> {
    let gone = |error: std::io::Error| {
        CliError::caused(Kind::Internal, &error).hint("name the session: deepseek -r ID")
    };
    let (mut terminal, typed) = Terminal::enter().map_err(gone)?;
    let (mut picker, mut keys) = (Picker::new(kept), Keys::default());
    let mut pressed = keys.feed(&typed);
    visit(true);
    loop {
        for key in pressed {
            match picker.key(&key) {
                Does::Resumes(id) => return Ok(Some(id)),
                Does::Leaves => return Ok(None),
                Does::Stays | Does::Answers(_) => {}
            }
        }
        write(&whole(&picker.rows(Terminal::size(), paint), Terminal::size())).map_err(gone)?;
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
        };
    }
}
