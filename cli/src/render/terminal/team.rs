//! What people see of lanes: rows that move where a terminal is, lines where there is none.

use std::io;

use actors::event::Event;
use actors::lane_id::LaneId;
use anstyle::AnsiColor;
use model::AgentRole;
use rustix::termios::tcgetwinsize;

use super::{Terminal, harmless};
use crate::render::lanes::lines::{self, Detail};

/// The phase in which a task is split.
const PLANNING: &str = "plan lanes";

/// What a terminal is taken for that does not tell.
const USUAL_WIDTH: usize = 80;

impl Terminal {
    /// Tells of an event in a lane. The table has heard of it.
    pub(super) fn lane_event(&mut self, lane: LaneId, event: &Event) {
        let detail = if self.moves { Detail::Beside } else { Detail::All };
        for line in self.lanes.told(lane, event, detail, self.paint) {
            self.say(&line);
        }
    }

    /// Tells of an event that is about lanes, or about the tests of a change.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the rest is for the journal and for programs"
    )]
    pub(super) fn team_event(&mut self, event: &Event) {
        match event {
            Event::OldTreeTested { outcome, .. } => {
                self.say(&format!("  {}", crate::render::told::on_old_tree(*outcome)));
            }
            Event::ModelRequest { role: AgentRole::LanePlanner, .. } if self.phase != PLANNING => {
                self.enter(PLANNING, "");
            }
            Event::LanesPlanned { lanes, .. } => {
                self.say(lines::plan(lanes).trim_end());
                self.enter("work in lanes", "");
            }
            Event::LanesDeclined { why } => {
                let title = self.style(AnsiColor::Yellow, "not split into lanes:");
                self.say(&format!("  {title} {}", harmless(&why.to_string())));
            }
            Event::LaneConflicted { lane, paths, with } => {
                self.say(&lines::conflict(*lane, paths, *with, self.paint));
            }
            Event::LaneMerged { lane, .. } if !self.moves => {
                self.say(&format!("{}merged", lines::labelled(*lane, self.paint)));
            }
            Event::LanesBisected { lanes, .. } => self.say(&lines::bisected(lanes, self.paint)),
            _ => {}
        }
    }

    /// The table of lanes, as wide as the terminal is.
    pub(super) fn rows(&self) -> Vec<String> {
        if self.lanes.is_empty() {
            return Vec::new();
        }
        let told = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let width = if told == 0 { USUAL_WIDTH } else { told };
        self.lanes.rows(width, self.started.elapsed(), self.paint)
    }
}
