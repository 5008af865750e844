//! Parses a command line with the bash grammar into simple commands; anything else in it is reported, not interpreted.
//! Pure.
//!
//! The grammar locates words and operators. Each word is then parsed again on its own, and only blanks may separate two
//! of them: text that the grammar skips or repairs does not count as understood.

use policy::{Assignment, Join, Opaque, SimpleCommand};
use tools::encoding::latin1_only;
use tree_sitter::{Node, Parser, Tree};

use super::word::{self, Word};

/// Maximum length of a line that is parsed, in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum number of opening brackets in a line that is parsed.
const MAX_OPENED: usize = 64;
/// Maximum number of pipes in a line that is parsed. After an error, the grammar compares all ways to continue, and
/// each pipe doubles their number.
const MAX_PIPES: usize = 16;
/// Words that are shell syntax where a command could begin. `time` is left out because it is also a program.
const KEYWORDS: [&str; 21] = [
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "in", "select", "then", "until", "while", "{", "}", "]]",
];

/// A line made of simple commands.
#[derive(Debug, Default)]
pub(super) struct SyntaxReading {
    /// Its simple commands, in order.
    pub(super) segments: Vec<SimpleCommand>,
    /// True if the line is more than the words of one command.
    pub(super) needs_shell: bool,
    /// True if the line has an operator other than `&&`.
    pub(super) masks_failure: bool,
}

/// What is known about a line that is not just simple commands.
#[derive(Debug)]
pub(super) struct Glimpse {
    /// The reason why the line is opaque.
    pub(super) what: Opaque,
    /// The simple commands that can be found in the line, as far as they can be parsed.
    pub(super) segments: Vec<SimpleCommand>,
    /// True if the line has an operator other than `&&`.
    pub(super) masks_failure: bool,
    /// True if the whole line fits the grammar.
    pub(super) is_grammatical: bool,
}

/// Parses a line.
pub(super) fn read_syntax(text: &str) -> Result<SyntaxReading, Glimpse> {
    let Some(nested) = word::with_brackets(text) else {
        return Err(glimpse_of_text(text, Opaque::Substitution));
    };
    let text = nested.as_ref();
    let Some(tree) = tree(text) else {
        return Err(glimpse_of_text(text, Opaque::TooLong));
    };
    let mut walk =
        Walk { text, reading: SyntaxReading::default(), open: None, join: Join::First, end: 0 };
    match walk.program(&tree) {
        Ok(()) => Ok(walk.reading),
        Err(what) if tree.root_node().has_error() => Err(glimpse_of_text(text, what)),
        Err(what) => Err(glimpse(text, &tree, what)),
    }
}

/// Parses a line that fits the grammar, and hands its source without backquotes and its root to `use_it`.
pub(super) fn with_tree<T>(text: &str, use_it: impl FnOnce(&str, Node<'_>) -> T) -> Option<T> {
    let nested = word::with_brackets(text)?;
    let tree = tree(&nested).filter(|tree| !tree.root_node().has_error())?;
    Some(use_it(&nested, tree.root_node()))
}

/// Parses a line, unless it is too long or nested too deeply.
fn tree(text: &str) -> Option<Tree> {
    let opened = text.bytes().filter(|byte| b"([{".contains(byte)).count();
    let is_readable =
        text.len() <= MAX_BYTES && opened <= MAX_OPENED && word::pipes(text) <= MAX_PIPES;
    is_readable.then(|| parse(text)).flatten()
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(latin1_only(text).as_ref(), None)
}

/// A traversal of the syntax tree, in text order.
struct Walk<'a> {
    text: &'a str,
    reading: SyntaxReading,
    /// The command whose words are being collected.
    open: Option<SimpleCommand>,
    /// How the next command is joined to this one.
    join: Join,
    /// The end of the last word or operator.
    end: usize,
}

impl Walk<'_> {
    fn program(&mut self, tree: &Tree) -> Result<(), Opaque> {
        if tree.root_node().has_error() {
            return Err(Opaque::Unreadable);
        }
        let mut cursor = tree.walk();
        loop {
            let goes_down = self.node(cursor.node())?;
            if goes_down && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return self.finish();
                }
            }
        }
    }

    fn finish(&mut self) -> Result<(), Opaque> {
        let rest = self.text.get(self.end..).unwrap_or_default();
        self.close();
        let has_word =
            |segment: &SimpleCommand| !segment.words.is_empty() || !segment.assignments.is_empty();
        let is_whole = rest.trim_matches([' ', '\t', '\n']).is_empty();
        let all = is_whole && self.reading.segments.iter().all(has_word);
        if all { Ok(()) } else { Err(Opaque::Unreadable) }
    }

    /// Handles a node. Returns true if its children are to be handled instead.
    fn node(&mut self, node: Node<'_>) -> Result<bool, Opaque> {
        match node.kind() {
            "program"
            | "list"
            | "pipeline"
            | "redirected_statement"
            | "negated_command"
            | "command"
            | "variable_assignments" => return Ok(true),
            "file_redirect" => self.redirect(node)?,
            "variable_assignment" => self.assignment(node)?,
            "comment" => self.pass(node)?,
            "&&" => self.operator(node, Join::And)?,
            "||" => self.operator(node, Join::Or)?,
            "|" => self.operator(node, Join::Pipe)?,
            ";" | "\n" => self.operator(node, Join::Then)?,
            "!" => self.negation(node)?,
            "&" => return Err(Opaque::Background),
            "|&"
            | "ansi_c_string"
            | "translated_string"
            | "herestring_redirect"
            | "process_substitution" => {
                return Err(Opaque::Dialect);
            }
            "heredoc_redirect" => return Err(Opaque::HereDocument),
            "subshell" => return Err(Opaque::Subshell),
            "brace_expression" => return Err(Opaque::Braces),
            _ if is_word(node) => self.word(node)?,
            _ => return Err(Opaque::Compound),
        }
        Ok(false)
    }

    /// Returns the source between the last word or operator and `start`.
    fn gap(&self, start: usize) -> &str {
        self.text.get(self.end..start).unwrap_or("?")
    }

    /// Advances to a node. Only blanks may precede it, or new lines where commands end.
    fn reach(&mut self, node: Node<'_>) -> Result<&str, Opaque> {
        let gap = self.gap(node.start_byte());
        if !gap.chars().all(|c| matches!(c, ' ' | '\t' | '\n')) {
            return Err(Opaque::Unreadable);
        }
        let begins_line = gap.contains('\n');
        if begins_line && self.open.is_some() {
            self.close();
            self.join = Join::Then;
            (self.reading.masks_failure, self.reading.needs_shell) = (true, true);
        }
        self.end = node.end_byte();
        Ok(self.source(node))
    }

    fn source(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Like [`Self::reach`], for a node that must directly follow a blank or an operator.
    fn reach_word(&mut self, node: Node<'_>) -> Result<&str, Opaque> {
        let before = self.text.get(..node.start_byte()).and_then(|text| text.chars().next_back());
        if !before.is_none_or(|c| " \t\n;&|".contains(c)) {
            return Err(Opaque::Unreadable);
        }
        self.reach(node)
    }

    fn pass(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        self.reading.needs_shell = true;
        self.reach_word(node).map(|_| ())
    }

    fn operator(&mut self, node: Node<'_>, join: Join) -> Result<(), Opaque> {
        self.reach(node)?;
        if self.open.is_none() && self.reading.segments.is_empty() {
            return Err(Opaque::Unreadable);
        }
        self.close();
        self.join = join;
        self.reading.needs_shell = true;
        self.reading.masks_failure |= join != Join::And;
        Ok(())
    }

    fn negation(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        self.reach_word(node)?;
        self.reading.needs_shell = true;
        let segment = self.segment();
        // Shells disagree on the meaning of more than one.
        if segment.negated || !segment.words.is_empty() || !segment.assignments.is_empty() {
            return Err(Opaque::Dialect);
        }
        segment.negated = true;
        Ok(())
    }

    fn assignment(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        let source = self.reach_word(node)?;
        let (name, value) = source.split_once('=').ok_or(Opaque::Dialect)?;
        let value = word::read_word(value)?.value;
        if !is_name(name) {
            return Err(Opaque::Dialect);
        }
        let assignment = Assignment { name: name.to_owned(), value };
        self.reading.needs_shell = true;
        let segment = self.segment();
        if !segment.words.is_empty() {
            return Err(Opaque::Unreadable);
        }
        segment.assignments.push(assignment);
        Ok(())
    }

    fn word(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        let word = word::read_word(self.reach_word(node)?)?;
        self.take(word)
    }

    fn take(&mut self, word: Word) -> Result<(), Opaque> {
        self.reading.needs_shell |= word.expands;
        let segment = self.segment();
        if segment.words.is_empty() && !word.quoted {
            let is_keyword = KEYWORDS.contains(&word.value.as_str());
            let is_set = word.value.split_once('=').is_some_and(|(name, _)| is_name(name));
            if is_keyword || is_set {
                return Err(Opaque::Compound);
            }
        }
        segment.expands |= word.expands;
        segment.words.push(word.value);
        Ok(())
    }

    fn segment(&mut self) -> &mut SimpleCommand {
        let join = self.join;
        self.open.get_or_insert_with(|| SimpleCommand {
            join,
            negated: false,
            assignments: Vec::new(),
            words: Vec::new(),
            expands: false,
        })
    }

    fn close(&mut self) {
        self.reading.segments.extend(self.open.take());
    }

    /// Handles a redirection. One to `/dev/null` or another descriptor is harmless; any other reads or writes a file
    /// that no word shows.
    fn redirect(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        self.reading.needs_shell = true;
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut parts = parts.into_iter().peekable();
        let descriptor = parts.next_if(|part| part.kind() == "file_descriptor");
        let operator = parts.next().ok_or(Opaque::Unreadable)?;
        if let Some(descriptor) = descriptor {
            let digits = self.reach_word(descriptor)?;
            // Shells disagree on longer numbers.
            if digits.len() != 1 || descriptor.end_byte() != operator.start_byte() {
                return Err(Opaque::Dialect);
            }
        }
        self.reach(operator)?;
        let target = parts.next().ok_or(Opaque::Unreadable)?;
        let to = word::read_word(self.reach(target)?)?.value;
        let is_digit = matches!(to.as_bytes(), [b'0'..=b'9']);
        // `2>&1>x`: some shells take the last digit as a descriptor.
        if self.text.get(self.end..).is_some_and(|rest| rest.starts_with(['<', '>'])) {
            return Err(Opaque::Dialect);
        }
        match operator.kind() {
            ">" | ">>" | "<" if to == "/dev/null" => {}
            ">&" | "<&" if is_digit => {}
            "&>" | "&>>" => return Err(Opaque::Dialect),
            _ => return Err(Opaque::Redirection),
        }
        // What follows a target belongs to the words of the command again.
        parts.try_for_each(|part| self.word(part))
    }
}

/// Returns whether a variable can have this name.
fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether a node is a word of a command.
fn is_word(node: Node<'_>) -> bool {
    let of_command = node.parent().is_some_and(|parent| parent.kind() == "command");
    // `==` and `]` are words of a command as well.
    of_command
        || matches!(
            node.kind(),
            "command_name" | "word" | "string" | "raw_string" | "concatenation" | "number"
        )
}

/// Finds the commands in a line that the grammar can parse but that is not judged.
fn glimpse(text: &str, tree: &Tree, what: Opaque) -> Glimpse {
    const MASKS: [&str; 9] = ["|", "||", "|&", ";", "&", "\n", "&>", "&>>", ";;"];
    let mut segments = Vec::new();
    let mut masks_failure = text.contains('\n');
    let mut cursor = tree.walk();
    'nodes: loop {
        let node = cursor.node();
        masks_failure |= MASKS.contains(&node.kind());
        if node.kind() == "command" {
            segments.push(loose_segment(text, node));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'nodes;
            }
        }
    }
    if segments.is_empty() {
        segments.push(loose(text.split_whitespace().map(str::to_owned).collect()));
    }
    Glimpse { what, segments, masks_failure, is_grammatical: true }
}

/// Returns the words of a command as far as they can be parsed; other words as their source.
fn loose_segment(text: &str, node: Node<'_>) -> SimpleCommand {
    let mut cursor = node.walk();
    let words = node.children(&mut cursor).filter(|child| child.kind() != "variable_assignment");
    let source = |child: Node<'_>| text.get(child.byte_range()).unwrap_or_default().to_owned();
    let read =
        |child| word::read_word(&source(child)).map_or_else(|_| source(child), |word| word.value);
    loose(words.map(read).collect())
}

/// Splits a line that is not parsed at white space.
fn glimpse_of_text(text: &str, what: Opaque) -> Glimpse {
    let masks_failure = text.replace("&&", "").contains(['|', ';', '&', '\n']);
    let segments = vec![loose(text.split_whitespace().map(str::to_owned).collect())];
    Glimpse { what, segments, masks_failure, is_grammatical: false }
}

fn loose(words: Vec<String>) -> SimpleCommand {
    SimpleCommand {
        join: Join::First,
        negated: false,
        assignments: Vec::new(),
        words,
        expands: false,
    }
}
