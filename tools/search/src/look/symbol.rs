//! Finds where a name is defined and used: in the type or module that qualifies it, and in code before prose.

use std::collections::BTreeMap;

use index::{Definition, FileKind, definitions_of_file};
use tree::RepoPath;

use super::super::text::{Hit, SearchLimits};
use super::matches::{Most, fitting, limits};
use super::{LookError, LookLines, Matches, VisibleTree, cut};

/// Maximum number of lines with the name that are searched for definitions and uses.
const SYMBOL_HITS: usize = 20_000;
/// Maximum number of definitions shown with their lines, of lines shown of each, and of further definitions that are
/// only named.
const DEFINITIONS: usize = 5;
const DEFINITION_LINES: usize = 60;
const OTHERS: usize = 20;
/// Limits for the uses returned.
const USES: Most = Most { in_file: 8, in_all: 40 };

/// Words for functions in various languages.
const FUNCTIONS: [&str; 5] = ["fn", "def", "func", "function", "method"];

/// A name in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionInFile {
    /// The file.
    pub file: RepoPath,
    /// The name, as it was asked for.
    pub name: String,
    /// The lines of its first definition; `None` if there is none.
    pub lines: Option<(usize, usize)>,
    /// The lines of its next definitions, as long as they are short together.
    pub next: Vec<(usize, usize)>,
    /// The first lines of the definitions after those.
    pub others: Vec<usize>,
}

/// Where a name is defined and used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its first definitions with their lines.
    pub definitions: Vec<Defined>,
    /// File and line of further definitions, which are not shown.
    pub others: Vec<(RepoPath, usize)>,
    /// Other lines that contain it.
    pub uses: Matches,
    /// Number of lines in comments and documents that mention it and are left out.
    pub prose: usize,
}

/// A definition, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined {
    /// The shown lines.
    pub lines: LookLines,
    /// Its last line, even if it is not shown.
    pub last: usize,
}

/// A name as requested: `Type::name()`, `module.name`, `Type<T>`, `impl Trait for Type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolName {
    pub(crate) bare: String,
    /// The type or module that qualifies it.
    pub(crate) owner: Option<String>,
    /// True if the `impl` blocks of a type are meant rather than the type.
    is_impl: bool,
}

impl SymbolName {
    /// Reads a name as a person or a model writes it.
    pub(crate) fn of(asked: &str) -> Option<Self> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (mut plain, mut depth) = (String::new(), 0_usize);
        for c in asked.replace("->", ".").chars() {
            match c {
                '<' | '(' => depth += 1,
                '>' | ')' => depth = depth.saturating_sub(1),
                _ if depth == 0 => plain.push(c),
                _ => {}
            }
        }
        // Words before a space are keywords of the language: `fn`, `impl Trait for`.
        let is_impl = plain.split_whitespace().next() == Some("impl");
        let path = plain.split_whitespace().next_back()?;
        let mut parts = path.split(|c| !is_word(c)).filter(|part| !part.is_empty()).rev();
        let bare = parts.next()?.to_owned();
        let owner = parts.next().filter(|it| !["self", "Self", "crate", "super"].contains(it));
        Some(Self { bare, owner: owner.map(str::to_owned), is_impl })
    }

    /// Returns the definitions of the name in a file, each with whether it belongs to the owner.
    pub(crate) fn among<'d>(
        &self,
        path: &RepoPath,
        all: &'d [Definition],
    ) -> Vec<(bool, &'d Definition)> {
        let stem = path.name().split('.').next().unwrap_or_default();
        let is_owner = |name: &str| self.owner.as_deref() == Some(name);
        let in_owner = is_owner(stem) || path.components().any(is_owner);
        let (mut around, mut found): (Vec<&Definition>, Vec<_>) = (Vec::new(), Vec::new());
        for definition in all {
            around.truncate(definition.depth as usize);
            if definition.name == self.bare && self.is_impl == (definition.kind == "impl") {
                let is_owned = in_owner || around.iter().any(|it| is_owner(&it.name));
                found.push((is_owned, definition));
            }
            around.push(definition);
        }
        found
    }
}

/// A definition found.
struct Found {
    path: RepoPath,
    is_owned: bool,
    line: usize,
    last: usize,
    is_function: bool,
}

impl VisibleTree<'_> {
    /// Returns where `name` is defined, with the lines, and where it is used, in about `room` bytes.
    pub fn symbol(&self, name: &str, room: usize) -> Result<Symbol, LookError> {
        let name = SymbolName::of(name).ok_or(LookError::NoPattern)?;
        let word = format!(r"\b{}\b", regex::escape(&name.bare));
        let limits =
            SearchLimits { hits_per_file: SYMBOL_HITS / 50, hits: SYMBOL_HITS, ..limits() };
        let hits = self.hits(&self.files(), &word, &limits)?;
        let mut by_file: BTreeMap<(FileKind, RepoPath), Vec<Hit>> = BTreeMap::new();
        for hit in hits {
            by_file.entry((FileKind::of(&hit.path), hit.path.clone())).or_default().push(hit);
        }
        let mut found = Vec::new();
        let mut of_owner = Vec::new();
        let owner = name.owner.as_ref();
        let owner =
            owner.and_then(|it| regex::Regex::new(&format!(r"\b{}\b", regex::escape(it))).ok());
        for (_, path) in by_file.keys() {
            let Ok((text, _)) = self.text(path) else { continue };
            if owner.as_ref().is_some_and(|owner| owner.is_match(&text)) {
                of_owner.push(path.clone());
            }
            let all = definitions_of_file(path, &text);
            found.extend(name.among(path, &all).into_iter().map(|(is_owned, it)| Found {
                path: path.clone(),
                is_owned,
                line: it.line as usize,
                last: it.last as usize,
                is_function: FUNCTIONS.contains(&it.kind.as_str()),
            }));
        }
        let is_known = found.iter().any(|it| it.is_owned);
        found.retain(|it| it.is_owned == is_known);
        let (definitions, left) = self.defined(&found, room / 2);
        let others = found.iter().skip(DEFINITIONS).take(OTHERS);
        let others = others.map(|it| (it.path.clone(), it.line)).collect();

        let is_elsewhere = |hit: &Hit| {
            let is_shown = |it: &Defined| {
                it.lines.path == hit.path && (it.lines.first..=it.last).contains(&hit.line)
            };
            !definitions.iter().any(is_shown)
                && !found.iter().any(|it| it.path == hit.path && it.line == hit.line)
        };
        let mut elsewhere: Vec<Hit> = by_file.into_values().flatten().collect();
        // For common names such as `new`, only count uses in files that mention the owner or contain a definition.
        of_owner.extend(found.iter().map(|it| it.path.clone()));
        elsewhere.retain(|hit| is_elsewhere(hit) && (!is_known || of_owner.contains(&hit.path)));
        let called = called(&name.bare).filter(|_| found.iter().any(|it| it.is_function));
        let is_use = |hit: &Hit| {
            !is_prose(hit) && called.as_ref().is_none_or(|called| called.is_match(&hit.text))
        };
        let (code, prose): (Vec<Hit>, Vec<Hit>) = elsewhere.into_iter().partition(is_use);
        let (shown, prose) = if definitions.is_empty() && code.is_empty() {
            (prose, 0)
        } else {
            (code, prose.len())
        };
        let uses = fitting(shown, USES, room / 4 + left);
        Ok(Symbol { definitions, others, uses, prose })
    }

    /// Reads a path as `path:name`. `None` if there is no such file, or one whose name has the colon.
    pub fn definition_in(&self, path: &RepoPath) -> Option<DefinitionInFile> {
        let (file, name) = path.as_str().split_once(':')?;
        let file = RepoPath::parse(file).ok()?;
        if self.text(path).is_ok() {
            return None;
        }
        let (text, _) = self.text(&file).ok()?;
        let all = definitions_of_file(&file, &text);
        let found = SymbolName::of(name).map(|name| name.among(&file, &all)).unwrap_or_default();
        let first = found.iter().find(|(is_owned, _)| *is_owned).or(found.first());
        let lines = first.map(|(_, it)| (it.first as usize, it.last as usize));
        let is_other = |(is_owned, it): &&(bool, &Definition)| {
            first.is_some_and(|(owned, shown)| is_owned == owned && it.line != shown.line)
        };
        let mut left = DEFINITION_LINES.saturating_sub(lines.map_or(0, |(from, to)| to + 1 - from));
        let (mut next, mut others) = (Vec::new(), Vec::new());
        for (_, it) in found.iter().filter(is_other) {
            let (from, to) = (it.first as usize, it.last as usize);
            let length = to + 1 - from;
            if others.is_empty() && length <= left {
                left -= length;
                next.push((from, to));
            } else {
                others.push(it.line as usize);
            }
        }
        Some(DefinitionInFile { file, name: name.to_owned(), lines, next, others })
    }

    /// Returns the first definitions with their lines, and the space they leave.
    fn defined(&self, found: &[Found], mut left: usize) -> (Vec<Defined>, usize) {
        let mut definitions = Vec::new();
        for Found { path, line, last, .. } in found.iter().take(DEFINITIONS) {
            let Ok((text, encoding)) = self.text(path) else { continue };
            let end = (*last).min(line + DEFINITION_LINES - 1);
            let lines = cut(path, &text, (*line, end, text.lines().count()), left);
            let lines = LookLines { encoding, ..lines };
            left = left.saturating_sub(lines.text.len());
            definitions.push(Defined { lines, last: *last });
        }
        (definitions, left)
    }
}

/// Returns a pattern for lines in which a function is called, passed or imported, rather than just mentioned as a word.
fn called(name: &str) -> Option<regex::Regex> {
    let name = regex::escape(name);
    let around = [
        format!(r"[.:(,&=]\s*{name}\b"),
        format!(r"\b{name}\s*(?:[(!<]|::)"),
        format!(r"^\s*(?:pub )?(?:use|import|from|export)\b.*\b{name}\b"),
    ];
    regex::Regex::new(&around.join("|")).ok()
}

/// Returns true if a line only mentions a name: it is a comment, or part of a document.
fn is_prose(hit: &Hit) -> bool {
    const DOCUMENTS: [&str; 6] = ["md", "rst", "txt", "adoc", "tex", "1"];
    const COMMENTS: [&str; 4] = ["//", "/*", "* ", "# "];
    let extension = hit.path.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let line = hit.text.trim_start();
    FileKind::of(&hit.path) == FileKind::Aside
        || DOCUMENTS.contains(&extension)
        || COMMENTS.iter().any(|comment| line.starts_with(comment))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALL, CART, MANY, tree};
    use super::*;

    fn spans(symbol: &Symbol) -> Vec<(&str, usize, usize)> {
        let lines = symbol.definitions.iter().map(|it| &it.lines);
        lines.map(|it| (it.path.as_str(), it.first, it.last)).collect()
    }

    fn used(symbol: &Symbol) -> Vec<(&str, usize)> {
        let files = symbol.uses.files.iter();
        files.flat_map(|it| it.lines.iter().map(|(line, _)| (it.path.as_str(), *line))).collect()
    }

    #[test]
    fn a_symbol_has_its_whole_definition_and_its_uses() {
        let python = "def total(cart):\n    return sum(cart)\n\n\nprint(total([1]))\n";
        let (_home, tree) = tree(&[("a/cart.rs", CART), ("b.py", python)]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        let total = visible.symbol("total", 10_000).unwrap();
        assert_eq!(spans(&total), [("a/cart.rs", 4, 9), ("b.py", 1, 2)]);
        assert_eq!(used(&total), [("a/cart.rs", 12), ("b.py", 5)]);
        assert_eq!(visible.symbol("nothing", 10_000), Err(LookError::NoMatch(2)));
        assert_eq!(visible.symbol("::", 10_000), Err(LookError::NoPattern));
    }

    #[test]
    fn a_path_may_name_a_definition() {
        let (_home, tree) = tree(&[("a/cart.rs", CART), ("odd:total", "x\n")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        let of = |path: &str| {
            let found = visible.definition_in(&RepoPath::parse(path).unwrap());
            found.map(|it| (it.file.to_string(), it.lines))
        };
        let two = "struct A;\nimpl A {\n    fn f() {}\n}\nstruct B;\nimpl B {\n    fn f() {}\n}\n";
        let body = "let x = 1;\n".repeat(66);
        let long = "struct C;\nimpl C {\n    fn g() {}\n}\nstruct D;\nimpl D {\n    fn g() {\n"
            .to_owned()
            + &body
            + "    }\n}\nstruct E;\nimpl E {\n    fn g() {}\n}\n";
        let (_home, others) = super::super::tests::tree(&[("two.rs", two), ("long.rs", &long)]);
        let others = VisibleTree::new(&others, MANY, ALL);
        let others = |name: &str| others.definition_in(&RepoPath::parse(name).unwrap()).unwrap();
        let found = |name: &str| {
            let DefinitionInFile { lines, next, others, .. } = others(name);
            (lines, next, others)
        };
        assert_eq!(found("two.rs:f"), (Some((3, 3)), vec![(7, 7)], vec![]), "both are short");
        assert_eq!(found("two.rs:B::f"), (Some((7, 7)), vec![], vec![]));
        assert_eq!(found("long.rs:g"), (Some((3, 3)), vec![], vec![7, 78]), "only what comes next");
        assert_eq!(of("a/cart.rs:total"), Some(("a/cart.rs".to_owned(), Some((4, 9)))));
        assert_eq!(of("a/cart.rs:Cart::total()"), Some(("a/cart.rs".to_owned(), Some((4, 9)))));
        assert_eq!(of("a/cart.rs:nothing"), Some(("a/cart.rs".to_owned(), None)));
        assert_eq!(of("odd:total"), None);
        assert_eq!(of("b.rs:total"), None);
        assert_eq!(of("a/cart.rs"), None);
    }

    #[test]
    fn a_qualifier_selects_the_type_or_module() {
        let dog = "struct Dog;\nimpl Dog {\n    fn new() -> Dog { Dog }\n}\n// Dog::new is best\nfn f() { Dog::new(); }\n";
        let cat =
            "struct Cat;\nimpl Cat {\n    fn new() -> Cat { Cat }\n}\nfn f() { Cat::new(); }\n";
        let (_home, tree) =
            tree(&[("src/cat.rs", cat), ("src/dog.rs", dog), ("notes.md", "Dog::new\n")]);
        let visible = VisibleTree::new(&tree, MANY, ALL);
        for asked in ["Dog::new", "Dog.new()", "dog::new", "Dog<T>::new(x)"] {
            let new = visible.symbol(asked, 10_000).unwrap();
            assert_eq!(spans(&new), [("src/dog.rs", 3, 3)], "{asked}");
            assert_eq!(used(&new), [("src/dog.rs", 6)], "{asked}");
        }
        let new = visible.symbol("Dog::new", 10_000).unwrap();
        assert_eq!(new.prose, 2, "a comment and a document");
        assert_eq!(spans(&visible.symbol("Bird::new", 10_000).unwrap()).len(), 2);
        assert_eq!(spans(&visible.symbol("impl Dog", 10_000).unwrap()), [("src/dog.rs", 2, 4)]);
        assert_eq!(spans(&visible.symbol("Dog", 10_000).unwrap()), [("src/dog.rs", 1, 1)]);
    }

    #[test]
    fn a_function_is_used_where_it_is_called_not_where_text_mentions_it() {
        let text = "use x::{go, stop};\nfn go() {}\nlet help = \"how to go on\";\nmap(go);\ncart.go::<T>();\n";
        let (_home, tree) = tree(&[("a.rs", text)]);
        let go = VisibleTree::new(&tree, MANY, ALL).symbol("go", 10_000).unwrap();
        assert_eq!((used(&go), go.prose), (vec![("a.rs", 1), ("a.rs", 4), ("a.rs", 5)], 1));
    }

    #[test]
    fn a_name_only_mentioned_in_prose_is_found_there() {
        let (_home, tree) = tree(&[("a.rs", "// Bird\n"), ("b.md", "A Bird.\n")]);
        let bird = VisibleTree::new(&tree, MANY, ALL).symbol("Bird", 10_000).unwrap();
        assert_eq!((used(&bird), bird.prose), (vec![("a.rs", 1), ("b.md", 1)], 0));
    }

    #[test]
    fn further_definitions_are_named() {
        let files: Vec<(String, &str)> =
            (0..8).map(|n| (format!("m{n}.rs"), "fn go() {}\n")).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, it)| (name.as_str(), *it)).collect();
        let (_home, tree) = tree(&files);
        let go = VisibleTree::new(&tree, MANY, ALL).symbol("go", 10_000).unwrap();
        let others: Vec<_> = go.others.iter().map(|(path, line)| (path.as_str(), *line)).collect();
        assert_eq!(
            (go.definitions.len(), others),
            (5, vec![("m5.rs", 1), ("m6.rs", 1), ("m7.rs", 1)])
        );
        assert!(go.uses.files.is_empty());
    }

    #[test]
    fn names_are_parsed_as_people_write_them() {
        let read = |asked: &str| {
            SymbolName::of(asked).map(|it| (it.owner.unwrap_or_default(), it.bare, it.is_impl))
        };
        for (asked, owner, bare, is_impl) in [
            ("a.b.c<T>", "b", "c", false),
            ("f(x)", "", "f", false),
            ("self.total()", "", "total", false),
            ("cart->total", "cart", "total", false),
            ("<T as A>::b", "", "b", false),
            ("fn total", "", "total", false),
            ("impl<T> Iterator for Walk<T>", "", "Walk", true),
        ] {
            assert_eq!(read(asked), Some((owner.into(), bare.into(), is_impl)), "{asked}");
        }
        assert_eq!(read("<T>"), None);
    }
}
