//! The scope of an event: the path from the session down to what it concerns, as typed segments. Pure.

use std::fmt;

use crate::lane_id::LaneId;

/// One step of the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A run of the session.
    Run(String),
    /// A lane of a run.
    Lane(LaneId),
    /// A child question of a run, counted from one.
    Child(u32),
    /// The final report of a mission, for which a share of the budget is reserved.
    Report,
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => write!(f, "run {id}"),
            Self::Lane(id) => write!(f, "lane {id}"),
            Self::Child(number) => write!(f, "child {number}"),
            Self::Report => f.write_str("report"),
        }
    }
}

/// The path to a part of a session. The empty path is the session itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Vec<Segment>);

impl Scope {
    /// The session itself.
    pub const SESSION: Self = Self(Vec::new());

    /// Returns the scope of a run.
    pub fn of_run(id: &str) -> Self {
        Self::SESSION.within(Segment::Run(id.to_owned()))
    }

    /// Returns the scope one level deeper.
    #[must_use]
    pub fn within(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// Returns the enclosing scope; `None` for the session.
    #[must_use]
    pub fn above(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// Returns the segments, outermost first.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns true if `other` is this scope or inside it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the id of the run that it is or belongs to.
    pub fn run(&self) -> Option<&str> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Run(id) => Some(id.as_str()),
            Segment::Lane(_) | Segment::Child(_) | Segment::Report => None,
        })
    }

    /// Returns the lane that it is or belongs to.
    pub fn lane(&self) -> Option<LaneId> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Lane(id) => Some(*id),
            Segment::Run(_) | Segment::Child(_) | Segment::Report => None,
        })
    }

    /// Returns the number of the child question, if the scope is one.
    pub fn child(&self) -> Option<u32> {
        match self.0.last()? {
            Segment::Child(number) => Some(*number),
            Segment::Run(_) | Segment::Lane(_) | Segment::Report => None,
        }
    }

    /// Returns true if it is a part of a run, not the whole run.
    pub fn is_part(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns the `part` field of a journal line; `None` for most scopes.
    pub fn below(&self) -> Option<String> {
        let last = self.0.last()?;
        let is_told_apart = matches!(last, Segment::Child(_) | Segment::Report);
        is_told_apart.then(|| last.to_string())
    }

    /// Returns the scope inside this one that a `part` field names; this scope itself if the name is unknown.
    #[must_use]
    pub fn within_named(&self, name: &str) -> Self {
        let child = || name.strip_prefix("child ")?.parse().ok().map(Segment::Child);
        let segment = if name == "report" { Some(Segment::Report) } else { child() };
        segment.map_or_else(|| self.clone(), |segment| self.within(segment))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("session")?;
        self.0.iter().try_for_each(|segment| write!(f, " / {segment}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_contained_in_its_ancestors_only() {
        let session = Scope::SESSION;
        let run = Scope::of_run("r");
        let lane = run.within(Segment::Lane(LaneId::new(2).unwrap()));
        assert_eq!(lane.to_string(), "session / run r / lane 02");
        assert_eq!((lane.run(), lane.lane()), (Some("r"), LaneId::new(2)));
        assert_eq!((run.run(), run.lane()), (Some("r"), None));
        assert_eq!((session.run(), session.lane()), (None, None));
        assert_eq!(lane.above(), Some(run.clone()));
        assert_eq!(run.above(), Some(session.clone()));
        assert_eq!(session.above(), None);
        for (above, below) in [(&session, &run), (&run, &lane), (&session, &lane)] {
            assert!(above.contains(below) && !below.contains(above));
        }
        assert!(!Scope::of_run("other").contains(&lane));
        assert!(lane.contains(&lane));
    }

    #[test]
    fn part_names_parse_back() {
        let run = Scope::of_run("r");
        for part in [Segment::Child(7), Segment::Report] {
            let scope = run.within(part);
            assert!(scope.is_part() && !run.is_part());
            assert_eq!(run.within_named(&scope.below().unwrap()), scope);
        }
        assert_eq!(run.within(Segment::Child(7)).child(), Some(7));
        assert_eq!((run.below(), run.child()), (None, None));
        assert_eq!(run.within_named("something of a later version"), run);
    }
}
