//! Parses a command line into the structure that its exit status depends on. Pure.
//!
//! Policy judges words and refuses to guess; this is for questions about a line that may run, such as whether it can
//! fail. What is not understood is [`ShellScript::Unknown`].

use tree_sitter::Node;

use super::syntax::with_tree;
use super::word;

/// What a shell runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellScript {
    /// One command.
    Step(ScriptStep),
    /// `! a`.
    Not(Box<Self>),
    /// `a | b`.
    Pipe(Vec<Self>),
    /// `a && b`.
    And(Box<[Self; 2]>),
    /// `a || b`.
    Or(Box<[Self; 2]>),
    /// `a; b`, possibly empty.
    List(Vec<Self>),
    /// `if a; then b; else c; fi`.
    If(Box<[Self; 3]>),
    /// `for x in …; do a; done`.
    For(Box<Self>),
    /// `while a; do b; done`, `until a; do b; done`.
    While(Box<[Self; 2]>),
    /// The branches of a `case`.
    Case(Vec<Self>),
    /// `(a)`.
    Subshell(Box<Self>),
    /// `a &`.
    Background(Box<Self>),
    /// Something that is not understood.
    Unknown,
}

/// One command of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptStep {
    /// The values assigned to variables before the program.
    pub values: Vec<String>,
    /// The program and its arguments without quotes; a word with a substitution as its source.
    pub words: Vec<String>,
    /// True if a word has a wildcard, a variable or a substitution.
    pub expands: bool,
}

/// Parses a command line.
pub(super) fn read_script(text: &str) -> ShellScript {
    with_tree(text, |text, root| Reader { text }.list(children(root)))
        .unwrap_or(ShellScript::Unknown)
}

/// Syntax that `sh` need not know, by the first word or the kind of its node, with what to write instead.
const DIALECT: [(&str, &str, &str); 8] = [
    ("[[", "[[", "write `[ … ]`"),
    ("((", "((", "write `[ … ]`"),
    ("herestring_redirect", "<<<", "write `printf '%s' … | …`"),
    ("process_substitution", "<(…)", "write `… | diff - file`"),
    ("|&", "|&", "write `2>&1 |`"),
    ("&>", "&>", "write `> … 2>&1`"),
    ("&>>", "&>>", "write `>> … 2>&1`"),
    ("ansi_c_string", "$'…'", "write `\"$(printf …)\"`"),
];

/// Returns the first syntax in a line that `sh` need not know, and what to write instead.
pub(super) fn dialect(text: &str) -> Option<(&'static str, &'static str)> {
    let find = |root: Node<'_>| {
        let mut cursor = root.walk();
        loop {
            let kind = cursor.node().kind();
            if let Some((_, shown, instead)) = DIALECT.iter().find(|(it, _, _)| *it == kind) {
                return Some((*shown, *instead));
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return None;
                }
            }
        }
    };
    with_tree(text, |_, root| find(root)).flatten()
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn source(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Parses statements and the operators that end them.
    fn list(&self, nodes: Vec<Node<'_>>) -> ShellScript {
        let mut list = Vec::new();
        for node in nodes {
            match node.kind() {
                "&" => {
                    let last = list.pop().unwrap_or(ShellScript::Unknown);
                    list.push(ShellScript::Background(Box::new(last)));
                }
                _ if node.is_named() && node.kind() != "comment" => list.push(self.statement(node)),
                _ => {}
            }
        }
        match <[ShellScript; 1]>::try_from(list) {
            Ok([only]) => only,
            Err(list) => ShellScript::List(list),
        }
    }

    fn statement(&self, node: Node<'_>) -> ShellScript {
        let inner = children(node);
        match node.kind() {
            "command"
            | "variable_assignment"
            | "variable_assignments"
            | "declaration_command"
            | "unset_command" => ShellScript::Step(self.step(node)),
            "test_command" => self.test(node),
            "redirected_statement" => self.redirected(inner),
            "negated_command" => ShellScript::Not(Box::new(self.list(inner))),
            "pipeline" => self.pipe(inner),
            "list" => self.and_or(&inner),
            "subshell" => ShellScript::Subshell(Box::new(self.list(inner))),
            // `((…))` is arithmetic.
            "compound_statement" if self.source(node).starts_with("((") => ShellScript::Unknown,
            "compound_statement" | "do_group" | "else_clause" => self.list(inner),
            "if_statement" | "elif_clause" => self.branch(inner),
            "for_statement" | "c_style_for_statement" => {
                let body = inner.into_iter().next_back().map(|body| self.statement(body));
                ShellScript::For(Box::new(body.unwrap_or(ShellScript::Unknown)))
            }
            "while_statement" => {
                let (body, condition): (Vec<_>, Vec<_>) =
                    inner.into_iter().partition(|it| it.kind() == "do_group");
                ShellScript::While(Box::new([self.list(condition), self.list(body)]))
            }
            "case_statement" => {
                let items = inner.into_iter().filter(|it| it.kind() == "case_item");
                ShellScript::Case(items.map(|item| self.case(item)).collect())
            }
            // Defining a function runs nothing.
            "function_definition" => ShellScript::List(Vec::new()),
            _ => ShellScript::Unknown,
        }
    }

    fn pipe(&self, nodes: Vec<Node<'_>>) -> ShellScript {
        let named = nodes.into_iter().filter(|it| it.is_named() && it.kind() != "comment");
        // The grammar nests the parts before a redirection.
        let flat = named.flat_map(|node| {
            let part = self.statement(node);
            if let ShellScript::Pipe(parts) = part { parts } else { vec![part] }
        });
        let mut parts: Vec<ShellScript> = flat.collect();
        // A leading `!` negates the whole pipe.
        match parts.first_mut() {
            Some(first @ ShellScript::Not(_)) => {
                if let ShellScript::Not(inner) = std::mem::replace(first, ShellScript::Unknown) {
                    *first = *inner;
                }
                ShellScript::Not(Box::new(ShellScript::Pipe(parts)))
            }
            _ => ShellScript::Pipe(parts),
        }
    }

    fn and_or(&self, nodes: &[Node<'_>]) -> ShellScript {
        let named: Vec<_> =
            nodes.iter().filter(|it| it.is_named() && it.kind() != "comment").collect();
        let is_or = nodes.iter().any(|it| it.kind() == "||");
        let [left, right] = named.as_slice() else { return ShellScript::Unknown };
        let both = Box::new([self.statement(**left), self.statement(**right)]);
        if is_or { ShellScript::Or(both) } else { ShellScript::And(both) }
    }

    fn branch(&self, nodes: Vec<Node<'_>>) -> ShellScript {
        let (mut when, mut then, mut otherwise) = (Vec::new(), Vec::new(), None);
        let mut rest = nodes.into_iter();
        when.extend(rest.by_ref().take_while(|node| node.kind() != "then"));
        let mut elifs = Vec::new();
        for node in rest {
            match node.kind() {
                "elif_clause" => elifs.push(node),
                "else_clause" => otherwise = Some(self.statement(node)),
                _ => then.push(node),
            }
        }
        let mut last = otherwise.unwrap_or(ShellScript::List(Vec::new()));
        for elif in elifs.into_iter().rev() {
            let ShellScript::If(parts) = self.statement(elif) else { return ShellScript::Unknown };
            let [when, then, _] = *parts;
            last = ShellScript::If(Box::new([when, then, last]));
        }
        ShellScript::If(Box::new([self.list(when), self.list(then), last]))
    }

    fn case(&self, item: Node<'_>) -> ShellScript {
        let nodes = children(item);
        let bracket = nodes.iter().position(|it| it.kind() == ")").map_or(0, |at| at + 1);
        self.list(nodes.into_iter().skip(bracket).collect())
    }

    fn redirected(&self, nodes: Vec<Node<'_>>) -> ShellScript {
        let mut statement = ShellScript::Step(ScriptStep::default());
        for node in nodes {
            match node.kind() {
                "file_redirect" => {
                    // What follows a target belongs to the words of the command again.
                    let more = children(node).into_iter().filter(Node::is_named);
                    let more = more.skip_while(|it| it.kind() == "file_descriptor").skip(1);
                    if let ShellScript::Step(step) = &mut statement {
                        more.for_each(|word| self.word(word, step));
                    }
                }
                "herestring_redirect" => {}
                // The grammar puts the rest of the line into a here-document.
                "heredoc_redirect" => {
                    let parts = ["heredoc_start", "heredoc_body", "heredoc_end"];
                    if children(node).iter().any(|it| it.is_named() && !parts.contains(&it.kind()))
                    {
                        return ShellScript::Unknown;
                    }
                }
                _ => statement = self.statement(node),
            }
        }
        statement
    }

    fn step(&self, node: Node<'_>) -> ScriptStep {
        let mut step = ScriptStep::default();
        if node.kind() == "variable_assignment" {
            self.value(node, &mut step);
            return step;
        }
        for child in children(node) {
            match child.kind() {
                "variable_assignment" if node.kind() != "declaration_command" => {
                    self.value(child, &mut step);
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {}
                _ => self.word(child, &mut step),
            }
        }
        step
    }

    fn value(&self, assignment: Node<'_>, step: &mut ScriptStep) {
        let value = self.source(assignment).split_once('=').map_or("", |(_, value)| value);
        step.values.push(value.to_owned());
    }

    fn word(&self, node: Node<'_>, step: &mut ScriptStep) {
        let source = self.source(node);
        let read = word::read_word(source);
        step.expands |= read.as_ref().map_or(true, |word| word.expands);
        step.words.push(read.map_or_else(|_| source.to_owned(), |word| word.value));
    }

    /// Parses `[ … ]` and `[[ … ]]` as the same condition of `test`.
    fn test(&self, node: Node<'_>) -> ShellScript {
        let source = self.source(node);
        let inner = source.trim_start_matches('[').trim_end_matches(']').trim();
        let read = read_script(&format!("test {inner}"));
        // `[[ a && b ]]` is not one command of `test`.
        if matches!(read, ShellScript::Step(_)) { read } else { ShellScript::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(words: &str) -> ShellScript {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        ShellScript::Step(ScriptStep { words, ..ScriptStep::default() })
    }

    #[test]
    fn operators_and_compound_commands_are_parsed() {
        let [a, b, c, d] = ["a x", "b", "c", "d"].map(step);
        let and = |one: &ShellScript, other: &ShellScript| {
            ShellScript::And(Box::new([one.clone(), other.clone()]))
        };
        let or = |one: &ShellScript, other: &ShellScript| {
            ShellScript::Or(Box::new([one.clone(), other.clone()]))
        };
        let nothing = ShellScript::List(Vec::new());
        let list = |parts: &[&ShellScript]| {
            ShellScript::List(parts.iter().map(|it| (*it).clone()).collect())
        };
        let boxed = |script: &ShellScript| Box::new(script.clone());
        let parts = |all: &[&ShellScript]| all.iter().map(|it| (*it).clone()).collect::<Vec<_>>();
        for (text, script) in [
            ("a x", a.clone()),
            ("a x > f", a.clone()),
            ("a > f x", a.clone()),
            ("a x # b", a.clone()),
            ("a x && b || c", or(&and(&a, &b), &c)),
            ("a x || b && c", and(&or(&a, &b), &c)),
            ("a x; b\nc", list(&[&a, &b, &c])),
            ("a x | b 2>&1 | c", ShellScript::Pipe(parts(&[&a, &b, &c]))),
            ("! a x | b", ShellScript::Not(Box::new(ShellScript::Pipe(parts(&[&a, &b]))))),
            ("! a x && b", and(&ShellScript::Not(boxed(&a)), &b)),
            ("(a x; b)", ShellScript::Subshell(Box::new(list(&[&a, &b])))),
            ("{ a x; b; }", list(&[&a, &b])),
            ("a x & b", list(&[&ShellScript::Background(boxed(&a)), &b])),
            (
                "if a x; then b; fi",
                ShellScript::If(Box::new([a.clone(), b.clone(), nothing.clone()])),
            ),
            (
                "if a x; then b; elif b; then c; else d; fi",
                ShellScript::If(Box::new([
                    a.clone(),
                    b.clone(),
                    ShellScript::If(Box::new([b.clone(), c.clone(), d.clone()])),
                ])),
            ),
            ("for x in 1; do b; done", ShellScript::For(boxed(&b))),
            ("while a x; do b; done", ShellScript::While(Box::new([a.clone(), b.clone()]))),
            (
                "case x in y) b;; *) c; d;; esac",
                ShellScript::Case(vec![b.clone(), list(&[&c, &d])]),
            ),
            ("f() { a; }; b", list(&[&nothing, &b])),
            ("[ 'a' = b ]", step("test a = b")),
            ("[[ a == b ]]", step("test a == b")),
            ("a x )", ShellScript::Unknown),
            ("((a))", ShellScript::Unknown),
        ] {
            assert_eq!(read_script(text), script, "{text}");
        }
    }

    #[test]
    fn a_word_with_a_substitution_is_its_source() {
        let parsed = |text: &str| {
            let ShellScript::Step(step) = read_script(text) else { panic!("{text}") };
            (step.values, step.words, step.expands)
        };
        let owned = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let of = |values: &[&str], words: &[&str], expands| (owned(values), owned(words), expands);
        assert_eq!(parsed("a 'b c' \"$(d)\""), of(&[], &["a", "b c", "\"$(d)\""], true));
        assert_eq!(parsed("a `d`"), of(&[], &["a", "$(d)"], true));
        assert_eq!(parsed("x=$(d) a"), of(&["$(d)"], &["a"], false));
        assert_eq!(parsed("x=1"), of(&["1"], &[], false));
        assert_eq!(parsed("exit $?"), of(&[], &["exit", "$?"], true));
        assert_eq!(parsed("export A=1"), of(&[], &["export", "A=1"], false));
    }

    #[test]
    fn syntax_that_sh_need_not_know_is_found() {
        for (text, found) in [
            ("cd . && [[ a == b ]]", Some("[[")),
            ("diff <(a) b", Some("<(…)")),
            ("a <<< b", Some("<<<")),
            ("a |& b", Some("|&")),
            ("a &> b", Some("&>")),
            ("((a > 1))", Some("((")),
            ("a $'b'", Some("$'…'")),
            ("[ a = b ]", None),
            ("bash -c '[[ a ]]'", None),
            ("a > b 2>&1 | c", None),
            ("a $((1 + 2))", None),
        ] {
            assert_eq!(dialect(text).map(|(syntax, _)| syntax), found, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_not_understood_and_does_not_crash() {
        for piece in ["(", "if ", "a && ", "! ", "a | ", "{ ", "[ "] {
            read_script(&piece.repeat(4096 / piece.len()));
        }
        assert!(matches!(read_script(&format!("a{}", " && a".repeat(800))), ShellScript::And(_)));
    }
}
