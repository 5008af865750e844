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
    /// One of the many small questions of a run, counted from one.
    Child(u32),
    /// What a run is told in at its end, for which a share of the budget is kept.
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
            Segment::Lane(_) | Segment::Child(_) | Segment::Report => None,
        })
    }

    /// The lane that it is, or is part of.
    pub fn lane(&self) -> Option<LaneId> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Lane(id) => Some(*id),
            Segment::Run(_) | Segment::Child(_) | Segment::Report => None,
        })
    }

    /// The number of the small question that it is.
    pub fn child(&self) -> Option<u32> {
        match self.0.last()? {
            Segment::Child(number) => Some(*number),
            Segment::Run(_) | Segment::Lane(_) | Segment::Report => None,
        }
    }

    /// Whether it is a part of a run, and not the whole.
    pub fn is_part(&self) -> bool {
        self.0.len() > 1
    }

    /// The segments below the run and its lane, as a line of the journal has them; none for most.
    pub fn below(&self) -> Option<String> {
        let last = self.0.last()?;
        let is_told_apart = matches!(last, Segment::Child(_) | Segment::Report);
        is_told_apart.then(|| last.to_string())
    }

    /// The scope within this one that a line of the journal names so; this one if it is none that is known.
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

    #[test]
    fn what_stands_below_a_run_is_read_as_it_was_named() {
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
