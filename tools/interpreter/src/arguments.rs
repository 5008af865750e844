//! The arguments of a helper: binds them to its parameters, and converts them from and to Python objects.

use monty::FunctionCall;
use monty_types::{ExcType, MontyException, MontyObject};
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::globs;
use crate::pieces::{Files, Piece, PieceLines, SourceLines};

/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The field names of a span (lines of a file), and of a match.
const SPAN: [&str; 3] = ["path", "first", "last"];
const FOUND: [&str; 2] = ["text", "span"];

/// An error in a call; raised as an exception in Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    kind: ExcType,
    text: String,
}

impl Wrong {
    /// An argument has the right type but an invalid value.
    pub(crate) fn value(text: impl Into<String>) -> Self {
        Self { kind: ExcType::ValueError, text: text.into() }
    }

    /// An argument has the wrong type.
    pub(crate) fn kind(text: impl Into<String>) -> Self {
        Self { kind: ExcType::TypeError, text: text.into() }
    }

    /// The name is not defined.
    pub(crate) fn unknown(name: &str) -> Self {
        Self { kind: ExcType::NameError, text: format!("name '{name}' is not defined") }
    }

    /// Returns the exception to raise for a call of `name`.
    pub(crate) fn exception(self, name: &str) -> MontyException {
        let text = match self.kind {
            ExcType::NameError => self.text,
            _ => format!("{name}: {}", self.text),
        };
        MontyException::new(self.kind, Some(text))
    }
}

/// The arguments of a call, consumed in the order of the parameters.
pub(crate) struct GivenArguments<'g> {
    files: &'g Files,
    values: std::vec::IntoIter<(&'static str, Option<MontyObject>)>,
}

impl<'g> GivenArguments<'g> {
    /// Binds the arguments of a call to parameters. An argument of `None` counts as omitted.
    pub(crate) fn of(
        call: &mut FunctionCall,
        parameters: &'static [&'static str],
        files: &'g Files,
    ) -> Result<Self, Wrong> {
        let (args, named) = (std::mem::take(&mut call.args), std::mem::take(&mut call.kwargs));
        let takes = || parameters.join(", ");
        if args.len() > parameters.len() {
            return Err(Wrong::kind(format!("too many arguments; it takes {}", takes())));
        }
        let name = |parameter: &&'static str| parameter.split('=').next().unwrap_or_default();
        let mut values: Vec<_> = parameters.iter().map(|it| (name(it), None)).collect();
        for ((_, slot), value) in values.iter_mut().zip(args) {
            *slot = Some(value);
        }
        for (name, value) in named {
            let MontyObject::String(name) = name else { continue };
            let free = values.iter_mut().find(|(it, slot)| *it == name && slot.is_none());
            let Some((_, slot)) = free else {
                return Err(Wrong::kind(format!(
                    "unexpected or repeated argument `{name}`; it takes {}",
                    takes()
                )));
            };
            *slot = Some(value);
        }
        for (_, slot) in &mut values {
            slot.take_if(|it| *it == MontyObject::None);
        }
        Ok(Self { files, values: values.into_iter() })
    }

    fn next(&mut self) -> (&'static str, Option<MontyObject>) {
        self.values.next().unwrap_or_default()
    }

    /// Takes an optional argument.
    pub(crate) fn any(&mut self) -> Option<MontyObject> {
        self.next().1
    }

    fn needed(&mut self) -> Result<(&'static str, MontyObject), Wrong> {
        let (name, value) = self.next();
        Ok((name, value.ok_or_else(|| Wrong::kind(format!("`{name}` is missing")))?))
    }

    /// Takes a non-negative number, or the default.
    pub(crate) fn number(&mut self, otherwise: usize) -> Result<usize, Wrong> {
        match self.next() {
            (_, None) => Ok(otherwise),
            (_, Some(MontyObject::Int(number))) if number >= 0 => {
                Ok(usize::try_from(number).unwrap_or(usize::MAX))
            }
            (name, Some(_)) => Err(Wrong::kind(format!("`{name}` must be a non-negative int"))),
        }
    }

    /// Takes a text, unchanged.
    pub(crate) fn text(&mut self) -> Result<String, Wrong> {
        let (name, value) = self.needed()?;
        text(name, value)
    }

    /// Takes a regular expression.
    pub(crate) fn pattern(&mut self) -> Result<Regex, Wrong> {
        let (name, value) = self.needed()?;
        pattern(name, &text(name, value)?)
    }

    /// Takes an optional glob.
    pub(crate) fn glob_if_any(&mut self) -> Result<Option<Regex>, Wrong> {
        let (name, value) = self.next();
        value.map(|value| pattern(name, &globs::regular(&text(name, value)?))).transpose()
    }

    /// Takes a piece of text to read. A path must be that of an existing file.
    pub(crate) fn piece(&mut self) -> Result<Piece, Wrong> {
        let (name, value) = self.needed()?;
        is_there(piece(self.files, name, value)?)
    }

    /// Takes pieces of text to read: one, or a list of them.
    pub(crate) fn pieces_of(&mut self) -> Result<Vec<Piece>, Wrong> {
        self.items()?.into_iter().map(is_there).collect()
    }

    /// Takes pieces of text that may be paths not meant to be read: one, or a list of them.
    pub(crate) fn items(&mut self) -> Result<Vec<Piece>, Wrong> {
        let (name, value) = self.needed()?;
        pieces(self.files, name, value)
    }

    /// Takes optional pieces of text.
    pub(crate) fn pieces_if_any(&mut self) -> Result<Vec<Piece>, Wrong> {
        let (name, value) = self.next();
        value.map_or(Ok(Vec::new()), |value| pieces(self.files, name, value))
    }

    /// Takes a list.
    pub(crate) fn list(&mut self) -> Result<Vec<MontyObject>, Wrong> {
        match self.needed()? {
            (_, MontyObject::List(list) | MontyObject::Tuple(list)) => Ok(list),
            (name, other) => {
                Err(Wrong::kind(format!("`{name}` must be a list, not {}", other.type_name())))
            }
        }
    }
}

fn text(name: &str, value: MontyObject) -> Result<String, Wrong> {
    match value {
        MontyObject::String(text) => Ok(text),
        other => Err(Wrong::kind(format!("`{name}` must be a str, not {}", other.type_name()))),
    }
}

/// Compiles a regular expression of bounded size.
pub(crate) fn pattern(name: &str, text: &str) -> Result<Regex, Wrong> {
    let compiled = RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build();
    compiled.map_err(|error| {
        Wrong::value(format!("`{name}` is not a valid regular expression: {error}"))
    })
}

/// Returns the piece, or an error if it is a text that can only be meant as a path. The path of an existing file would
/// already be a span.
fn is_there(piece: Piece) -> Result<Piece, Wrong> {
    match &piece {
        Piece::Text(text) if globs::is_surely_path(text) => {
            let files = "files() lists the files of this program";
            Err(Wrong::value(format!("there is no file {text}; {files}")))
        }
        Piece::Text(_) | Piece::Span(_) => Ok(piece),
    }
}

/// Converts a value to a piece of text: lines of a file, a match, the path of a file, or any other text.
pub(crate) fn piece(files: &Files, name: &str, value: MontyObject) -> Result<Piece, Wrong> {
    match value {
        MontyObject::String(text) => Ok(files.meant(text)),
        MontyObject::NamedTuple { field_names, values, .. } => {
            let of = |fields: &[&str]| field_names.iter().eq(fields);
            match values.as_slice() {
                [MontyObject::String(path), MontyObject::Int(first), MontyObject::Int(last)]
                    if of(&SPAN) =>
                {
                    let line = |number: i64| usize::try_from(number).unwrap_or_default();
                    let (first, last) = (line(*first), line(*last));
                    Ok(Piece::Span(SourceLines { path: path.clone(), first, last }))
                }
                [MontyObject::String(text), MontyObject::None] if of(&FOUND) => {
                    Ok(Piece::Text(text.clone()))
                }
                [_, span] if of(&FOUND) => piece(files, name, span.clone()),
                _ => Err(not_a_piece(name, "another tuple")),
            }
        }
        other => Err(not_a_piece(name, other.type_name())),
    }
}

fn not_a_piece(name: &str, given: &str) -> Wrong {
    Wrong::kind(format!("`{name}` must be a text or lines of a file, not {given}"))
}

/// Converts a value to pieces of text: one, or a list of them.
pub(crate) fn pieces(files: &Files, name: &str, value: MontyObject) -> Result<Vec<Piece>, Wrong> {
    match value {
        MontyObject::List(list) | MontyObject::Tuple(list) => {
            list.into_iter().map(|one| piece(files, name, one)).collect()
        }
        one => Ok(vec![piece(files, name, one)?]),
    }
}

/// Returns the lines of a piece.
pub(crate) fn lines_of<'p>(files: &'p Files, piece: &'p Piece) -> Result<PieceLines<'p>, Wrong> {
    files.read(piece).map_err(|error| Wrong::value(error.to_string()))
}

/// Converts a piece to a Python object.
pub(crate) fn of_piece(piece: Piece) -> MontyObject {
    match piece {
        Piece::Text(text) => MontyObject::String(text),
        Piece::Span(span) => of_span(span),
    }
}

/// Converts a span to a Python object.
pub(crate) fn of_span(SourceLines { path, first, last }: SourceLines) -> MontyObject {
    let values = vec![MontyObject::String(path), of_count(first), of_count(last)];
    named_tuple("Span", &SPAN, values)
}

/// Converts a match to a Python object.
pub(crate) fn of_match((text, span): (String, Option<SourceLines>)) -> MontyObject {
    let values = vec![MontyObject::String(text), span.map_or(MontyObject::None, of_span)];
    named_tuple("Found", &FOUND, values)
}

fn named_tuple(name: &str, fields: &[&str], values: Vec<MontyObject>) -> MontyObject {
    let field_names = fields.iter().map(ToString::to_string).collect();
    MontyObject::NamedTuple { type_name: name.to_owned(), field_names, values }
}

/// Converts a count to a Python object.
pub(crate) fn of_count(count: usize) -> MontyObject {
    MontyObject::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Converts JSON to a Python object.
pub(crate) fn of_json(value: Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::None,
        Value::Bool(bool) => MontyObject::Bool(bool),
        Value::Number(number) => number.as_i64().map_or_else(
            || MontyObject::Float(number.as_f64().unwrap_or(f64::NAN)),
            MontyObject::Int,
        ),
        Value::String(text) => MontyObject::String(text),
        Value::Array(list) => MontyObject::List(list.into_iter().map(of_json).collect()),
        Value::Object(object) => MontyObject::dict(of_object(object)),
    }
}

fn of_object(object: Map<String, Value>) -> Vec<(MontyObject, MontyObject)> {
    object.into_iter().map(|(key, value)| (MontyObject::String(key), of_json(value))).collect()
}
