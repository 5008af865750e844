//! What a file defines, by light patterns, and how much a file has to do with some terms. Pure: contents are given.
//!
//! The patterns know lines and not grammars: they are fast, bounded and right about ordinary code.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::terms::{Term, TermKind};
use tree::RepoPath;

/// Definitions of one file that are looked at; the rest of a generated file is no news.
const MAX_SCANNED: usize = 2000;

/// Something a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Where, from 1.
    pub line: usize,
    /// The word of the language for it: `fn`, `class`, `interface`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Bytes of white space before it.
    indent: usize,
}

/// A language whose definitions are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    C,
    Ruby,
}

impl Language {
    pub(super) fn of(path: &RepoPath) -> Option<Language> {
        let (_, extension) = path.name().rsplit_once('.')?;
        match extension {
            "rs" => Some(Language::Rust),
            "py" | "pyi" => Some(Language::Python),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => {
                Some(Language::JavaScript)
            }
            "go" => Some(Language::Go),
            "java" => Some(Language::Java),
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" => Some(Language::C),
            "rb" => Some(Language::Ruby),
            _ => None,
        }
    }

    /// In each alternative the first group that takes part is the kind, and the last is the name; alone it is a
    /// function's name.
    fn pattern(self) -> Option<&'static Regex> {
        static RUST: LazyLock<Option<Regex>> = LazyLock::new(|| {
            compile(concat!(
                r#"(?m)^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?"#,
                r#"(?:(?:default|const|async|unsafe|extern(?:[ \t]+"[^"\n]*")?)[ \t]+)*"#,
                r"(fn|struct|enum|trait|union|type|static|const|macro_rules!)[ \t]+(?:mut[ \t]+)?",
                r"([^ \t\r\n(<:{=;!&]+)",
            ))
        });
        static PYTHON: LazyLock<Option<Regex>> = LazyLock::new(|| {
            compile(r"(?m)^[ \t]*(?:async[ \t]+)?(def|class)[ \t]+([^ \t\r\n(:\[]+)")
        });
        static JAVASCRIPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
            compile(concat!(
                r"(?m)^[ \t]*(?:(?:export|default|declare|abstract|async)[ \t]+)*",
                r"(?:(function|class|interface|type|enum|namespace)[ \t]*\*?[ \t]+([^ \t\r\n(<:{=;,]+)",
                r"|(const|let|var)[ \t]+([^ \t\r\n(<:{=;,\[]+)[^=\n]*=[ \t]*(?:async[ \t]*)?",
                r"(?:function[ \t*(]|\([^)\n]*\)[^=\n]*=>|[^ \t\r\n(),;=]+[ \t]*=>))",
            ))
        });
        static GO: LazyLock<Option<Regex>> = LazyLock::new(|| {
            compile(r"(?m)^(?:(func)[ \t]+(?:\([^)\n]*\)[ \t]*)?|(type)[ \t]+)([^ \t\r\n(\[{=]+)")
        });
        static JAVA: LazyLock<Option<Regex>> = LazyLock::new(|| {
            const MODIFIERS: &str =
                "public|private|protected|static|final|abstract|sealed|synchronized|default|native";
            let pattern = concat!(
                r"(?m)^[ \t]*(?:(?:(?:MODIFIERS)[ \t]+)*(class|interface|enum|record)[ \t]+([^ \t\r\n(<{]+)",
                r"|(?:(?:MODIFIERS)[ \t]+)+[^(=;\n]*?[ \t]([^ \t\r\n(=;]+)[ \t]*\([^;\n]*$)",
            );
            compile(&pattern.replace("MODIFIERS", MODIFIERS))
        });
        static C: LazyLock<Option<Regex>> = LazyLock::new(|| {
            compile(concat!(
                r"(?m)^(?:(?:(?:typedef|static|extern)[ \t]+)*(struct|enum|union|class|namespace)",
                r"(?:[ \t]+class)?[ \t]+([A-Za-z_][^ \t\r\n({:;]*)[ \t]*(?:[:{][^;\n]*)?$",
                r"|#[ \t]*(define)[ \t]+([^ \t\r\n(]+)",
                r"|[A-Za-z_][^\n;={}#()]*[ \t*&]([A-Za-z_~][^ \t\r\n();={}]*)[ \t]*\([^;\n]*$)",
            ))
        });
        static RUBY: LazyLock<Option<Regex>> =
            LazyLock::new(|| compile(r"(?m)^[ \t]*(def|class|module)[ \t]+([^ \t\r\n(<;]+)"));
        match self {
            Language::Rust => RUST.as_ref(),
            Language::Python => PYTHON.as_ref(),
            Language::JavaScript => JAVASCRIPT.as_ref(),
            Language::Go => GO.as_ref(),
            Language::Java => JAVA.as_ref(),
            Language::C => C.as_ref(),
            Language::Ruby => RUBY.as_ref(),
        }
    }

    /// The name that `line` defines.
    pub(super) fn defined_on(self, line: &str) -> Option<String> {
        let captures = self.pattern()?.captures(line)?;
        definition(&captures, 1).map(|definition| definition.name)
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// At most `max` definitions of the file: the outermost ones, in the order of lines.
pub fn definitions(path: &RepoPath, text: &str, max: usize) -> Vec<Definition> {
    let Some(pattern) = Language::of(path).and_then(Language::pattern) else { return Vec::new() };
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for captures in pattern.captures_iter(text).take(MAX_SCANNED) {
        let Some(whole) = captures.get(0) else { continue };
        line += newlines(text.get(counted..whole.start()).unwrap_or_default());
        counted = whole.start();
        found.extend(definition(&captures, line));
    }
    found.sort_by_key(|definition| (definition.indent, definition.line));
    found.truncate(max);
    found.sort_by_key(|definition| definition.line);
    found
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn definition(captures: &Captures<'_>, line: usize) -> Option<Definition> {
    let whole = captures.get(0)?.as_str();
    let mut groups = captures.iter().skip(1).flatten().map(|group| group.as_str());
    let first = groups.next()?;
    let (kind, name) = groups.last().map_or(("fn", first), |name| (first, name));
    let indent = whole.len() - whole.trim_start_matches([' ', '\t']).len();
    // `const _: ()` and its like name nothing.
    (name != "_").then(|| Definition { line, kind: kind.to_owned(), name: name.to_owned(), indent })
}

/// Which terms stand on a line; bit `n` is term `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The line, from 1.
    pub(super) line: usize,
    /// Terms on the line.
    pub(super) terms: u64,
    /// Those of them that are in a name the line defines.
    pub(super) defines: u64,
}

/// How much a file has to do with a request. The fields stand in the order of their importance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Relevance {
    /// The user named it.
    pub(super) named: bool,
    /// Weight of the terms that are its name.
    pub(super) name: u32,
    /// Weight of the terms, strong or rare, in what it defines.
    pub(super) defines: u32,
    /// Weight of the terms in its path.
    pub(super) path: u32,
    /// How many rare terms it has.
    pub(super) rare_terms: u32,
}

impl Relevance {
    /// Of the file at `path` with these `marks`; `rare` has the bits of the rare terms.
    pub(super) fn of(
        path: &RepoPath,
        named: bool,
        marks: &[Mark],
        terms: &[Term],
        rare: u64,
    ) -> Relevance {
        let hits = marks.iter().fold(0, |bits, mark| bits | mark.terms);
        let defined = marks.iter().fold(0, |bits, mark| bits | mark.defines);
        let stem = path.name().split_once('.').map_or(path.name(), |(stem, _)| stem);
        let is_name = |term: &Term| match term.kind {
            TermKind::Path { .. } => {
                term.text.rsplit('/').next().is_some_and(|name| name == path.name())
            }
            TermKind::Part => false,
            TermKind::Quoted | TermKind::Error | TermKind::Identifier | TermKind::Word => {
                term.is_name(stem)
            }
        };
        let weight = |wanted: &dyn Fn(u64, &Term) -> bool| -> u32 {
            let wanted = bits(terms).filter(|(bit, term)| wanted(*bit, term));
            wanted.map(|(_, term)| term.weight()).sum()
        };
        Relevance {
            named,
            name: weight(&|_, term| is_name(term)),
            defines: weight(&|bit, term| {
                defined & bit != 0 && (term.is_strong() || rare & bit != 0)
            }),
            path: weight(&|_, term| term.is_in(path.as_str())),
            rare_terms: (hits & rare).count_ones(),
        }
    }
}

/// Terms with their bits.
pub(super) fn bits(terms: &[Term]) -> impl Iterator<Item = (u64, &Term)> {
    (0..u64::BITS).map(|shift| 1 << shift).zip(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::extract;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn defined(name: &str, text: &str) -> Vec<String> {
        let found = definitions(&path(name), text, 100);
        found.iter().map(|d| format!("{} {} {}", d.line, d.kind, d.name)).collect()
    }

    #[test]
    fn rust() {
        let text = "// fn no\npub(crate) async unsafe fn a<T>() {}\n\npub struct B(u8);\nimpl B {\n    const fn c(&self) {}\n}\nconst D: u8 = 1;\nconst _: () = ();\nmacro_rules! e {\n}\nmod f;\n";
        assert_eq!(
            defined("a.rs", text),
            ["2 fn a", "4 struct B", "6 fn c", "8 const D", "10 macro_rules! e"]
        );
    }

    #[test]
    fn python_and_ruby() {
        let text =
            "class A(B):\n    async def größe(self):\n        pass\ndef c[T](x): ...\n# def no\n";
        assert_eq!(defined("a.py", text), ["1 class A", "2 def größe", "4 def c"]);
        assert_eq!(
            defined("a.rb", "module A\n  class B < C\n    def self.d?(x)\n"),
            ["1 module A", "2 class B", "3 def self.d?"]
        );
    }

    #[test]
    fn javascript_and_typescript() {
        let text = "export default async function a() {}\nexport class B {}\nconst c = async (x) => x;\nconst d = 1;\nexport const E: F<G> = (x): y => z;\ntype H = string;\nlet i = function* () {};\nif (a === b) {}\n";
        assert_eq!(
            defined("a.tsx", text),
            ["1 function a", "2 class B", "3 const c", "5 const E", "6 type H", "7 let i"]
        );
    }

    #[test]
    fn go_java_and_c() {
        assert_eq!(
            defined("a.go", "func A(x int) {}\nfunc (s *S) B() {}\ntype C struct {\n"),
            ["1 func A", "2 func B", "3 type C"]
        );
        let java = "public final class A extends B {\n  private static Map<K, V> c(int x) {\n    return d(x);\n  }\n  interface E {}\n";
        assert_eq!(defined("A.java", java), ["1 class A", "2 fn c", "5 interface E"]);
        let c = "#define MAX 3\nstruct a {\n};\nstatic int b(int x)\n{\n  if (x) { c(x); }\n}\nstruct a *d(void) {\nint e(void);\nclass F : public G {\n";
        assert_eq!(
            defined("a.cpp", c),
            ["1 define MAX", "2 struct a", "4 fn b", "8 fn d", "10 class F"]
        );
        assert!(defined("a.unknown", "fn a() {}").is_empty());
    }

    #[test]
    fn the_outermost_are_the_main_ones() {
        let text = "class A:\n    def b(): ...\n    def c(): ...\nclass D: ...\n";
        let names = definitions(&path("a.py"), text, 2);
        assert_eq!(names.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["A", "D"]);
    }

    #[test]
    fn relevance_is_ordered() {
        let terms = extract("the session of `parse_range` and a pager");
        let bit = |text: &str| bits(&terms).find(|(_, term)| term.text == text).unwrap().0;
        let relevance = |name: &str, named, marks: &[Mark]| {
            Relevance::of(&path(name), named, marks, &terms, u64::MAX)
        };
        let range = bit("parse_range");
        let mark = |defines| [Mark { line: 1, terms: range, defines }];
        let named = relevance("z.rs", true, &[]);
        let name = relevance("x/sessions.rs", false, &[]);
        let defines = relevance("y.rs", false, &mark(range));
        let in_path = relevance("pager_x/y.rs", false, &[]);
        let hit = relevance("y.rs", false, &mark(0));
        let nothing = relevance("y.rs", false, &[]);
        assert!(named > name && name > defines && defines > in_path);
        assert!(in_path > hit && hit > nothing);
        assert_eq!(nothing, Relevance::default());
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,60}|[a-z(){};:= \n\tfnclassdef#*]{0,80}") {
            for name in ["a.rs", "a.py", "a.ts", "a.go", "A.java", "a.c", "a.rb"] {
                definitions(&path(name), &text, 5);
            }
        }
    }
}
