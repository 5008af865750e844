use template_errors::{ErrorKind, Template, TemplateError, Value, Values};

fn values() -> Values {
    let mut values = Values::new();
    values.insert("name".to_string(), Value::from("Ann"));
    values.insert("größe".to_string(), Value::from(" xl "));
    values.insert("blank".to_string(), Value::from(""));
    values.insert("fruits".to_string(), Value::from(["apple", "fig"]));
    values.insert("none".to_string(), Value::from([]));
    let nested = vec![Value::from(["a"]), Value::from("b")];
    values.insert("nested".to_string(), Value::List(nested));
    values
}

fn rendered(text: &str) -> String {
    Template::parse(text).unwrap().render(&values()).unwrap()
}

fn check(error: TemplateError, line: usize, column: usize, kind: ErrorKind) {
    assert_eq!(error, TemplateError { line, column, kind });
}

fn parse_error(text: &str) -> TemplateError {
    Template::parse(text).expect_err(text)
}

fn render_error(text: &str) -> TemplateError {
    Template::parse(text).expect(text).render(&values()).expect_err(text)
}

fn bad_name(name: &str) -> ErrorKind {
    ErrorKind::BadName(name.to_string())
}

#[test]
fn text_and_variables() {
    assert_eq!(rendered("Hi {{ name }} {{name|upper}}!\n"), "Hi Ann ANN!\n");
    assert_eq!(rendered("{{ größe | trim | upper }}"), "XL");
    assert_eq!(rendered("{{\n name\n| lower }}"), "ann");
    assert_eq!(rendered("{ % } }} %}"), "{ % } }} %}");
    assert_eq!(rendered(""), "");
}

#[test]
fn conditions() {
    let text = "{% if x %}yes{% else %}no{% end %}";
    for (name, expected) in [("name", "yes"), ("blank", "no"), ("fruits", "yes"), ("none", "no"), ("missing", "no")] {
        assert_eq!(rendered(&text.replace('x', name)), expected);
    }
    assert_eq!(rendered("{% if blank %}{{ missing }}{% end %}."), ".");
}

#[test]
fn loops() {
    assert_eq!(rendered("{% for f in fruits %}{{ f }},{% end %}"), "apple,fig,");
    assert_eq!(rendered("{% for\nname in fruits %}{{ name }}{% end %}{{ name }}"), "applefigAnn");
    assert_eq!(rendered("{% for f in none %}{{ f }}{{ missing }}{% end %}"), "");
}

#[test]
fn errors_are_errors() {
    for text in ["{{ name", "{% endif %}", "{% if name %}", "{{ name | loud }}", "{{ 1 }}", "{% for f of fruits %}"] {
        assert!(Template::parse(text).is_err(), "{text}");
    }
    for text in ["{{ missing }}", "{{ fruits }}", "{% for x in name %}{% end %}"] {
        assert!(Template::parse(text).unwrap().render(&values()).is_err(), "{text}");
    }
}

#[test]
fn texts_follow_the_place() {
    for (text, expected) in [
        ("a\n{{ x", "line 2, column 1: tag is not closed"),
        ("{% while %}", "line 1, column 1: unknown tag \"while\""),
        ("{% end %}", "line 1, column 1: unexpected tag \"end\""),
        ("{% for a in b %}", "line 1, column 1: no end for \"for\""),
        ("{% for a of b %}", "line 1, column 10: expected \"in\""),
        ("{% if a b %}", "line 1, column 9: unexpected \"b\""),
        ("{{ 1 }}", "line 1, column 4: bad name \"1\""),
        ("{{ a | loud }}", "line 1, column 8: unknown filter \"loud\""),
    ] {
        assert_eq!(parse_error(text).to_string(), expected);
    }
    for (text, expected) in [
        ("Hi,\nMr. {{ nick }}", "line 2, column 8: unknown variable \"nick\""),
        ("{{ fruits }}", "line 1, column 4: \"fruits\" is not a text"),
        ("{% for x in name %}{% end %}", "line 1, column 13: \"name\" is not a list"),
    ] {
        assert_eq!(render_error(text).to_string(), expected);
    }
}

#[test]
fn tags_that_are_not_closed() {
    check(parse_error("äö {{ name }"), 1, 4, ErrorKind::UnclosedTag);
    check(parse_error("a\r\nb\n\n {% if name }}"), 4, 2, ErrorKind::UnclosedTag);
    check(parse_error("{{ name }}{{\n"), 1, 11, ErrorKind::UnclosedTag);
}

#[test]
fn wrong_tags() {
    check(parse_error("x{% endif %}"), 1, 2, ErrorKind::UnknownTag("endif".to_string()));
    check(parse_error("x\n{% %}"), 2, 1, ErrorKind::UnknownTag(String::new()));
    check(parse_error("{%%}"), 1, 1, ErrorKind::UnknownTag(String::new()));
    check(parse_error("{{ name\n}}{% end %}"), 2, 3, ErrorKind::UnexpectedTag("end".to_string()));
    let twice = "{% if a %}{% else %}{%\nelse %}{% end %}";
    check(parse_error(twice), 1, 21, ErrorKind::UnexpectedTag("else".to_string()));
    let in_loop = "{% if a %}{% for b in c %}{% else %}{% end %}{% end %}";
    check(parse_error(in_loop), 1, 27, ErrorKind::UnexpectedTag("else".to_string()));
}

#[test]
fn missing_ends() {
    check(parse_error("\n {% if a %}x"), 2, 2, ErrorKind::MissingEnd("if"));
    check(parse_error("{% if a %}{% for b in c %}{% end %}"), 1, 1, ErrorKind::MissingEnd("if"));
    check(parse_error("{% if a %}\n{% for b in c %}{% if d %}{% end %}"), 2, 1, ErrorKind::MissingEnd("for"));
}

#[test]
fn bad_names() {
    check(parse_error("ü{{  ä-b }}"), 1, 6, bad_name("ä-b"));
    check(parse_error("{{ a b }}"), 1, 4, bad_name("a b"));
    check(parse_error("{{ a | upper | \n  9x }}"), 2, 3, bad_name("9x"));
    check(parse_error("{% for 1 in a %}"), 1, 8, bad_name("1"));
    check(parse_error("{% for a in\tb-c %}"), 1, 13, bad_name("b-c"));
}

#[test]
fn missing_names() {
    check(parse_error("{{ }}"), 1, 4, bad_name(""));
    check(parse_error("{{}}"), 1, 3, bad_name(""));
    check(parse_error("{{ | upper }}"), 1, 4, bad_name(""));
    check(parse_error("{{ a |\n }}"), 2, 2, bad_name(""));
    check(parse_error("{{ a || upper }}"), 1, 7, bad_name(""));
    check(parse_error("{% if  %}"), 1, 8, bad_name(""));
    check(parse_error("{% for a in\n%}"), 2, 1, bad_name(""));
}

#[test]
fn words() {
    check(parse_error("{% for a %}"), 1, 10, ErrorKind::Expected("in"));
    check(parse_error("{% for a\n\n of b %}"), 3, 2, ErrorKind::Expected("in"));
    check(parse_error("{% if a\tis b %}"), 1, 9, ErrorKind::UnexpectedWord("is".to_string()));
    check(parse_error("{% for a in b or c %}"), 1, 15, ErrorKind::UnexpectedWord("or".to_string()));
    check(parse_error("{% if a %}\n{% end if %}"), 2, 8, ErrorKind::UnexpectedWord("if".to_string()));
}

#[test]
fn unknown_filters() {
    let unknown = |name: &str| ErrorKind::UnknownFilter(name.to_string());
    check(parse_error("{{ missing | upper | größer }}"), 1, 22, unknown("größer"));
    check(parse_error("{% if a %}\n{{ a |loud}}{% end %}"), 2, 7, unknown("loud"));
}

#[test]
fn render_errors() {
    let unknown = |name: &str| ErrorKind::UnknownVariable(name.to_string());
    check(render_error("größe: {{ größe }}{{ x }}"), 1, 22, unknown("x"));
    check(render_error("{{\n  x | upper }}"), 2, 3, unknown("x"));
    check(render_error("{% for a in x %}{% end %}"), 1, 13, unknown("x"));
    check(render_error("{% for f in fruits %}\n  {{ f }}: {{ x }}\n{% end %}"), 2, 15, unknown("x"));
    check(render_error("{% if blank %}{% else %}\n{{ x }}{% end %}"), 2, 4, unknown("x"));
    check(render_error("{{ none }}"), 1, 4, ErrorKind::NotText("none".to_string()));
    check(
        render_error("{% for n in nested %}\n{% for x in n %}{{ x }}{% end %}{% end %}"),
        2,
        13,
        ErrorKind::NotAList("n".to_string()),
    );
}

#[test]
fn first_mistake() {
    check(parse_error("{{ 1 }} {{ a"), 1, 4, bad_name("1"));
    check(parse_error("{% if a %}{% x %}{{ 1 }}"), 1, 11, ErrorKind::UnknownTag("x".to_string()));
    check(parse_error("{% if a %}{{ a"), 1, 11, ErrorKind::UnclosedTag);
    check(parse_error("{% for 1 of a b %}"), 1, 8, bad_name("1"));
    check(parse_error("{% else x %}"), 1, 1, ErrorKind::UnexpectedTag("else".to_string()));
    check(parse_error("{{ a | loud | 1 }}"), 1, 8, ErrorKind::UnknownFilter("loud".to_string()));
}
