//! The effect of looking: finds what a model asked to see, as far as policy, files and space allow, and formats it.

use std::cell::RefCell;

use checks::test_counts::test_counts;
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::grammar::look::{Look, Looks};
use index::Index;
use search::{
    BYTES_PER_TOKEN, Defined, DefinitionInFile, FileMatches, LookError, LookLines, Matches, Shown,
    Symbol, VisibleTree, evidence_about, shown_of,
};
use toolbox::OwnTool;
use tools::blocking::on_a_thread;
use tools::count::counted;
use tools::plain::plain_output;
use tools::words::is_han;
use tree::RepoPath;

use crate::calls::model_call::{CallError, Caller};
use crate::looks::git_change;
use crate::looks::look_result::LookResult;
use crate::looks::own_tools;
use crate::looks::programs::Programs;
use crate::looks::server_tools;
use crate::looks::shares::shares;
use crate::looks::shown_lines::{self, ShownRange};
use crate::looks::trial;
use crate::run::Run;
use crate::run::command_runner::CommandRunner;
use crate::run::effect::{Effect, Position, Trace};
use crate::talk::asking_user;
use crate::talk::dialogue::{in_encoding, shown_lines};
use crate::talk::prompts::{Prompt, Prompts};

/// Where looks are answered from.
#[derive(Clone, Copy)]
pub struct LookSources<'s> {
    /// Runs commands in a tree, and gives access to its files.
    pub commands: &'s CommandRunner,
    /// The search index, if there is one.
    pub index: Option<&'s Index>,
    /// Tools that the workspace provides.
    pub own: &'s [OwnTool],
    /// Runs programs that models write, if they can be run here.
    pub programs: Option<&'s dyn Programs>,
}

impl<'s> LookSources<'s> {
    /// Sources with only the files and the commands of a tree.
    pub const fn of_commands(commands: &'s CommandRunner) -> Self {
        Self { commands, index: None, own: &[], programs: None }
    }
}

/// Answers the looks that need something other than files: running commands, tools and programs, and asking the user.
/// Each is an effect of its own that precedes the look.
pub(crate) async fn asked_elsewhere(
    sources: LookSources<'_>,
    caller: &Caller,
    looks: &[Look],
) -> Result<Vec<Option<LookResult>>, JournalClosed> {
    let (mut told, mut commands) = (Vec::new(), 0);
    for look in looks {
        told.push(if let Look::Run { command } = look {
            commands += 1;
            Some(trial::tried(sources.commands, caller.role, command, commands).await?)
        } else if let Look::Own { name, arguments } = look {
            Some(own_tools::call_own_tool(sources, name, arguments).await?)
        } else if let Look::ServerTool { name, arguments } = look {
            // The protocol makes it large.
            let call = server_tools::call_server_tool(sources, caller.role, name, arguments);
            Some(Box::pin(call).await?)
        } else if let Look::FindTool { words } = look {
            Some(server_tools::find(&caller.run, caller.role, words))
        } else if let Look::Program { program, paths } = look {
            let said = match sources.programs {
                Some(programs) => programs.run(program, paths).await?,
                None => Err("no program can be run here".to_owned()),
            };
            Some(said.map_or_else(LookResult::Nothing, LookResult::Told))
        } else if let Look::Ask { question } = look {
            let said = asking_user::asked(&caller.run, caller.role, question).await?;
            Some(said.map_or_else(LookResult::Nothing, LookResult::Told))
        } else {
            None
        });
    }
    Ok(told)
}

/// Returns what each of `looks` shows, or why it shows nothing, within `room` bytes in total. Earlier looks get more
/// space.
pub(crate) async fn look_up(
    run: &Run,
    sources: LookSources<'_>,
    looks: Vec<Look>,
    mut elsewhere: Vec<Option<LookResult>>,
    room: usize,
) -> Vec<Result<String, String>> {
    elsewhere.resize(looks.len(), None);
    for (look, told) in looks.iter().zip(&mut elsewhere) {
        if told.is_none() {
            *told = git_change::answer_git_look(sources.commands, look, room).await;
        }
    }
    let (tree, index, terms) =
        (sources.commands.workspace.reader().clone(), sources.index.cloned(), run.terms.clone());
    on_a_thread(move || {
        let may_read = |path: &RepoPath| terms.rules.may_read(path.as_str()).unasked();
        let eyes = Eyes {
            visible: VisibleTree::new(&tree, terms.config.limits.max_workspace_files, &may_read),
            index: index.as_ref(),
            prompts: &terms.prompts,
            max_lines: terms.config.agent_loop.max_context_range_lines,
            room,
            seen: RefCell::default(),
        };
        eyes.look_at(&looks, &elsewhere)
    })
    .await
}

/// The looks of one round.
pub(crate) struct Looking<'l> {
    pub(crate) caller: &'l Caller,
    pub(crate) sources: LookSources<'l>,
    pub(crate) looks: Looks,
    /// Results that do not come from files, one per look.
    pub(crate) elsewhere: Vec<Option<LookResult>>,
    pub(crate) wanted_by: WantedBy,
}

/// Who requested the looks.
pub(crate) enum WantedBy {
    /// The model itself.
    Model {
        /// Number of rounds left to it after this one.
        left: u32,
    },
    /// The plan that the model follows.
    Plan,
}

impl Effect for Looking<'_> {
    type Outcome = String;
    type Stop = CallError;
    // Early versions did not record the result.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<String> {
        let Event::Looked { told: Some(told), .. } = event else { return Trace::Absent };
        Trace::Done(String::from_utf8_lossy(&told.content).into_owned())
    }

    async fn act(&mut self, run: &Run) -> Result<String, CallError> {
        let (looks, elsewhere) = (self.looks.looks.clone(), std::mem::take(&mut self.elsewhere));
        let room = run.config().agent_loop.max_look_tokens.saturating_mul(BYTES_PER_TOKEN);
        let found = look_up(run, self.sources, looks.clone(), elsewhere, room).await;
        let prompts = run.prompts();
        let (mut shown, mut refused) = (Vec::new(), Vec::new());
        for (number, (look, text)) in (1_u32..).zip(looks.iter().zip(found)) {
            let text = text.unwrap_or_else(|why| {
                let line = prompts.render(Prompt::LookRefused, &[("look", look), ("why", &why)]);
                refused.push(Wording::of(&line));
                line
            });
            shown.push(
                prompts.render(Prompt::Look, &[("number", &number), ("text", &text.trim_end())]),
            );
        }
        let shown = shown.join("\n");
        let text = match self.wanted_by {
            WantedBy::Model { left } => {
                prompts.render(Prompt::Looked, &[("tool_summary", &shown), ("left", &left)])
            }
            WantedBy::Plan => prompts.render(Prompt::ShownByPlan, &[("shown", &shown)]),
        };
        let told = Some(Blob::new(run.redactor.redact(&text).into_owned()));
        let (tolerances, role) = (self.looks.tolerances.clone(), self.caller.role);
        run.publish(Event::Looked { role, looks, tolerances, refused, told }).await?;
        Ok(text)
    }
}

/// Bytes shown of what passing tests print: its end says that they pass.
const PASSING_TESTS_BYTES: usize = 2_000;

/// Cuts the middle out of a text that is too long. More of the end is kept, since it is usually the most informative
/// part.
fn within(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(room / 3);
    let tail = text.ceil_char_boundary(text.len() - room * 2 / 3);
    let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n… {} left out …\n{tail}", counted(left_out, "byte"))
}

/// Carries out looks and formats the results.
struct Eyes<'e> {
    visible: VisibleTree<'e>,
    index: Option<&'e Index>,
    prompts: &'e Prompts,
    max_lines: usize,
    /// Space in bytes for everything shown in one round.
    room: usize,
    /// The file ranges shown in this round.
    seen: RefCell<Vec<(RepoPath, ShownRange)>>,
}

impl Eyes<'_> {
    /// Returns what each look shows. If it does not all fit, what is short is shown whole, and the others share the rest.
    fn look_at(
        &self,
        looks: &[Look],
        elsewhere: &[Option<LookResult>],
    ) -> Vec<Result<String, String>> {
        let whole = self.look_within(looks, elsewhere, &vec![Some(self.room); looks.len()]);
        let length =
            |shown: &Result<String, String>| shown.as_ref().map_or_else(String::len, String::len);
        let wanted: Vec<usize> = whole.iter().map(length).collect();
        if wanted.iter().sum::<usize>() <= self.room {
            return whole;
        }
        self.seen.take();
        let shares = shares(&wanted, self.room).into_iter().zip(wanted);
        let rooms: Vec<_> = shares
            .map(|(share, wants)| match share {
                _ if share == wants => Some(self.room),
                // Less than a twentieth says nothing of what is longer.
                _ => Some(share).filter(|share| *share >= self.room / 20),
            })
            .collect();
        self.look_within(looks, elsewhere, &rooms)
    }

    /// Returns what each look shows in the space that it has, if it has any.
    fn look_within(
        &self,
        looks: &[Look],
        elsewhere: &[Option<LookResult>],
        rooms: &[Option<usize>],
    ) -> Vec<Result<String, String>> {
        let looks = looks.iter().zip(elsewhere).zip(rooms);
        let shown = looks.map(|((look, told), room)| match (told, room) {
            (_, None) => Err(self.prompts.render(Prompt::LookNoRoom, &[])),
            (Some(told), Some(room)) => self.told(look, told.clone(), *room),
            (None, Some(room)) => {
                self.with_limit(self.one(look, *room).map_err(|why| why.to_string()))
            }
        });
        shown.collect()
    }

    /// Says with an answer that it may lack files, if there are more than are searched.
    fn with_limit(&self, answer: Result<String, String>) -> Result<String, String> {
        if !self.visible.take_is_cut() {
            return answer;
        }
        let most = self.visible.max_files();
        let note = self.prompts.render(Prompt::LookUnsearched, &[("most", &most)]);
        let noted = |text: String| format!("{}\n{note}", text.trim_end());
        answer.map(noted).map_err(|why| format!("{why} {note}"))
    }

    /// Formats a result that does not come from files, without the middle of a long output.
    fn told(&self, look: &Look, told: LookResult, room: usize) -> Result<String, String> {
        match told {
            LookResult::Ran { exit, output, failed, .. } => {
                let passes = !failed && test_counts(&output).is_some();
                let room = if passes { room.min(PASSING_TESTS_BYTES) } else { room };
                let output = within(plain_output(&output).trim_end(), room);
                let told = self.prompts.render(
                    Prompt::LookRan,
                    &[("what", look), ("exit", &exit), ("output", &output)],
                );
                // That a command fails can be what a model wanted to know; a tool that fails gave no answer.
                if failed && matches!(look, Look::Own { .. }) { Err(told) } else { Ok(told) }
            }
            // The tool call already contains the question or program.
            LookResult::Told(text)
                if matches!(
                    look,
                    Look::Ask { .. }
                        | Look::Program { .. }
                        | Look::ServerTool { .. }
                        | Look::FindTool { .. }
                ) =>
            {
                Ok(within(&text, room))
            }
            LookResult::Told(text)
                if let Look::GitShow { revision, path: Some(path), lines } = look =>
            {
                let shown = shown_of(path, text, *lines, self.max_lines, room);
                let name = format!("{revision}:{path}");
                Ok(match shown.map_err(|why| why.to_string())? {
                    Shown::Lines(LookLines { first, last, of, text, .. }) => {
                        let text = shown_lines(self.prompts, &name, (first, last, of), &text);
                        self.unless_cut(text, *lines, (last, of))
                    }
                    Shown::Outline { of, definitions } => self.outline(&name, of, &definitions),
                })
            }
            LookResult::Told(text) => {
                let text = within(text.trim_end(), room);
                Ok(self.prompts.render(Prompt::LookFound, &[("what", look), ("found", &text)]))
            }
            LookResult::Nothing(why) => Err(within(&why, room)),
        }
    }

    fn one(&self, look: &Look, room: usize) -> Result<String, LookError> {
        let seen = self.seen(look, room);
        if let Err(why @ LookError::NoMatch(_)) = &seen {
            return Ok(if look.to_string().contains(is_han) {
                self.prompts.render(Prompt::LookForeign, &[("look", look), ("why", why)])
            } else {
                self.prompts.render(Prompt::LookNothing, &[("look", look), ("why", why)])
            });
        }
        seen
    }

    fn seen(&self, look: &Look, room: usize) -> Result<String, LookError> {
        match look {
            Look::Context { path, lines } => {
                let named = if lines.is_none() { self.visible.definition_in(path) } else { None };
                let others = named.as_ref().and_then(|named| self.others(named));
                let (path, lines, next) = named.map_or_else(
                    || (path.clone(), *lines, Vec::new()),
                    |it| (it.file, it.lines, it.next),
                );
                let shown = match self.visible.file(&path, lines, self.max_lines, room) {
                    Err(LookError::NotAFile) => {
                        return self.one(&Look::List { directory: Some(path) }, room);
                    }
                    shown => shown?,
                };
                Ok(match shown {
                    Shown::Lines(shown) => {
                        let text =
                            self.unless_cut(self.lines(&shown), lines, (shown.last, shown.of));
                        let hash = shown
                            .hash
                            .map(|hash| hash.to_string().chars().take(8).collect::<String>());
                        let hash =
                            hash.map(|it| self.prompts.render(Prompt::LookHash, &[("hash", &it)]));
                        let left = room.saturating_sub(text.len());
                        let next = self.next(&path, &next, left);
                        [Some(text), next, hash, others]
                            .into_iter()
                            .flatten()
                            .collect::<Vec<_>>()
                            .join("\n")
                    }
                    Shown::Outline { of, definitions } => {
                        self.outline(path.as_str(), of, &definitions)
                    }
                })
            }
            Look::Search { pattern, glob } => {
                let (pattern, glob) = match glob {
                    Some(glob) => (pattern.as_str(), Some(glob.as_str())),
                    None => self.visible.split_at_file_name(pattern),
                };
                let matches = self.visible.matches(pattern, glob, room)?;
                let (pattern, glob) = (pattern.to_owned(), glob.map(str::to_owned));
                Ok(self.matches(&Look::Search { pattern, glob }.to_string(), &matches))
            }
            Look::Symbol { name } => Ok(self.symbol(name, &self.visible.symbol(name, room)?)),
            Look::Query { words, most, glob } => {
                self.ranked(look, (words, *most, glob.as_deref()), room)
            }
            // Answered in `told`.
            Look::Run { .. }
            | Look::Program { .. }
            | Look::Own { .. }
            | Look::ServerTool { .. }
            | Look::FindTool { .. }
            | Look::Ask { .. }
            | Look::GitStatus
            | Look::GitDiff { .. }
            | Look::GitShow { .. } => Ok(String::new()),
            Look::List { directory } => {
                let names = self.visible.names(directory.as_ref(), room)?;
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

    /// Formats lines of a file, except those shown earlier in this round.
    fn lines(&self, lines: &LookLines) -> String {
        in_encoding(self.prompts, self.fresh_lines(lines), lines.encoding)
    }

    fn fresh_lines(&self, lines: &LookLines) -> String {
        let LookLines { path, first, last, of, text, .. } = lines;
        let mut seen = self.seen.borrow_mut();
        let of_file = seen.iter().filter(|(seen, _)| seen == path).map(|(_, range)| *range);
        let fresh = shown_lines::outside((*first, *last), &of_file.collect::<Vec<_>>());
        seen.extend(fresh.iter().map(|range| (path.clone(), *range)));
        if fresh.is_empty() && first <= last {
            let name = self.prompts.render(
                Prompt::FileLines,
                &[("path", path), ("first", first), ("last", last), ("of", of)],
            );
            return self.prompts.render(Prompt::FileAbove, &[("path", &name)]);
        }
        let part = |(from, to): ShownRange| {
            let lines = shown_lines::lines_of(text, (from + 1 - first, to + 1 - first));
            shown_lines(self.prompts, path.as_str(), (from, to, *of), &lines)
        };
        if fresh == [(*first, *last)] || fresh.is_empty() {
            return shown_lines(self.prompts, path.as_str(), (*first, *last, *of), text);
        }
        fresh.into_iter().map(part).collect::<Vec<_>>().join("\n")
    }

    /// Returns these lines of a file as far as they fit; `None` if there are none.
    fn next(&self, path: &RepoPath, ranges: &[ShownRange], room: usize) -> Option<String> {
        let mut shown: Vec<String> = Vec::new();
        for range in ranges {
            let left = room.saturating_sub(shown.iter().map(String::len).sum());
            if let Ok(Shown::Lines(lines)) =
                self.visible.file(path, Some(*range), self.max_lines, left)
            {
                let text = self.lines(&lines);
                shown.push(self.unless_cut(text, Some(*range), (lines.last, lines.of)));
            }
        }
        (!shown.is_empty()).then(|| shown.join("\n"))
    }

    /// Names the other definitions of a name in a file, if there are any.
    fn others(&self, named: &DefinitionInFile) -> Option<String> {
        let DefinitionInFile { file, name, others, .. } = named;
        let places: Vec<String> = others.iter().map(|line| format!("{file}:{line}")).collect();
        let places = places.join(", ");
        let told = || {
            self.prompts
                .render(Prompt::LookOtherDefinitions, &[("name", name), ("places", &places)])
        };
        (!others.is_empty()).then(told)
    }

    /// Adds a note with the last line shown, if the requested lines were cut.
    fn unless_cut(
        &self,
        shown: String,
        wanted: Option<(usize, usize)>,
        (last, of): (usize, usize),
    ) -> String {
        let wanted = wanted.map_or(usize::MAX, |(_, last)| last);
        if last >= wanted.min(of) {
            return shown;
        }
        format!("{shown}\n{}", self.prompts.render(Prompt::LookCut, &[("last", &last)]))
    }

    /// Formats where a name is defined and used.
    fn symbol(&self, name: &str, symbol: &Symbol) -> String {
        let Symbol { definitions, others, uses, prose } = symbol;
        let mut told = Vec::new();
        for Defined { lines, last } in definitions {
            told.push(self.lines(lines));
            if lines.last < *last {
                told.push(self.prompts.render(Prompt::LookGoesOn, &[("last", last)]));
            }
        }
        if !others.is_empty() {
            let places: Vec<String> =
                others.iter().map(|(path, line)| format!("{path}:{line}")).collect();
            let places = places.join(", ");
            told.push(
                self.prompts
                    .render(Prompt::LookOtherDefinitions, &[("name", &name), ("places", &places)]),
            );
        }
        if !uses.files.is_empty() {
            let title = self.prompts.render(Prompt::LookUses, &[("name", &name)]);
            told.push(self.matches(&title, uses));
        }
        if *prose > 0 {
            told.push(self.prompts.render(Prompt::LookProse, &[("count", prose)]));
        }
        told.join("\n")
    }

    /// Formats the search results for words: lines of the best files, and the names of the next ones.
    fn ranked(
        &self,
        look: &Look,
        (words, most, glob): (&str, Option<usize>, Option<&str>),
        room: usize,
    ) -> Result<String, LookError> {
        const MOST_BYTES: usize = 8000;
        let index = self.index.ok_or(LookError::NoMatch(0))?;
        let about = evidence_about(words, (most, glob), index, room.min(MOST_BYTES))?;
        if about.truncated {
            self.visible.cut();
        }
        if about.items.is_empty() && about.map.is_empty() {
            return Err(LookError::NoMatch(about.files));
        }
        let condition = match (about.partial, about.stale) {
            (true, _) => self.prompts.render(Prompt::IndexPartial, &[]),
            (false, 0) => self.prompts.render(Prompt::IndexFresh, &[]),
            (false, stale) => self.prompts.render(Prompt::IndexStale, &[("files", &stale)]),
        };
        let what = format!("{look} ({condition})");
        let mut told =
            vec![self.prompts.render(Prompt::LookFound, &[("what", &what), ("found", &"")])];
        told.extend(about.items.into_iter().map(|item| {
            self.lines(&LookLines {
                path: item.path,
                first: item.first_line,
                last: item.last_line,
                of: item.lines,
                encoding: item.encoding,
                hash: None,
                text: item.text,
            })
        }));
        if !about.map.is_empty() {
            let next: Vec<&str> = about.map.iter().map(|line| line.path.as_str()).collect();
            told.push(self.prompts.render(Prompt::LookNext, &[("files", &next.join(", "))]));
        }
        Ok(told.join("\n"))
    }

    fn outline(&self, path: &str, of: usize, definitions: &[(usize, String)]) -> String {
        let lines: Vec<String> =
            definitions.iter().map(|(line, name)| format!("{line:>5}| {name}")).collect();
        self.prompts.render(
            Prompt::LookOutline,
            &[("path", &path), ("lines", &of), ("definitions", &lines.join("\n"))],
        )
    }

    fn matches(&self, what: &str, matches: &Matches) -> String {
        let mut found = Vec::new();
        for FileMatches { path, lines, more } in &matches.files {
            found.push(path.to_string());
            found.extend(lines.iter().map(|(line, text)| format!("{line:>4}| {text}")));
            if *more {
                found.push(self.prompts.render(Prompt::LookMoreInFile, &[]));
            }
        }
        if matches.more {
            found.push(self.prompts.render(Prompt::LookMoreFiles, &[]));
        }
        let found = found.join("\n");
        self.prompts.render(Prompt::LookFound, &[("what", &what), ("found", &found)])
    }
}
