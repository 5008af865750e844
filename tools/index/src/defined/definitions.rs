//! Finds what a file defines, and on which lines, by a built-in grammar. Pure.

use tree::RepoPath;

use crate::defined::grammar;

/// Larger files are generated, and take long to parse.
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

/// Returns the definitions of a file, ordered by the lines of their names; none of a language without a grammar.
pub fn definitions_of_file(path: &RepoPath, text: &str) -> Vec<Definition> {
    let extension = path.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    if text.len() > MAX_GRAMMAR_BYTES {
        return Vec::new();
    }
    grammar::definitions_by_grammar(extension, text, MAX_DEFINITIONS).unwrap_or_default()
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
    fn c_and_cpp() {
        let text = "#define MAX 3\n\n/* A. */\nstruct a {\n};\ntypedef struct { int x; } p;\nstatic int *b(int x)\n{\n  if (x) { c(x); }\n}\nint e(void);\n";
        assert_eq!(
            defined("a.c", text),
            ["define MAX 1-1", "struct a 3-5", "typedef p 6-6", "fn b 7-10"]
        );
        let text = "namespace n {\n// T.\ntemplate <class T>\nclass A : B {\n  A() {}\n  ~A() {}\n  int f() const { return 1; }\n};\n}\nint n::A::g(int x) {\n}\nenum class E { x };\n";
        assert_eq!(
            defined("a.hpp", text),
            [
                "namespace n 1-9",
                ".class A 2-8",
                "..fn A 5-5",
                "..fn ~A 6-6",
                "..fn f 7-7",
                "fn g 10-11",
                "enum E 12-12"
            ]
        );
    }

    #[test]
    fn languages_of_the_virtual_machines() {
        let java = "package x;\n\n/** Doc. */\n@A\npublic class B<T> {\n  // c\n  B() {}\n  @Override\n  public int f(int x) {\n    return x;\n  }\n  record R(int x) {}\n}\ninterface I { void g(); }\n";
        assert_eq!(
            defined("B.java", java),
            [
                "class B 3-13",
                ".constructor B 6-7",
                ".method f 8-11",
                ".record R 12-12",
                "interface I 14-14",
                ".method g 14-14"
            ]
        );
        let kotlin = "/** Doc. */\n@A\nclass B(val x: Int) {\n  fun f() = x\n}\nobject O\nfun <T> T.g(): Int {\n  return 1\n}\ninterface I\n";
        assert_eq!(
            defined("b.kt", kotlin),
            ["class B 1-5", ".fun f 4-4", "object O 6-6", "fun g 7-9", "class I 10-10"]
        );
        let scala = "/** Doc. */\nclass A(x: Int) {\n  def f = 1\n}\nobject A {\n  @inline def g(x: Int): Int = {\n    x\n  }\n}\ntrait T\n";
        assert_eq!(
            defined("a.scala", scala),
            ["class A 1-4", ".def f 3-3", "object A 5-9", ".def g 6-8", "trait T 10-10"]
        );
        let csharp = "namespace N {\n  /// <summary>Doc.</summary>\n  [A]\n  public class B {\n    public int P { get; set; }\n    public B() {}\n    // f\n    public async Task<int> F(int x)\n    {\n    }\n  }\n  enum E { X }\n}\n";
        assert_eq!(
            defined("b.cs", csharp),
            [
                "namespace N 1-13",
                ".class B 2-11",
                "..property P 5-5",
                "..constructor B 6-6",
                "..method F 7-10",
                ".enum E 12-12"
            ]
        );
    }

    #[test]
    fn scripting_languages() {
        let ruby = "# Doc.\nmodule M\n  class A::B < C\n    # f\n    def f?(x)\n      x\n    end\n\n    def self.g = 1\n  end\nend\n";
        assert_eq!(
            defined("a.rb", ruby),
            ["module M 1-11", ".class B 3-10", "..def f? 4-7", "..def g 9-9"]
        );
        let php = "<?php\nnamespace N;\n/** Doc. */\n#[A]\nfinal class B extends C\n{\n    /** f */\n    public function f(int $x): int\n    {\n        return $x;\n    }\n}\nfunction g() {}\ntrait T {}\n";
        assert_eq!(
            defined("b.php", php),
            ["class B 3-12", ".function f 7-11", "function g 13-13", "trait T 14-14"]
        );
        let lua = "local M = {}\n-- Doc.\nfunction M.f(x)\n  return x\nend\nfunction M:g() end\nlocal function h() end\nlocal i = function()\nend\nM.j = function() end\nlocal k = 1\n";
        assert_eq!(
            defined("a.lua", lua),
            [
                "function f 2-5",
                "function g 6-6",
                "function h 7-7",
                "function i 8-9",
                "function j 10-10"
            ]
        );
        let elixir = "defmodule A.B do\n  @moduledoc \"x\"\n\n  @doc \"f\"\n  @spec f(integer) :: integer\n  def f(0), do: 1\n  def f(x) when x > 1 do\n    x\n  end\n\n  defp g, do: 1\nend\n";
        assert_eq!(defined("a.ex", elixir), ["defmodule B 1-12", ".def f 4-9", ".defp g 11-11"]);
        let bash = "#!/bin/bash\n# Doc.\nf() {\n  x\n}\nfunction g {\n  y\n}\n";
        assert_eq!(defined("a.sh", bash), ["function f 2-5", "function g 6-8"]);
        // The grammar alone crashes on any of these characters.
        for c in ['\u{10ffff}', '\u{31860}', '😀', '中'] {
            let braces = format!("a={{{c}}}\n# {c}\nf() {{\n  echo {{1{c}..2}}\n}}\n");
            assert_eq!(defined("a.sh", &braces), ["function f 2-5"], "{c}");
        }
    }

    #[test]
    fn swift_zig_and_haskell() {
        let swift = "/// Doc.\n@objc\npublic struct A: B {\n    init() {}\n    // f\n    func f<T>(x: T) -> T {\n        x\n    }\n}\nextension A { }\nprotocol P {\n    func g()\n}\nenum E { case x }\n";
        assert_eq!(
            defined("a.swift", swift),
            [
                "struct A 1-9",
                ".init init 4-4",
                ".func f 5-8",
                "extension A 10-10",
                "protocol P 11-13",
                ".func g 12-12",
                "enum E 14-14"
            ]
        );
        let zig = "const std = @import(\"std\");\n/// Doc.\npub const A = struct {\n    x: u8,\n    pub fn f(self: A) u8 {\n        return self.x;\n    }\n};\nfn g() void {}\nconst E = enum { a };\n";
        assert_eq!(
            defined("a.zig", zig),
            ["const A 2-8", ".fn f 5-7", "fn g 9-9", "const E 10-10"]
        );
        let haskell = "module A where\n\n-- | Doc.\nf :: Int -> Int\nf 0 = 1\nf n = n\n\ndata B = B { x :: Int }\n\nclass C a where\n  g :: a -> a\n\ninstance C B where\n  g b = b\n\nh = 1\n";
        assert_eq!(
            defined("A.hs", haskell),
            [
                "function f 3-6",
                "data B 8-8",
                "class C 10-11",
                "instance C 13-14",
                ".function g 14-14",
                "function h 16-16"
            ]
        );
    }

    #[test]
    fn a_language_without_a_grammar_defines_nothing() {
        assert!(defined("a.unknown", "fn a() {}").is_empty());
        assert!(defined("a.rs", &"fn a() {}\n".repeat(200_000)).is_empty(), "it is too large");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_fine(text in "\\PC{0,60}|[a-z(){};:= \n\tfnclassdef#*]{0,80}") {
            for name in [
                "a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "A.java", "a.c", "a.h", "a.cs", "a.kt", "a.rb",
                "a.php", "a.swift", "a.scala", "a.ex", "a.lua", "a.zig", "a.hs", "a.sh",
            ] {
                let lines = u32::try_from(text.lines().count()).unwrap();
                for found in definitions_of_file(&RepoPath::parse(name).unwrap(), &text) {
                    proptest::prop_assert!(1 <= found.first && found.first <= found.line);
                    proptest::prop_assert!(found.line <= found.last && found.last <= lines.max(1));
                }
            }
        }
    }
}
