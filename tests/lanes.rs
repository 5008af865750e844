//! Tasks that are done in lanes. Missions, which ask children and do not split their work, are in `missions`.

mod shown;
pub(crate) mod team_crashes;
mod teams;
