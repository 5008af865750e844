//! The effect of looking: what a model asked to see is found, as far as policy, the files and the room for it allow, and told.

use std::cell::RefCell;

use policy::Verdict;
use search::{BYTES_PER_TOKEN, Lines, Matches, Shown, Sights, Symbol, Unseen};
use tools::blocking::on_a_thread;
use tree::{ReadTree, RepoPath};

use crate::call::{CallError, Caller};
use crate::dialogue::shown_lines;
use crate::effect::{Effect, Position, Trace};
use crate::event::{Blob, Event};
use crate::look::{Look, Looks};
use crate::portion::{self, Range};
use crate::prompts::{Prompt, Prompts};
use crate::run::Run;
use crate::trial::Tried;
use crate::wording::Wording;

/// What is looked at in one round.
pub(crate) struct Looking<'l> {
    pub(crate) caller: &'l Caller,
    pub(crate) tree: &'l ReadTree,
    pub(crate) looks: Looks,
    /// What came of the commands among them.
    pub(crate) tried: Vec<Tried>,
    pub(crate) wanted_by: WantedBy,
}

/// Who wants a model to see something.
pub(crate) enum WantedBy {
    /// The model itself.
    Model {
        /// Rounds that are left to it after this one.
        left: u32,
    },
    /// The plan that it works by.
    Plan,
}

impl Effect for Looking<'_> {
    type Outcome = String;
    type Stop = CallError;
    // Early versions did not record what was told.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<String> {
        let Event::Looked { told: Some(told), .. } = event else { return Trace::Absent };
        Trace::Done(String::from_utf8_lossy(&told.content).into_owned())
    }

    async fn act(&mut self, run: &Run) -> Result<String, CallError> {
        let (tree, terms, looks) = (self.tree.clone(), run.terms.clone(), self.looks.looks.clone());
        let tried = std::mem::take(&mut self.tried);
        let (shown, refused) = on_a_thread(move || {
            let may_read = |path: &RepoPath| match terms.rules.may_read(path.as_str()) {
                Verdict::Allow => Ok(()),
                Verdict::Ask { why } | Verdict::Stage { why } | Verdict::Deny { why } => Err(why),
            };
            let bounds = &terms.config.agent_loop;
            let eyes = Eyes {
                sights: Sights::new(&tree, &may_read),
                prompts: &terms.prompts,
                max_lines: bounds.max_context_range_lines,
                room: bounds.max_look_tokens.saturating_mul(BYTES_PER_TOKEN),
                seen: RefCell::default(),
            };
            eyes.look_at(&looks, tried)
        })
        .await;
        let prompts = run.prompts();
        let text = match self.wanted_by {
            WantedBy::Model { left } => {
                prompts.render(Prompt::Looked, &[("shown", &shown), ("left", &left)])
            }
            WantedBy::Plan => prompts.render(Prompt::ShownByPlan, &[("shown", &shown)]),
        };
        let told = Some(Blob::new(run.redactor.redact(&text).into_owned()));
        let Looks { looks, tolerances } = self.looks.clone();
        let role = self.caller.role;
        run.publish(Event::Looked { role, looks, tolerances, refused, told }).await?;
        Ok(text)
    }
}

/// A text that is too long for the room, without its middle. What it ends with says most.
fn within(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(room / 3);
    let tail = text.ceil_char_boundary(text.len() - room * 2 / 3);
    let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n… {left_out} bytes left out …\n{tail}")
}

/// What looks, and puts into words what it sees.
struct Eyes<'e> {
    sights: Sights<'e>,
    prompts: &'e Prompts,
    max_lines: usize,
    /// Bytes for all that is shown in one round.
    room: usize,
    /// What of which file was shown in it.
    seen: RefCell<Vec<(RepoPath, Range)>>,
}

impl Eyes<'_> {
    /// What was asked for, numbered, and why the rest is not shown. What is asked first has most room; each look has some.
    fn look_at(&self, looks: &[Look], tried: Vec<Tried>) -> (String, Vec<Wording>) {
        let (mut shown, mut refused) = (String::new(), Vec::new());
        let mut tried = tried.into_iter();
        for (index, look) in looks.iter().enumerate() {
            let left = self.room.saturating_sub(shown.len());
            let room = (left / (looks.len() - index).min(2)).max(self.room / 20);
            let number = index + 1;
            let text = if left < self.room / 20 {
                Err(self.prompts.render(Prompt::LookNoRoom, &[]))
            } else if let Look::Run { .. } = look {
                self.ran(look, tried.next(), room)
            } else {
                self.one(look, room).map_err(|why| why.to_string())
            };
            let text = text.unwrap_or_else(|why| {
                let line =
                    self.prompts.render(Prompt::LookRefused, &[("look", look), ("why", &why)]);
                refused.push(Wording::of(&line));
                line
            });
            let look = self
                .prompts
                .render(Prompt::Look, &[("number", &number), ("text", &text.trim_end())]);
            shown.push_str(&look);
            shown.push('\n');
        }
        (shown.trim_end().to_owned(), refused)
    }

    /// What came of a command, the middle of a long output left out.
    fn ran(&self, look: &Look, tried: Option<Tried>, room: usize) -> Result<String, String> {
        match tried {
            Some(Tried::Ran { exit, output }) => {
                let output = within(output.trim_end(), room);
                Ok(self.prompts.render(
                    Prompt::LookRan,
                    &[("what", look), ("exit", &exit), ("output", &output)],
                ))
            }
            Some(Tried::NotRun(why)) => Err(why),
            None => Err("it was not run".to_owned()),
        }
    }

    fn one(&self, look: &Look, room: usize) -> Result<String, Unseen> {
        let seen = self.seen(look, room);
        if let Err(why @ Unseen::NoMatch(_)) = &seen {
            return Ok(self.prompts.render(Prompt::LookNothing, &[("look", look), ("why", why)]));
        }
        seen
    }

    fn seen(&self, look: &Look, room: usize) -> Result<String, Unseen> {
        match look {
            Look::Context { path, lines } => {
                let shown = match self.sights.file(path, *lines, self.max_lines, room) {
                    Err(Unseen::NotAFile) => {
                        return self.one(&Look::List { directory: Some(path.clone()) }, room);
                    }
                    shown => shown?,
                };
                let wanted = lines.map_or(usize::MAX, |(_, last)| last);
                Ok(match shown {
                    Shown::Lines(lines) if lines.last < wanted.min(lines.of) => {
                        let cut = self.prompts.render(Prompt::LookCut, &[("last", &lines.last)]);
                        format!("{}\n{cut}", self.lines(&lines))
                    }
                    Shown::Lines(lines) => self.lines(&lines),
                    Shown::Outline { of, definitions } => self.outline(path, of, &definitions),
                })
            }
            Look::Search { pattern, glob } => {
                let matches = self.sights.matches(pattern, glob.as_deref(), room)?;
                Ok(self.matches(&look.to_string(), &matches))
            }
            Look::Symbol { name } => {
                let Symbol { definitions, uses } = self.sights.symbol(name, room)?;
                let mut text: String = definitions.iter().map(|it| self.lines(it) + "\n").collect();
                if !uses.hits.is_empty() {
                    text.push_str(&self.matches(&look.to_string(), &uses));
                }
                Ok(text)
            }
            // It was run before, by whoever may.
            Look::Run { .. } => Ok(String::new()),
            Look::List { directory } => {
                let names = self.sights.names(directory.as_ref(), room)?;
                let mut list = names.names.join("\n");
                if names.more > 0 {
                    list.push('\n');
                    let more = self.prompts.render(Prompt::LookMore, &[("what", &names.more)]);
                    list.push_str(&more);
                }
                Ok(self.prompts.render(Prompt::LookFound, &[("what", look), ("found", &list)]))
            }
        }
    }

    /// Lines of a file, but for those that were shown in this round.
    fn lines(&self, lines: &Lines) -> String {
        let Lines { path, first, last, of, text } = lines;
        let mut seen = self.seen.borrow_mut();
        let of_file = seen.iter().filter(|(seen, _)| seen == path).map(|(_, range)| *range);
        let fresh = portion::outside((*first, *last), &of_file.collect::<Vec<_>>());
        seen.extend(fresh.iter().map(|range| (path.clone(), *range)));
        if fresh.is_empty() && first <= last {
            let name = self.prompts.render(
                Prompt::FileLines,
                &[("path", path), ("first", first), ("last", last), ("of", of)],
            );
            return self.prompts.render(Prompt::FileAbove, &[("path", &name)]);
        }
        let part = |(from, to): Range| {
            let lines = portion::lines_of(text, (from + 1 - first, to + 1 - first));
            shown_lines(self.prompts, path.as_str(), (from, to, *of), &lines)
        };
        if fresh == [(*first, *last)] || fresh.is_empty() {
            return shown_lines(self.prompts, path.as_str(), (*first, *last, *of), text);
        }
        fresh.into_iter().map(part).collect::<Vec<_>>().join("\n")
    }

    fn outline(&self, path: &RepoPath, of: usize, definitions: &[(usize, String)]) -> String {
        let lines: Vec<String> =
            definitions.iter().map(|(line, name)| format!("{line:>5}| {name}")).collect();
        self.prompts.render(
            Prompt::LookOutline,
            &[("path", path), ("lines", &of), ("definitions", &lines.join("\n"))],
        )
    }

    fn matches(&self, what: &str, matches: &Matches) -> String {
        let line = |hit: &search::Hit| format!("{}:{}: {}", hit.path, hit.line, hit.text);
        let mut found: Vec<String> = matches.hits.iter().map(line).collect();
        if matches.more {
            found.push(self.prompts.render(Prompt::LookMore, &[("what", &"matches")]));
        }
        let found = found.join("\n");
        self.prompts.render(Prompt::LookFound, &[("what", &what), ("found", &found)])
    }
}
