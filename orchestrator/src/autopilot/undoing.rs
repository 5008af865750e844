//! Undoes a step that was not delivered, by its undo patch.

use std::path::{Path, PathBuf};

use actors::run::workspace::Staged;
use facts::event::Event;
use facts::signal::Acceptance;
use journal::read::{ReadError, Record, read_journal};
use journal::staged_changes;
use tools::blocking::on_a_thread;

use super::CourseBroken;
use super::course::CourseInput;
use crate::root::Orchestrator;

/// Applies an undo patch of the session.
pub(super) async fn undo(
    orchestrator: &Orchestrator,
    session: PathBuf,
    patch: String,
) -> Result<CourseInput, CourseBroken> {
    let staged = on_a_thread(move || staged(&session, &patch)).await?;
    if let Some(staged) = staged {
        orchestrator.apply(staged).await?;
    }
    Ok(CourseInput::Undone)
}

/// Finds a staged patch in the journal of a session. Blocks.
fn staged(session: &Path, id: &str) -> Result<Option<Staged>, ReadError> {
    let reading = read_journal(session)?;
    let is_staged = |record: &&Record| record.name() == "PatchStaged";
    for event in reading.records.iter().rev().filter(is_staged).filter_map(Record::event) {
        if let Event::PatchStaged { patch, purpose, title, files, .. } = event
            && patch == id
        {
            let changes = staged_changes(session, &files)?;
            let (repairs, put_aside) = (Vec::new(), Vec::new());
            let taken = Acceptance::Whole;
            let id = Some(patch);
            return Ok(Some(Staged { id, purpose, title, changes, repairs, put_aside, taken }));
        }
    }
    Ok(None)
}
