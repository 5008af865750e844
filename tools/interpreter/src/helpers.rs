//! The helpers of a program: their names, their parameters, and what they do. A program can reach nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use monty::FunctionCall;
use monty_types::MontyObject;

use crate::arguments::{
    GivenArguments, Wrong, lines_of, of_count, of_json, of_match, of_piece, of_span, pattern,
    pieces,
};
use crate::pieces::{Files, Piece, PieceLines, SourceLines};
use crate::task::{Batch, Cite, Excerpt, ProgramQuestion};
use crate::texts;

/// Maximum number of items in a list that a helper returns.
const MAX_ITEMS: usize = 1000;
/// Maximum size of a text that a helper returns, in bytes.
const MAX_TEXT: usize = 200_000;
/// Maximum size of the texts that one batch of questions is about, in bytes.
const MAX_ASKED: usize = 1_000_000;

/// The state of the helpers.
pub(crate) struct Helpers {
    files: Rc<Files>,
    /// Notes about results that were cut.
    pub(crate) notes: Vec<String>,
    pub(crate) cites: Vec<Cite>,
}

/// The result of a call.
pub(crate) enum Called {
    /// The call returns this.
    Value(MontyObject),
    /// The program ends with this.
    Final(MontyObject),
    /// Models must answer first. The flag is true if the call returns a list.
    Asks(Batch, bool),
}

/// Helpers with the same return type: each with its parameters, and a description of the type.
type Kind = (&'static [(&'static str, &'static [&'static str])], &'static str);

/// All helpers, as described to models.
const HELPERS: [Kind; 12] = [
    (&[("files", &["glob=None"])], "list of the readable files, as spans"),
    (&[("peek", &["x", "chars=4000"])], "str"),
    (
        &[
            ("lines", &["x", "first", "last"]),
            ("head", &["x", "n=20"]),
            ("tail", &["x", "n=20"]),
            ("before", &["x", "pattern"]),
            ("after", &["x", "pattern"]),
        ],
        "a part of x, or None",
    ),
    (
        &[
            ("chunk", &["x", "n=80"]),
            ("between", &["x", "start", "end"]),
            ("split_by", &["x", "pattern"]),
            ("grep", &["pattern", "x", "context=0"]),
            ("grep_v", &["pattern", "x"]),
        ],
        "list of parts",
    ),
    (
        &[
            ("find_all", &["pattern", "x"]),
            ("extract_urls", &["x"]),
            ("extract_paths", &["x"]),
            ("extract_dates", &["x"]),
        ],
        "list of Found(text, span)",
    ),
    (&[("count_matches", &["pattern", "x"])], "int"),
    (&[("extract_json_objects", &["x"])], "list of dict"),
    (&[("replace_all", &["pattern", "replacement", "x"]), ("diff", &["a", "b"])], "str"),
    (&[("similarity", &["a", "b"])], "0.0 to 1.0"),
    (
        &[
            ("rank", &["items", "query"]),
            ("dedupe", &["items"]),
            ("frequency", &["items"]),
            ("group_by", &["items", "pattern"]),
            ("partition", &["items", "pattern"]),
        ],
        "list; list of (text, count); dict of lists; two lists",
    ),
    (
        &[
            ("llm_query", &["question", "about=None"]),
            ("llm_query_batched", &["questions", "about=None"]),
            ("rlm_query", &["question", "about=None"]),
            ("rlm_query_batched", &["questions", "about=None"]),
        ],
        "the answer of a small model; a list of them, None where there is no answer",
    ),
    (
        &[("cite", &["span", "claim", "novelty=5", "weight=5"]), ("FINAL", &["value"])],
        "notes a claim with its lines; ends the program",
    ),
];

/// A description of the language and the helpers, for models.
pub const TOLD: &str = include_str!("helpers.txt");

/// Returns the signatures of the helpers.
#[cfg(test)]
pub(crate) fn signatures() -> String {
    let told = |(helpers, gives): &Kind| {
        let one = |(name, takes): &(&str, &[&str])| format!("{name}({})", takes.join(", "));
        let all: Vec<String> = helpers.iter().map(one).collect();
        format!("{} -> {gives}", all.join(", "))
    };
    HELPERS.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// Returns the parameters of a helper; `None` if there is no helper of this name.
pub(crate) fn parameters(name: &str) -> Option<&'static [&'static str]> {
    let all = HELPERS.iter().flat_map(|(helpers, _)| helpers.iter());
    all.into_iter().find(|(it, _)| *it == name).map(|(_, takes)| *takes)
}

/// Maximum number of claims that a program can cite.
const MAX_CITES: usize = 200;

impl Helpers {
    pub(crate) fn new(files: Files) -> Self {
        Self { files: Rc::new(files), notes: Vec::new(), cites: Vec::new() }
    }

    /// Performs a call.
    pub(crate) fn call(&mut self, call: &mut FunctionCall) -> Result<Called, Wrong> {
        let name = call.function_name.clone();
        let parameters = parameters(&name).ok_or_else(|| Wrong::unknown(&name))?;
        let files = Rc::clone(&self.files);
        let mut given = GivenArguments::of(call, parameters, &files)?;
        let value = match name.as_str() {
            "FINAL" => return Ok(Called::Final(given.any().unwrap_or(MontyObject::None))),
            "llm_query" | "rlm_query" => {
                let questions = vec![ProgramQuestion { text: given.text()?, about: Vec::new() }];
                let about = self.excerpts(given.pieces_if_any()?)?;
                return asks(name == "rlm_query", questions, about, false);
            }
            "llm_query_batched" | "rlm_query_batched" => {
                let questions = given.list()?;
                let about = self.excerpts(given.pieces_if_any()?)?;
                let questions: Vec<ProgramQuestion> = questions
                    .into_iter()
                    .map(|question| self.question(question))
                    .collect::<Result<_, _>>()?;
                return asks(name == "rlm_query_batched", questions, about, true);
            }
            "cite" => {
                let cite = self.cite(&mut given)?;
                if self.cites.len() < MAX_CITES {
                    self.cites.push(cite);
                }
                MontyObject::None
            }
            "files" => {
                let wanted = given.glob_if_any()?;
                let is_wanted =
                    |span: &SourceLines| wanted.as_ref().is_none_or(|it| it.is_match(&span.path));
                let spans: Vec<_> = self.files.spans().filter(is_wanted).map(of_span).collect();
                if spans.is_empty() && wanted.is_some() {
                    let of = self.files.spans().count();
                    return Err(Wrong::value(format!(
                        "none of the {of} files that can be read matches this glob; write it like `*.rs`, `src/**/*.py` or `directory/`"
                    )));
                }
                self.list(&name, spans)
            }
            "peek" => {
                let (of, most) = (given.piece()?, given.number(4000)?.min(MAX_TEXT));
                let text = lines_of(&self.files, &of)?.text();
                self.text(&name, text, most)
            }
            "lines" | "head" | "tail" | "before" | "after" => self.part(&name, &mut given)?,
            "chunk" | "between" | "split_by" => {
                let parts = self.parts(&name, &mut given)?;
                self.list(&name, parts.into_iter().map(of_piece).collect())
            }
            "extract_json_objects" => {
                let text = self.joined(&given.pieces_of()?)?;
                self.list(&name, texts::json_objects(&text).into_iter().map(of_json).collect())
            }
            "replace_all" => {
                let (wanted, by, of) = (given.pattern()?, given.text()?, given.pieces_of()?);
                let replaced = wanted.replace_all(&self.joined(&of)?, by.as_str()).into_owned();
                self.text(&name, replaced, MAX_TEXT)
            }
            "diff" | "similarity" => {
                let (one, other) = (given.piece()?, given.piece()?);
                let (one, other) = (lines_of(&self.files, &one)?, lines_of(&self.files, &other)?);
                if name == "similarity" {
                    MontyObject::Float(texts::similarity(&one.text(), &other.text()))
                } else {
                    let most = texts::MAX_COMPARED_LINES;
                    if one.all.len().max(other.all.len()) > most {
                        let error = format!("only texts of at most {most} lines can be compared");
                        return Err(Wrong::value(error));
                    }
                    let differs = texts::diff(&(one.text() + "\n"), &(other.text() + "\n"));
                    self.text(&name, differs, MAX_TEXT)
                }
            }
            "rank" | "dedupe" | "frequency" | "group_by" | "partition" => {
                self.sorted(&name, &mut given)?
            }
            _ => {
                let found = self.found(&name, &mut given)?;
                match found {
                    Found::Count(count) => of_count(count),
                    Found::Pieces(pieces) => {
                        self.list(&name, pieces.into_iter().map(of_piece).collect())
                    }
                    Found::Matches(matches) => {
                        self.list(&name, matches.into_iter().map(of_match).collect())
                    }
                }
            }
        };
        Ok(Called::Value(value))
    }

    /// Calls a helper that returns one part of a text.
    fn part(&self, name: &str, given: &mut GivenArguments<'_>) -> Result<MontyObject, Wrong> {
        let of = given.piece()?;
        let read = lines_of(&self.files, &of)?;
        let (count, start) = (read.all.len(), read.first);
        let part = match name {
            "lines" => {
                let (first, last) = (given.number(start)?, given.number(usize::MAX)?);
                let end = last.saturating_add(1).saturating_sub(start);
                read.part(first.saturating_sub(start), end)
            }
            "head" => read.part(0, given.number(20)?),
            "tail" => read.part(count.saturating_sub(given.number(20)?), count),
            "before" => texts::before(&read, &given.pattern()?),
            _ => texts::lines_after(&read, &given.pattern()?),
        };
        Ok(part.map_or(MontyObject::None, of_piece))
    }

    /// Calls a helper that splits a text into parts.
    fn parts(&self, name: &str, given: &mut GivenArguments<'_>) -> Result<Vec<Piece>, Wrong> {
        let of = given.piece()?;
        let read = lines_of(&self.files, &of)?;
        Ok(match name {
            "chunk" => texts::chunk(&read, given.number(80)?),
            "between" => texts::between(&read, &given.pattern()?, &given.pattern()?),
            _ => texts::split_by(&read, &given.pattern()?),
        })
    }

    /// Calls a helper that searches texts for a pattern.
    fn found(&self, name: &str, given: &mut GivenArguments<'_>) -> Result<Found, Wrong> {
        let fixed = match name {
            "extract_urls" => Some(texts::URL),
            "extract_paths" => Some(texts::PATH),
            "extract_dates" => Some(texts::DATE),
            _ => None,
        };
        let wanted = match fixed {
            Some(fixed) => pattern("pattern", fixed)?,
            None => given.pattern()?,
        };
        let of = if fixed.is_some() { given.items()? } else { given.pieces_of()? };
        let read: Vec<PieceLines<'_>> =
            of.iter().map(|piece| lines_of(&self.files, piece)).collect::<Result<_, _>>()?;
        Ok(match name {
            "grep" | "grep_v" => {
                let (is_wanted, around) = (name == "grep", given.number(0)?);
                let found = read.iter().flat_map(|it| texts::grep(it, &wanted, is_wanted, around));
                Found::Pieces(found.collect())
            }
            "count_matches" => {
                Found::Count(read.iter().map(|it| texts::count_matches(it, &wanted)).sum())
            }
            _ => Found::Matches(read.iter().flat_map(|it| texts::find_all(it, &wanted)).collect()),
        })
    }

    /// Calls a helper that reorders or groups texts.
    fn sorted(&mut self, name: &str, given: &mut GivenArguments<'_>) -> Result<MontyObject, Wrong> {
        let items = given.items()?;
        let texts: Vec<String> = items
            .iter()
            .map(|it| Ok(lines_of(&self.files, it)?.text()))
            .collect::<Result<_, Wrong>>()?;
        let both = items.into_iter().zip(texts);
        Ok(match name {
            "rank" => {
                let query = given.text()?;
                let (items, texts): (Vec<Piece>, Vec<String>) = both.unzip();
                let order = texts::ranked(&texts, &query);
                let ranked = order.into_iter().filter_map(|at| items.get(at).cloned());
                self.list(name, ranked.map(of_piece).collect())
            }
            "dedupe" => {
                let mut seen = BTreeSet::new();
                let new = both.filter(|(_, text)| seen.insert(text.trim().to_owned()));
                let new = new.map(|(piece, _)| of_piece(piece)).collect();
                self.list(name, new)
            }
            "frequency" => {
                let pair = |(text, count)| {
                    MontyObject::Tuple(vec![MontyObject::String(text), of_count(count)])
                };
                let counted = texts::frequency(both.map(|(_, text)| text));
                self.list(name, counted.into_iter().map(pair).collect())
            }
            "partition" => {
                let wanted = given.pattern()?;
                let (with, without): (Vec<_>, Vec<_>) =
                    both.partition(|(_, text)| wanted.is_match(text));
                let mut half = |half: Vec<(Piece, String)>| {
                    self.list(name, half.into_iter().map(|(piece, _)| of_piece(piece)).collect())
                };
                MontyObject::Tuple(vec![half(with), half(without)])
            }
            _ => {
                let wanted = given.pattern()?;
                let mut groups: BTreeMap<String, Vec<MontyObject>> = BTreeMap::new();
                for (piece, text) in both {
                    let key = texts::first_match(&wanted, &text);
                    groups.entry(key).or_default().push(of_piece(piece));
                }
                let group = |(key, list)| (MontyObject::String(key), MontyObject::List(list));
                MontyObject::dict(groups.into_iter().map(group).collect::<Vec<_>>())
            }
        })
    }

    fn joined(&self, pieces: &[Piece]) -> Result<String, Wrong> {
        let texts = pieces.iter().map(|piece| Ok(lines_of(&self.files, piece)?.text()));
        Ok(texts.collect::<Result<Vec<_>, Wrong>>()?.join("\n"))
    }

    fn cite(&self, given: &mut GivenArguments<'_>) -> Result<Cite, Wrong> {
        let piece = given.piece()?;
        lines_of(&self.files, &piece)?;
        let Piece::Span(span) = piece else {
            return Err(Wrong::value("only lines of a file can be cited"));
        };
        let claim = given.text()?.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut points = || given.number(5).map(|points| u8::try_from(points.min(9)).unwrap_or(9));
        let (novelty, weight) = (points()?, points()?);
        Ok(Cite { span, claim, novelty, weight })
    }

    /// Converts a question: a text, or a pair of a text and what only this question is about.
    fn question(&self, value: MontyObject) -> Result<ProgramQuestion, Wrong> {
        let wrong = || Wrong::kind("a question must be a str, or a tuple (str, x)");
        match value {
            MontyObject::String(text) => Ok(ProgramQuestion { text, about: Vec::new() }),
            MontyObject::Tuple(pair) => {
                let [MontyObject::String(text), about] =
                    <[MontyObject; 2]>::try_from(pair).map_err(|_| wrong())?
                else {
                    return Err(wrong());
                };
                let about = self.excerpts(pieces(&self.files, "x", about)?)?;
                Ok(ProgramQuestion { text, about })
            }
            _ => Err(wrong()),
        }
    }

    fn excerpts(&self, pieces: Vec<Piece>) -> Result<Vec<Excerpt>, Wrong> {
        let excerpt = |piece: Piece| {
            let text = lines_of(&self.files, &piece)?.text();
            let place = match piece {
                Piece::Text(_) => None,
                Piece::Span(span) => {
                    let of = self.files.lines_of(&span.path);
                    let of = of.map_err(|error| Wrong::value(error.to_string()))?;
                    Some((span, of))
                }
            };
            Ok(Excerpt { place, text })
        };
        pieces.into_iter().map(excerpt).collect()
    }

    /// Returns a list, cut to its limit.
    fn list(&mut self, name: &str, mut items: Vec<MontyObject>) -> MontyObject {
        if items.len() > MAX_ITEMS {
            self.note(format!("{name} returned the first {MAX_ITEMS} of {}", items.len()));
            items.truncate(MAX_ITEMS);
        }
        MontyObject::List(items)
    }

    /// Returns a text, cut to its limit.
    fn text(&mut self, name: &str, mut text: String, most: usize) -> MontyObject {
        if text.len() > most {
            self.note(format!("{name} returned the first {most} of {} bytes", text.len()));
            text.truncate(text.floor_char_boundary(most));
        }
        MontyObject::String(text)
    }

    /// Adds a note, unless it is a duplicate or there are too many.
    pub(crate) fn note(&mut self, note: String) {
        const MOST: usize = 50;
        if self.notes.len() < MOST && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The result of a search for a pattern.
enum Found {
    Pieces(Vec<Piece>),
    Matches(Vec<(String, Option<SourceLines>)>),
    Count(usize),
}

fn asks(
    is_recursive: bool,
    questions: Vec<ProgramQuestion>,
    about: Vec<Excerpt>,
    is_list: bool,
) -> Result<Called, Wrong> {
    let own = questions.iter().flat_map(|question| &question.about);
    let bytes: usize = own.chain(&about).map(|excerpt| excerpt.text.len()).sum();
    if bytes > MAX_ASKED {
        let error =
            format!("the texts of one batch of questions may have at most {MAX_ASKED} bytes");
        return Err(Wrong::value(error));
    }
    if questions.is_empty() {
        return Ok(Called::Value(MontyObject::List(Vec::new())));
    }
    Ok(Called::Asks(Batch { is_recursive, about, questions }, is_list))
}
