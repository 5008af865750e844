use flag_parser::{Flag, Parsed, Spec, help, parse};

fn spec() -> Spec {
    Spec::new([
        Flag::switch("verbose", "Say more").short('v'),
        Flag::switch("quiet", "Say less").short('q'),
        Flag::option("output", "Write to this file").short('o'),
        Flag::option("größe", "How large").short('ß'),
    ])
}

fn read(args: &[&str]) -> Parsed {
    parse(&spec(), args).unwrap()
}

fn fails(args: &[&str], message: &str) {
    assert_eq!(parse(&spec(), args).unwrap_err().to_string(), message, "{args:?}");
}

#[test]
fn nothing() {
    let parsed = read(&[]);
    assert!(!parsed.is_set("verbose"));
    assert_eq!(parsed.value("output"), None);
    assert!(parsed.rest().is_empty());
}

#[test]
fn plain_flags() {
    let parsed = read(&["a", "--verbose", "-o", "file", "b", "-q", "--größe", "5"]);
    assert!(parsed.is_set("verbose") && parsed.is_set("quiet"));
    assert_eq!(parsed.value("output"), Some("file"));
    assert_eq!(parsed.value("größe"), Some("5"));
    assert_eq!(parsed.rest(), ["a", "b"]);
}

#[test]
fn values_that_look_like_flags() {
    let parsed = read(&["-o", "--verbose", "--größe", "--", "x"]);
    assert_eq!(parsed.value("output"), Some("--verbose"));
    assert_eq!(parsed.value("größe"), Some("--"));
    assert_eq!(parsed.rest(), ["x"]);
    assert!(!parsed.is_set("verbose"));
}

#[test]
fn plain_errors() {
    fails(&["--outptu"], "unknown flag --outptu");
    fails(&["-x"], "unknown flag -x");
    fails(&["--output"], "--output needs a value");
    fails(&["-v", "-o"], "-o needs a value");
}

#[test]
fn lone_hyphen() {
    assert_eq!(read(&["-", "-v"]).rest(), ["-"]);
    assert_eq!(read(&["-o", "-"]).value("output"), Some("-"));
}

#[test]
fn inline_values() {
    assert_eq!(read(&["--output=file"]).value("output"), Some("file"));
    assert_eq!(read(&["--output="]).value("output"), Some(""));
    assert_eq!(read(&["--output=a=b"]).value("output"), Some("a=b"));
    assert_eq!(read(&["--größe=9", "x"]).rest(), ["x"]);
}

#[test]
fn inline_values_in_errors() {
    fails(&["--verbose=yes"], "--verbose takes no value");
    fails(&["--verbose="], "--verbose takes no value");
    fails(&["--outptu=x"], "unknown flag --outptu");
    fails(&["--=x"], "unknown flag --");
}

#[test]
fn groups() {
    let parsed = read(&["-vq", "x"]);
    assert!(parsed.is_set("verbose") && parsed.is_set("quiet"));
    assert_eq!(parsed.rest(), ["x"]);
    assert!(read(&["-vvv"]).is_set("verbose"));
}

#[test]
fn values_in_groups() {
    let parsed = read(&["-vofile", "x"]);
    assert!(parsed.is_set("verbose"));
    assert_eq!(parsed.value("output"), Some("file"));
    assert_eq!(parsed.rest(), ["x"]);
    assert_eq!(read(&["-vo", "-q"]).value("output"), Some("-q"));
    assert_eq!(read(&["-ovq"]).value("output"), Some("vq"));
    assert!(!read(&["-ovq"]).is_set("verbose"));
    assert_eq!(read(&["-o=x"]).value("output"), Some("=x"));
    assert_eq!(read(&["-vß12"]).value("größe"), Some("12"));
}

#[test]
fn groups_in_errors() {
    fails(&["-vx"], "unknown flag -x in -vx");
    fails(&["-xv"], "unknown flag -x in -xv");
    fails(&["-v="], "unknown flag -= in -v=");
    fails(&["-vo"], "-o in -vo needs a value");
    fails(&["-ß"], "-ß needs a value");
}

#[test]
fn end_of_the_flags() {
    let parsed = read(&["a", "-v", "--", "-q", "--", "--output", "b"]);
    assert_eq!(parsed.rest(), ["a", "-q", "--", "--output", "b"]);
    assert!(parsed.is_set("verbose") && !parsed.is_set("quiet"));
    assert!(read(&["--"]).rest().is_empty());
}

#[test]
fn given_twice() {
    fails(&["--output=a", "--output", "b"], "--output is given twice");
    fails(&["--output=", "-o", "b"], "-o is given twice");
    fails(&["-oa", "-ob"], "-o is given twice");
    fails(&["-oa", "-vob"], "-o in -vob is given twice");
    fails(&["-oa", "-vo"], "-o in -vo needs a value");
    assert!(read(&["-v", "--verbose"]).is_set("verbose"));
}

#[test]
fn negatable_switches() {
    let spec = Spec::new([Flag::switch("color", "").negatable().short('c'), Flag::switch("wide", "")]);
    let state = |args: &[&str]| {
        let parsed = parse(&spec, args).unwrap();
        assert_eq!(parsed.is_set("color"), parsed.switch("color") == Some(true));
        parsed.switch("color")
    };
    assert_eq!(state(&[]), None);
    assert_eq!(state(&["--color"]), Some(true));
    assert_eq!(state(&["--no-color"]), Some(false));
    assert_eq!(state(&["--no-color", "-c"]), Some(true));
    assert_eq!(state(&["--color", "--wide", "--no-color"]), Some(false));
    let error = |arg: &str| parse(&spec, &[arg]).unwrap_err().to_string();
    assert_eq!(error("--no-wide"), "unknown flag --no-wide");
    assert_eq!(error("--no-color=x"), "--no-color takes no value");
    assert_eq!(error("--no-no-color"), "unknown flag --no-no-color");
}

#[test]
fn flag_with_the_name_of_a_negation() {
    let spec = Spec::new([Flag::switch("cache", "").negatable(), Flag::option("no-cache", "Not for these").many()]);
    let parsed = parse(&spec, &["--cache", "--no-cache", "x"]).unwrap();
    assert_eq!(parsed.switch("cache"), Some(true));
    assert_eq!(parsed.values("no-cache"), ["x"]);
}

#[test]
fn options_with_many_values() {
    let spec = Spec::new([Flag::option("define", "").short('D').many(), Flag::switch("verbose", "").short('v')]);
    let parsed = parse(&spec, &["-Da", "x", "--define=b", "-vD", "c", "--define", ""]).unwrap();
    assert_eq!(parsed.values("define"), ["a", "b", "c", ""]);
    assert_eq!(parsed.value("define"), Some(""));
    assert_eq!(parsed.rest(), ["x"]);
    assert!(parse(&spec, &[]).unwrap().values("define").is_empty());
    assert!(parsed.values("verbose").is_empty());
    assert_eq!(parsed.switch("verbose"), Some(true));
}

#[test]
fn help_text() {
    let spec = Spec::new([
        Flag::switch("color", "Use colours").negatable(),
        Flag::option("define", "Set a name").short('D').many(),
        Flag::option("größe", "How large"),
        Flag::switch("verbose", "Say more").short('v'),
    ]);
    let expected = [
        "      --[no-]color       Use colours",
        "  -D, --define VALUE...  Set a name",
        "      --größe VALUE      How large",
        "  -v, --verbose          Say more",
        "",
    ];
    assert_eq!(help(&spec), expected.join("\n"));
}
