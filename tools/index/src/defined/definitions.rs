//! Finds what a file defines, and on which lines: by a built-in grammar, or else by patterns for lines. Pure.

use tree::RepoPath;

use crate::defined::{grammar, patterns};

/// Larger files use patterns, which take no longer than reading the file.
const MAX_GRAMMAR_BYTES: usize = 1 << 20;
/// Maximum number of definitions kept per file; more occur only in generated files.
const MAX_DEFINITIONS: usize = 2000;

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The keyword of the language, such as `fn`, `class` or `interface`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The first line, from 1, including attributes, decorators and documentation above it.
    pub first: u32,
    /// The line of the name.
    pub line: u32,
    /// The last line.
    pub last: u32,
    /// Number of enclosing definitions.
    pub depth: u32,
}

/// Returns the definitions of a file, ordered by the lines of their names.
pub fn definitions_of_file(path: &RepoPath, text: &str) -> Vec<Definition> {
    let extension = path.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let by_grammar = (text.len() <= MAX_GRAMMAR_BYTES)
        .then(|| grammar::definitions_by_grammar(extension, text, MAX_DEFINITIONS))
        .flatten();
    by_grammar.unwrap_or_else(|| patterns::definitions_by_pattern(extension, text, MAX_DEFINITIONS))
}

/// Writes definitions in a form that [`read`] parses, one per line.
pub(crate) fn write_definitions(definitions: &[Definition]) -> String {
    let mut text = String::new();
    for Definition { kind, name, first, line, last, depth } in definitions {
        text.push_str(&format!("{first} {line} {last} {depth} {kind} {name}\n"));
    }
    text
}

/// Parses the output of `write`; skips invalid lines.
pub(crate) fn read_definitions(text: &str) -> Vec<Definition> {
    text.lines().filter_map(read_line).collect()
}

fn read_line(line: &str) -> Option<Definition> {
    let mut fields = line.splitn(6, ' ');
    let mut number = || fields.next()?.parse().ok();
    let (first, line, last, depth) = (number()?, number()?, number()?, number()?);
    let (kind, name) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    Some(Definition { kind, name, first, line, last, depth })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(name: &str, text: &str) -> Vec<String> {
        let path = RepoPath::parse(name).unwrap();
        let found = definitions_of_file(&path, text);
        assert_eq!(read_definitions(&write_definitions(&found)), found);
        let describe = |d: &Definition| {
            format!("{}{} {} {}-{}", ".".repeat(d.depth as usize), d.kind, d.name, d.first, d.last)
        };
        found.iter().map(describe).collect()
    }

    #[test]
    fn rust() {
        let text = "// fn no\n\n/// Doc.\n#[a]\npub(crate) async unsafe fn a<T>() {\n    fn inner() {}\n}\n\npub struct B(u8);\nimpl<T> C<T> for B {\n    /// Doc.\n    const fn c(&self) {}\n}\nmacro_rules! e {\n    () => {};\n}\nmod f;\nconst _: () = ();\n";
        assert_eq!(
            defined("a.rs", text),
            [
                "fn a 3-7",
                ".fn inner 6-6",
                "struct B 9-9",
                "impl B 10-13",
                ".fn c 11-12",
                "macro_rules! e 14-16"
            ]
        );
    }

    #[test]
    fn python() {
        let text = "class A(B):\n    @property\n    async def größe(self):\n        pass\n\ndef c[T](x): ...\n# def no\n";
        assert_eq!(defined("a.py", text), ["class A 1-4", ".def größe 2-4", "def c 6-6"]);
    }

    #[test]
    fn javascript_and_typescript() {
        let text = "// Doc.\nexport default async function a() {}\nexport class B {\n  m() {}\n}\nconst c = async (x) => x;\nconst d = 1;\nlet i = function* () {};\n";
        let javascript =
            ["function a 1-2", "class B 3-5", ".method m 4-4", "const c 6-6", "let i 8-8"];
        assert_eq!(defined("a.js", text), javascript);
        assert_eq!(defined("a.ts", text), javascript);
        let text =
            "export interface A {\n}\ntype H = string;\nenum E { X }\nconst V = (p: P) => <b/>;\n";
        assert_eq!(
            defined("a.tsx", text),
            ["interface A 1-2", "type H 3-3", "enum E 4-4", "const V 5-5"]
        );
    }

    #[test]
    fn go() {
        let text = "package x\n\n// Doc.\nfunc A(x int) {\n}\n\nfunc (s *S) B() {}\n\ntype C struct {\n}\n";
        assert_eq!(defined("a.go", text), ["func A 3-5", "func B 7-7", "type C 9-10"]);
    }

    #[test]
    fn languages_without_a_grammar_use_patterns() {
        let c = "#define MAX 3\nstruct a {\n};\nstatic int b(int x)\n{\n  if (x) { c(x); }\n}\nint e(void);\n";
        assert_eq!(defined("a.c", c), ["define MAX 1-1", "struct a 2-3", "fn b 4-7"]);
        assert!(defined("a.unknown", "fn a() {}").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_fine(text in "\\PC{0,60}|[a-z(){};:= \n\tfnclassdef#*]{0,80}") {
            for name in ["a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "A.java", "a.c", "a.rb"] {
                let lines = u32::try_from(text.lines().count()).unwrap();
                for found in definitions_of_file(&RepoPath::parse(name).unwrap(), &text) {
                    proptest::prop_assert!(1 <= found.first && found.first <= found.line);
                    proptest::prop_assert!(found.line <= found.last && found.last <= lines.max(1));
                }
            }
        }
    }
}
