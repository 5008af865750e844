//! The languages whose definitions are found by grammar: what their syntax trees call a definition. Data only.

use tree_sitter_language::LanguageFn;

/// A language with a grammar.
#[derive(Clone, Copy)]
pub(super) struct LanguageGrammar {
    /// The extensions of its files.
    pub(super) extensions: &'static [&'static str],
    /// Its grammar.
    pub(super) grammar: LanguageFn,
    /// Its definitions.
    pub(super) definitions: &'static [DefiningNode],
    /// Those of the language that it extends.
    pub(super) inherited: &'static [DefiningNode],
    /// True if one definition may be written as several clauses, one after the other.
    pub(super) has_clauses: bool,
    /// True if its scanner can read only the characters of Latin-1, see [`latin1_only`](tools::encoding::latin1_only).
    pub(super) is_latin1: bool,
}

/// A kind of node that defines something, the keyword of the language for it, and where the name is.
pub(super) type DefiningNode = (&'static str, &'static str, NamePlace);

/// Where the name of a definition is.
#[derive(Debug, Clone, Copy)]
pub(super) enum NamePlace {
    /// In this field.
    Field(&'static str),
    /// In the field `name`; without a `body` it defines nothing.
    WithBody,
    /// In the innermost `declarator`, as in C.
    Declarator,
    /// Before a value; it defines something only if the value is of one of these kinds.
    BeforeValue(&'static [&'static str]),
    /// It is the argument of a call of one of these, whose name is the keyword.
    InCall(&'static [&'static str]),
}

use NamePlace::{BeforeValue, Declarator, Field, InCall, WithBody};

const NAME: NamePlace = Field("name");

const fn language(
    extensions: &'static [&'static str],
    grammar: LanguageFn,
    definitions: &'static [DefiningNode],
) -> LanguageGrammar {
    let (inherited, has_clauses, is_latin1): (&[_], _, _) = (&[], false, false);
    LanguageGrammar { extensions, grammar, definitions, inherited, has_clauses, is_latin1 }
}

const fn extending(
    inherited: &'static [DefiningNode],
    language: LanguageGrammar,
) -> LanguageGrammar {
    LanguageGrammar { inherited, ..language }
}

const fn with_clauses(language: LanguageGrammar) -> LanguageGrammar {
    LanguageGrammar { has_clauses: true, ..language }
}

const fn in_latin1(language: LanguageGrammar) -> LanguageGrammar {
    LanguageGrammar { is_latin1: true, ..language }
}

const JAVASCRIPT_FUNCTIONS: NamePlace =
    BeforeValue(&["arrow_function", "function_expression", "generator_function"]);

const JAVASCRIPT: &[DefiningNode] = &[
    ("function_declaration", "function", NAME),
    ("generator_function_declaration", "function", NAME),
    ("class_declaration", "class", NAME),
    ("method_definition", "method", NAME),
    ("variable_declarator", "", JAVASCRIPT_FUNCTIONS),
];

/// What TypeScript adds to JavaScript.
const TYPESCRIPT: &[DefiningNode] = &[
    ("abstract_class_declaration", "class", NAME),
    ("interface_declaration", "interface", NAME),
    ("enum_declaration", "enum", NAME),
    ("type_alias_declaration", "type", NAME),
    ("internal_module", "namespace", NAME),
];

const C: &[DefiningNode] = &[
    ("function_definition", "fn", Declarator),
    ("struct_specifier", "struct", WithBody),
    ("union_specifier", "union", WithBody),
    ("enum_specifier", "enum", WithBody),
    ("type_definition", "typedef", Declarator),
    ("preproc_def", "define", NAME),
    ("preproc_function_def", "define", NAME),
];

/// What C++ adds to C.
const CPP: &[DefiningNode] = &[
    ("class_specifier", "class", WithBody),
    ("namespace_definition", "namespace", NAME),
    ("concept_definition", "concept", NAME),
    ("alias_declaration", "using", NAME),
];

/// All languages.
pub(super) static LANGUAGES: &[LanguageGrammar] = &[
    language(
        &["rs"],
        tree_sitter_rust::LANGUAGE,
        &[
            ("function_item", "fn", NAME),
            ("function_signature_item", "fn", NAME),
            ("struct_item", "struct", NAME),
            ("enum_item", "enum", NAME),
            ("trait_item", "trait", NAME),
            ("union_item", "union", NAME),
            ("type_item", "type", NAME),
            ("static_item", "static", NAME),
            ("const_item", "const", NAME),
            ("macro_definition", "macro_rules!", NAME),
            ("impl_item", "impl", Field("type")),
            ("mod_item", "mod", WithBody),
        ],
    ),
    language(
        &["py", "pyi"],
        tree_sitter_python::LANGUAGE,
        &[("function_definition", "def", NAME), ("class_definition", "class", NAME)],
    ),
    language(&["js", "jsx", "mjs", "cjs"], tree_sitter_javascript::LANGUAGE, JAVASCRIPT),
    extending(
        JAVASCRIPT,
        language(&["ts", "mts", "cts"], tree_sitter_typescript::LANGUAGE_TYPESCRIPT, TYPESCRIPT),
    ),
    extending(JAVASCRIPT, language(&["tsx"], tree_sitter_typescript::LANGUAGE_TSX, TYPESCRIPT)),
    language(
        &["go"],
        tree_sitter_go::LANGUAGE,
        &[
            ("function_declaration", "func", NAME),
            ("method_declaration", "func", NAME),
            ("type_spec", "type", NAME),
            ("type_alias", "type", NAME),
        ],
    ),
    language(
        &["java"],
        tree_sitter_java::LANGUAGE,
        &[
            ("class_declaration", "class", NAME),
            ("interface_declaration", "interface", NAME),
            ("enum_declaration", "enum", NAME),
            ("record_declaration", "record", NAME),
            ("annotation_type_declaration", "@interface", NAME),
            ("method_declaration", "method", NAME),
            ("constructor_declaration", "constructor", NAME),
            ("compact_constructor_declaration", "constructor", NAME),
        ],
    ),
    language(&["c"], tree_sitter_c::LANGUAGE, C),
    // A header may be of either language, and the grammar of C++ reads both.
    extending(
        C,
        language(&["h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"], tree_sitter_cpp::LANGUAGE, CPP),
    ),
    language(
        &["cs"],
        tree_sitter_c_sharp::LANGUAGE,
        &[
            ("class_declaration", "class", NAME),
            ("interface_declaration", "interface", NAME),
            ("struct_declaration", "struct", NAME),
            ("enum_declaration", "enum", NAME),
            ("record_declaration", "record", NAME),
            ("delegate_declaration", "delegate", NAME),
            ("namespace_declaration", "namespace", NAME),
            ("method_declaration", "method", NAME),
            ("local_function_statement", "method", NAME),
            ("constructor_declaration", "constructor", NAME),
            ("destructor_declaration", "destructor", NAME),
            ("property_declaration", "property", NAME),
        ],
    ),
    language(
        &["kt", "kts"],
        tree_sitter_kotlin_ng::LANGUAGE,
        &[
            ("function_declaration", "fun", NAME),
            ("class_declaration", "class", NAME),
            ("object_declaration", "object", NAME),
            ("type_alias", "typealias", Field("type")),
        ],
    ),
    language(
        &["rb", "rake"],
        tree_sitter_ruby::LANGUAGE,
        &[
            ("method", "def", NAME),
            ("singleton_method", "def", NAME),
            ("class", "class", NAME),
            ("module", "module", NAME),
        ],
    ),
    language(
        &["php"],
        tree_sitter_php::LANGUAGE_PHP,
        &[
            ("function_definition", "function", NAME),
            ("method_declaration", "function", NAME),
            ("class_declaration", "class", NAME),
            ("interface_declaration", "interface", NAME),
            ("trait_declaration", "trait", NAME),
            ("enum_declaration", "enum", NAME),
        ],
    ),
    language(
        &["swift"],
        tree_sitter_swift::LANGUAGE,
        &[
            ("function_declaration", "func", NAME),
            ("protocol_function_declaration", "func", NAME),
            ("init_declaration", "init", NAME),
            ("class_declaration", "", NAME),
            ("protocol_declaration", "protocol", NAME),
            ("typealias_declaration", "typealias", NAME),
        ],
    ),
    language(
        &["scala", "sc"],
        tree_sitter_scala::LANGUAGE,
        &[
            ("function_definition", "def", NAME),
            ("function_declaration", "def", NAME),
            ("class_definition", "class", NAME),
            ("object_definition", "object", NAME),
            ("package_object", "object", NAME),
            ("trait_definition", "trait", NAME),
            ("enum_definition", "enum", NAME),
            ("type_definition", "type", NAME),
            ("given_definition", "given", NAME),
        ],
    ),
    with_clauses(language(
        &["ex", "exs"],
        tree_sitter_elixir::LANGUAGE,
        &[(
            "call",
            "",
            InCall(&[
                "def",
                "defp",
                "defmacro",
                "defmacrop",
                "defguard",
                "defguardp",
                "defdelegate",
                "defmodule",
                "defprotocol",
                "defimpl",
            ]),
        )],
    )),
    language(
        &["lua"],
        tree_sitter_lua::LANGUAGE,
        &[
            ("function_declaration", "function", NAME),
            ("assignment_statement", "function", BeforeValue(&["function_definition"])),
        ],
    ),
    language(
        &["zig"],
        tree_sitter_zig::LANGUAGE,
        &[
            ("function_declaration", "fn", NAME),
            (
                "variable_declaration",
                "const",
                BeforeValue(&[
                    "struct_declaration",
                    "enum_declaration",
                    "union_declaration",
                    "opaque_declaration",
                ]),
            ),
        ],
    ),
    with_clauses(language(
        &["hs"],
        tree_sitter_haskell::LANGUAGE,
        &[
            ("function", "function", NAME),
            ("bind", "function", NAME),
            ("data_type", "data", NAME),
            ("newtype", "newtype", NAME),
            ("type_synonym", "type", NAME),
            ("class", "class", NAME),
            ("instance", "instance", NAME),
        ],
    )),
    in_latin1(language(
        &["sh", "bash"],
        tree_sitter_bash::LANGUAGE,
        &[("function_definition", "function", NAME)],
    )),
];
