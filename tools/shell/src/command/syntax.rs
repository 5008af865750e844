//! A command line read by the grammar of bash into simple commands; what has more than those is told, not interpreted. Pure.
//!
//! The grammar says where words and operators are. Each word is then read once more by itself, and between two of them
//! there must be nothing but blanks: what the grammar skips or mends is not taken for understood.

use policy::{Assignment, Join, Opaque, SimpleCommand};
use tree_sitter::{Node, Parser, Tree};

use super::word::{self, Word};

/// Bytes of a line that are read.
const MAX_BYTES: usize = 4096;
/// Opening brackets of a line that are read.
const MAX_OPENED: usize = 64;
/// Pipes of a line that are read. Where a line has an error, the grammar compares all ways to go on behind it, and each pipe doubles
/// them.
const MAX_PIPES: usize = 16;
/// Words that a shell takes for a part of its own syntax where a command could begin. `time` is a program, too.
const KEYWORDS: [&str; 21] = [
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "in", "select", "then", "until", "while", "{", "}", "]]",
];

/// What a line says.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Its simple commands, in order.
    pub(super) segments: Vec<SimpleCommand>,
    /// Whether there is more to it than the words of one command.
    pub(super) needs_shell: bool,
    /// Whether it has an operator other than `&&`.
    pub(super) masks_failure: bool,
}

/// What is known of a line that has more than simple commands.
#[derive(Debug)]
pub(super) struct Glimpse {
    /// What it has.
    pub(super) what: Opaque,
    /// The simple commands that can be found in it, as far as they can be read.
    pub(super) segments: Vec<SimpleCommand>,
    /// Whether it has an operator other than `&&`.
    pub(super) masks_failure: bool,
    /// Whether the grammar has a place for all of it.
    pub(super) is_grammatical: bool,
}

/// Reads a line.
pub(super) fn read(text: &str) -> Result<Reading, Glimpse> {
    let Some(nested) = word::with_brackets(text) else {
        return Err(glimpse_of_text(text, Opaque::Substitution));
    };
    let text = nested.as_ref();
    let opened = text.bytes().filter(|byte| b"([{".contains(byte)).count();
    let is_readable =
        text.len() <= MAX_BYTES && opened <= MAX_OPENED && word::pipes(text) <= MAX_PIPES;
    let Some(tree) = is_readable.then(|| parse(text)).flatten() else {
        return Err(glimpse_of_text(text, Opaque::TooLong));
    };
    let mut walk =
        Walk { text, reading: Reading::default(), open: None, join: Join::First, end: 0 };
    match walk.program(&tree) {
        Ok(()) => Ok(walk.reading),
        Err(what) if tree.root_node().has_error() => Err(glimpse_of_text(text, what)),
        Err(what) => Err(glimpse(text, &tree, what)),
    }
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(text, None)
}

/// A way through the tree, in the order of the text.
struct Walk<'a> {
    text: &'a str,
    reading: Reading,
    /// The command whose words are being read.
    open: Option<SimpleCommand>,
    /// How the next command follows.
    join: Join,
    /// Where the last word or operator ended.
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

    /// Takes in a node; true if its children are to be taken in instead.
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

    /// The source between the last word or operator and this one.
    fn gap(&self, start: usize) -> &str {
        self.text.get(self.end..start).unwrap_or("?")
    }

    /// What stands between two parts must be blanks, or new lines where commands end.
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

    /// As [`Self::reach`], for what only a blank or an operator may stand before.
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
        // Shells do not agree on what more than one means.
        if segment.negated || !segment.words.is_empty() || !segment.assignments.is_empty() {
            return Err(Opaque::Dialect);
        }
        segment.negated = true;
        Ok(())
    }

    fn assignment(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        let source = self.reach_word(node)?;
        let (name, value) = source.split_once('=').ok_or(Opaque::Dialect)?;
        let value = word::read(value)?.value;
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
        let word = word::read(self.reach_word(node)?)?;
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

    /// To `/dev/null` or another descriptor it is harmless; else it is a write or a read that no word shows.
    fn redirect(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        self.reading.needs_shell = true;
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut parts = parts.into_iter().peekable();
        let descriptor = parts.next_if(|part| part.kind() == "file_descriptor");
        let operator = parts.next().ok_or(Opaque::Unreadable)?;
        if let Some(descriptor) = descriptor {
            let digits = self.reach_word(descriptor)?;
            // Shells do not agree on longer numbers.
            if digits.len() != 1 || descriptor.end_byte() != operator.start_byte() {
                return Err(Opaque::Dialect);
            }
        }
        self.reach(operator)?;
        let target = parts.next().ok_or(Opaque::Unreadable)?;
        let to = word::read(self.reach(target)?)?.value;
        let is_digit = matches!(to.as_bytes(), [b'0'..=b'9']);
        // `2>&1>x`: some shells take the last digit for a descriptor.
        if self.text.get(self.end..).is_some_and(|rest| rest.starts_with(['<', '>'])) {
            return Err(Opaque::Dialect);
        }
        match operator.kind() {
            ">" | ">>" | "<" if to == "/dev/null" => {}
            ">&" | "<&" if is_digit => {}
            "&>" | "&>>" => return Err(Opaque::Dialect),
            _ => return Err(Opaque::Redirection),
        }
        // What follows a target are words of the command again.
        parts.try_for_each(|part| self.word(part))
    }
}

/// Whether a variable can have this name.
fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a node stands for a word of a command.
fn is_word(node: Node<'_>) -> bool {
    let of_command = node.parent().is_some_and(|parent| parent.kind() == "command");
    // `==` and `]` are words of a command, too.
    of_command
        || matches!(
            node.kind(),
            "command_name" | "word" | "string" | "raw_string" | "concatenation" | "number"
        )
}

/// What can be seen of a line that the grammar can read and this program does not judge.
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

/// The words of a command as far as they can be read, and their source where they cannot.
fn loose_segment(text: &str, node: Node<'_>) -> SimpleCommand {
    let mut cursor = node.walk();
    let words = node.children(&mut cursor).filter(|child| child.kind() != "variable_assignment");
    let source = |child: Node<'_>| text.get(child.byte_range()).unwrap_or_default().to_owned();
    let read = |child| word::read(&source(child)).map_or_else(|_| source(child), |word| word.value);
    loose(words.map(read).collect())
}

/// What can be seen of a line that is not read: its words as they stand.
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
