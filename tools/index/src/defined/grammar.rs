//! Finds definitions with the grammar of a language. Pure. In a text with syntax errors, finds the unambiguous ones.

use std::borrow::Cow;
use std::sync::OnceLock;

use tools::encoding::latin1_only;
use tree_sitter::{Language, Node, Parser};

use crate::defined::definitions::Definition;
use crate::defined::languages::{DefiningNode, LANGUAGES, LanguageGrammar, NamePlace};

/// Maximum number of lines above a definition that belong to it.
const MAX_LEAD_LINES: usize = 12;

/// A language, ready to be parsed.
struct LoadedLanguage {
    language: Language,
    /// What each kind of node defines, by its number.
    defines: Vec<Option<&'static DefiningNode>>,
    has_clauses: bool,
    is_latin1: bool,
}

/// Finds the definitions in a file with this extension; `None` for a language without a grammar.
pub(crate) fn definitions_by_grammar(
    extension: &str,
    text: &str,
    most: usize,
) -> Option<Vec<Definition>> {
    let loaded = loaded(extension)?;
    let mut parser = Parser::new();
    parser.set_language(&loaded.language).ok()?;
    let readable = if loaded.is_latin1 { latin1_only(text) } else { Cow::Borrowed(text) };
    let tree = parser.parse(readable.as_ref(), None)?;
    let mut found: Vec<Definition> = Vec::new();
    let mut cursor = tree.walk();
    // End offsets of the definitions that enclose the node.
    let mut around: Vec<usize> = Vec::new();
    'walk: loop {
        let node = cursor.node();
        while around.last().is_some_and(|end| *end <= node.start_byte()) {
            around.pop();
        }
        let defines = loaded.defines.get(usize::from(node.kind_id())).copied().flatten();
        if let Some(defines) = defines
            && let Some(definition) = definition(node, defines, text, around.len())
        {
            around.push(node.end_byte());
            found.push(definition);
            if found.len() == most {
                break;
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
        }
    }
    found.sort_by_key(|definition| definition.line);
    if loaded.has_clauses {
        join_clauses(&mut found);
    }
    Some(found)
}

/// Returns the language of an extension, which is prepared once.
fn loaded(extension: &str) -> Option<&'static LoadedLanguage> {
    static LOADED: [OnceLock<LoadedLanguage>; LANGUAGES.len()] =
        [const { OnceLock::new() }; LANGUAGES.len()];
    let at = LANGUAGES.iter().position(|language| language.extensions.contains(&extension))?;
    let LanguageGrammar { grammar, definitions, inherited, has_clauses, is_latin1, .. } =
        LANGUAGES.get(at)?;
    let load = || {
        let language = Language::from(*grammar);
        let mut defines = vec![None; language.node_kind_count()];
        for (number, place) in (0..).zip(&mut defines) {
            let kind =
                language.node_kind_for_id(number).filter(|_| language.node_kind_is_named(number));
            *place = kind
                .and_then(|kind| definitions.iter().chain(*inherited).find(|(of, ..)| *of == kind));
        }
        LoadedLanguage { language, defines, has_clauses: *has_clauses, is_latin1: *is_latin1 }
    };
    Some(LOADED.get(at)?.get_or_init(load))
}

fn definition(
    node: Node<'_>,
    (_, keyword, place): &DefiningNode,
    text: &str,
    depth: usize,
) -> Option<Definition> {
    let name = name(node, *place, text)?;
    let line = name.start_position().row;
    let of = |node: Node<'_>| text.get(node.byte_range());
    // The part of a name that qualifies it is not part of it, nor are the parameters of a type.
    let name = of(name)?.split(['<', '\n']).next().unwrap_or_default().trim();
    let name = name.rsplit(['.', ':']).next().unwrap_or_default();
    if name.is_empty() || name == "_" {
        return None;
    }
    let keyword = match (*keyword, place) {
        ("", NamePlace::BeforeValue(_)) => of(node.parent()?)?.split_whitespace().next()?,
        ("", NamePlace::InCall(_)) => of(node.child_by_field_name("target")?)?,
        ("", _) => of(node.child_by_field_name("declaration_kind")?)?,
        (keyword, _) => keyword,
    };
    let whole = with_wrapper(node);
    let number = |row: usize| u32::try_from(row + 1).ok();
    Some(Definition {
        kind: keyword.to_owned(),
        name: name.to_owned(),
        first: number(first_row(whole, text))?,
        line: number(line)?,
        last: number(last_row(whole).max(line))?,
        depth: u32::try_from(depth).ok()?,
    })
}

/// Returns the node with the name of a definition; `None` if nothing is defined.
fn name<'t>(node: Node<'t>, place: NamePlace, text: &str) -> Option<Node<'t>> {
    match place {
        NamePlace::Field(field) => node.child_by_field_name(field),
        NamePlace::WithBody => {
            node.child_by_field_name("body")?;
            node.child_by_field_name("name")
        }
        NamePlace::Declarator => {
            let next = |node: &Node<'t>| {
                let named = || node.named_child(0).filter(|_| node.kind().ends_with("_declarator"));
                node.child_by_field_name("declarator").or_else(named)
            };
            std::iter::successors(next(&node), next).last()
        }
        NamePlace::BeforeValue(kinds) => {
            let inner = |node: Node<'t>| match node.kind() {
                "expression_list" | "variable_list" => node.named_child(0),
                _ => Some(node),
            };
            let last =
                || node.named_child(node.named_child_count().checked_sub(1)?.try_into().ok()?);
            let value = inner(node.child_by_field_name("value").or_else(last)?)?;
            let first = || node.named_child(0);
            let name = inner(node.child_by_field_name("name").or_else(first)?)?;
            kinds.contains(&value.kind()).then_some(name)
        }
        NamePlace::InCall(names) => {
            let target = node.child_by_field_name("target")?;
            names.contains(&text.get(target.byte_range())?).then_some(())?;
            let arguments =
                (0..).map_while(|at| node.named_child(at)).find(|it| it.kind() == "arguments")?;
            // The name of what is called there, or on the left of a guard.
            let inner = |node: &Node<'t>| {
                node.child_by_field_name("target").or_else(|| node.child_by_field_name("left"))
            };
            std::iter::successors(arguments.named_child(0), inner).last()
        }
    }
}

/// Joins definitions that follow each other and are clauses of the same.
fn join_clauses(found: &mut Vec<Definition>) {
    found.dedup_by(|next, before| {
        let same =
            next.name == before.name && next.kind == before.kind && next.depth == before.depth;
        if same {
            before.last = before.last.max(next.last);
        }
        same
    });
}

/// Returns the node including its wrappers: `export`, decorators, the keyword of a variable, the parameters of a template.
fn with_wrapper(node: Node<'_>) -> Node<'_> {
    let mut whole = node;
    while let Some(parent) = whole.parent() {
        match parent.kind() {
            "export_statement"
            | "decorated_definition"
            | "lexical_declaration"
            | "variable_declaration"
            | "type_declaration"
            | "template_declaration"
                if parent.named_child_count() <= 2 =>
            {
                whole = parent;
            }
            _ => break,
        }
    }
    whole
}

fn first_row(node: Node<'_>, text: &str) -> usize {
    let begins = |node: Node<'_>, with| {
        text.get(node.byte_range()).is_some_and(|text| text.starts_with(with))
    };
    let start = node.start_position().row;
    let mut first = start;
    let mut next = node_above(node);
    while let Some(above) = next {
        let leads = match above.kind() {
            "attribute_item" | "decorator" | "signature" => true,
            // An attribute of Elixir.
            "unary_operator" => begins(above, "@"),
            kind => (kind.ends_with("comment") || kind == "haddock") && !begins(above, "#!"),
        };
        // A comment at the end of a line of code belongs to that line.
        let alone =
            above.prev_sibling().is_none_or(|before| last_row(before) < above.start_position().row);
        if !leads
            || !alone
            || last_row(above) + 1 < first
            || start - above.start_position().row > MAX_LEAD_LINES
        {
            break;
        }
        first = above.start_position().row.min(first);
        next = node_above(above);
    }
    first
}

/// Returns the node above. What stands above the first node of a body may be above the body.
fn node_above(node: Node<'_>) -> Option<Node<'_>> {
    let is_first = |parent: &Node<'_>| parent.start_byte() == node.start_byte();
    node.prev_sibling().or_else(|| node_above(node.parent().filter(is_first)?))
}

/// Returns the row of the last character; some nodes end at the beginning of the next line.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 { end.row.saturating_sub(1).max(node.start_position().row) } else { end.row }
}
