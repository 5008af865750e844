//! The address of a fact: the way from a session down to what it is about, one typed segment after the other. Pure.

use std::fmt;

use crate::lane_id::LaneId;

/// One step of the way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A run of the session.
    Run(String),
    /// A lane of a run.
    Lane(LaneId),
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => write!(f, "run {id}"),
            Self::Lane(id) => write!(f, "lane {id}"),
        }
    }
}

/// Where something happens. Without a segment it is the session itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Vec<Segment>);

impl Scope {
    /// The session itself.
    pub const SESSION: Self = Self(Vec::new());

    /// A run of the session.
    pub fn of_run(id: &str) -> Self {
        Self::SESSION.within(Segment::Run(id.to_owned()))
    }

    /// The scope one step further down.
    #[must_use]
    pub fn within(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// The scope one step further up; none above the session.
    #[must_use]
    pub fn above(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// Its segments, from the top down.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether `other` is this scope or below it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The run that it is, or is part of.
    pub fn run(&self) -> Option<&str> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Run(id) => Some(id.as_str()),
            Segment::Lane(_) => None,
        })
    }

    /// The lane that it is, or is part of.
    pub fn lane(&self) -> Option<LaneId> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Lane(id) => Some(*id),
            Segment::Run(_) => None,
        })
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
    fn a_scope_is_part_of_those_above_it_and_of_no_other() {
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
}
