//! Finds definitions with the grammar of a language. Pure. In a text with syntax errors, finds the unambiguous ones.

use tree_sitter::{Language, Node, Parser};

use crate::defined::definitions::Definition;

/// Maximum number of lines above a definition that belong to it.
const MAX_LEAD_LINES: usize = 12;

/// Finds the definitions in a file with this extension; `None` for a language without a grammar.
pub(crate) fn definitions_by_grammar(
    extension: &str,
    text: &str,
    most: usize,
) -> Option<Vec<Definition>> {
    let mut parser = Parser::new();
    parser.set_language(&language(extension)?).ok()?;
    let tree = parser.parse(text, None)?;
    let mut found: Vec<Definition> = Vec::new();
    let mut cursor = tree.walk();
    // End offsets of the definitions that enclose the node.
    let mut around: Vec<usize> = Vec::new();
    loop {
        let node = cursor.node();
        while around.last().is_some_and(|end| *end <= node.start_byte()) {
            around.pop();
        }
        if let Some(definition) = definition(node, text, around.len()) {
            around.push(node.end_byte());
            found.push(definition);
            if found.len() == most {
                break;
            }
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                found.sort_by_key(|definition| definition.line);
                return Some(found);
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
    found.sort_by_key(|definition| definition.line);
    Some(found)
}

fn language(extension: &str) -> Option<Language> {
    let language = match extension {
        "rs" => tree_sitter_rust::LANGUAGE,
        "py" | "pyi" => tree_sitter_python::LANGUAGE,
        "js" | "jsx" | "mjs" | "cjs" => tree_sitter_javascript::LANGUAGE,
        "ts" | "mts" | "cts" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        "tsx" => tree_sitter_typescript::LANGUAGE_TSX,
        "go" => tree_sitter_go::LANGUAGE,
        _ => return None,
    };
    Some(language.into())
}

fn definition(node: Node<'_>, text: &str, depth: usize) -> Option<Definition> {
    let (kind, field) = kind(node, text)?;
    let name = node.child_by_field_name(field)?;
    let line = name.start_position().row;
    let name = name.utf8_text(text.as_bytes()).ok()?;
    let name = name.split(['<', '\n']).next().unwrap_or_default().trim();
    if name.is_empty() || name == "_" {
        return None;
    }
    let whole = with_wrapper(node);
    let number = |row: usize| u32::try_from(row + 1).ok();
    Some(Definition {
        kind: kind.to_owned(),
        name: name.to_owned(),
        first: number(first_row(whole))?,
        line: number(line)?,
        last: number(last_row(whole).max(line))?,
        depth: u32::try_from(depth).ok()?,
    })
}

/// Returns the keyword for what `node` defines, and the field with its name.
fn kind<'a>(node: Node<'_>, text: &'a str) -> Option<(&'a str, &'static str)> {
    let kind = match node.kind() {
        "function_item" | "function_signature_item" => "fn",
        "struct_item" => "struct",
        "enum_item" | "enum_declaration" => "enum",
        "trait_item" => "trait",
        "union_item" => "union",
        "type_item" | "type_alias_declaration" | "type_spec" | "type_alias" => "type",
        "static_item" => "static",
        "const_item" => "const",
        "macro_definition" => "macro_rules!",
        "impl_item" => return Some(("impl", "type")),
        "mod_item" if node.child_by_field_name("body").is_some() => "mod",
        "function_definition" => "def",
        "class_definition" | "class_declaration" | "abstract_class_declaration" => "class",
        "function_declaration" | "generator_function_declaration" => {
            if text.get(node.byte_range())?.starts_with("func ") { "func" } else { "function" }
        }
        "method_declaration" => "func",
        "method_definition" => "method",
        "interface_declaration" => "interface",
        "internal_module" => "namespace",
        "variable_declarator" => match node.child_by_field_name("value")?.kind() {
            "arrow_function" | "function_expression" | "generator_function" => {
                text.get(node.parent()?.byte_range())?.split_whitespace().next()?
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((kind, "name"))
}

/// Returns the node including its wrappers: `export`, decorators, the keyword of a variable.
fn with_wrapper(node: Node<'_>) -> Node<'_> {
    let mut whole = node;
    while let Some(parent) = whole.parent() {
        match parent.kind() {
            "export_statement"
            | "decorated_definition"
            | "lexical_declaration"
            | "variable_declaration"
            | "type_declaration"
                if parent.named_child_count() <= 2 =>
            {
                whole = parent;
            }
            _ => break,
        }
    }
    whole
}

fn first_row(node: Node<'_>) -> usize {
    let start = node.start_position().row;
    let mut first = start;
    let mut next = node.prev_sibling();
    while let Some(above) = next {
        let leads = matches!(
            above.kind(),
            "attribute_item" | "decorator" | "line_comment" | "block_comment" | "comment"
        );
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
        next = above.prev_sibling();
    }
    first
}

/// Returns the row of the last character; some nodes end at the beginning of the next line.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 { end.row.saturating_sub(1).max(node.start_position().row) } else { end.row }
}
