use path_globs::{Glob, Rules};

fn check(glob: &str, yes: &[&str], no: &[&str]) {
    let parsed = Glob::new(glob).unwrap();
    for path in yes {
        assert!(parsed.matches(path), "{glob} must match {path}");
    }
    for path in no {
        assert!(!parsed.matches(path), "{glob} must not match {path}");
    }
}

fn fails(glob: &str, message: &str) {
    assert_eq!(Glob::new(glob).unwrap_err().to_string(), message, "{glob}");
}

#[test]
fn plain_names_and_stars() {
    check("src/*.rs", &["src/lib.rs", "src/a.b.rs"], &["src/lib.rs.bak", "src/a/lib.rs", "lib.rs"]);
    check("a*b*c", &["abc", "axxbxxc"], &["ab", "abcd"]);
    check("a**b", &["ab", "axb"], &["a/b", "a/x/b"]);
    check("*", &["a"], &["a/b"]);
}

#[test]
fn any_depth_in_the_middle() {
    check("a/**/b", &["a/b", "a/x/b", "a/x/y/b", "a/b/b"], &["ab", "b", "a/x", "x/a/b"]);
    check("a/**/b/**/c", &["a/b/c", "a/x/b/y/z/c"], &["a/c", "a/b"]);
}

#[test]
fn any_depth_at_the_start() {
    check("**/b", &["b", "a/b", "a/x/b"], &["ab", "b/a"]);
}

#[test]
fn any_depth_at_the_end() {
    check("a/**", &["a/b", "a/b/c"], &["a", "b", "ab/c"]);
    check("**", &["a", "a/b"], &[]);
}

#[test]
fn any_character() {
    check("a?c", &["abc", "aäc", "a漢c"], &["ac", "abbc"]);
    check("??", &["äö"], &["ä", "äöü"]);
    check("*ö", &["ö", "schö"], &["o"]);
    check("tür.*", &["tür.txt"], &["tur.txt"]);
}

#[test]
fn plain_classes_and_escapes() {
    check("[a-c_x]", &["a", "b", "c", "_", "x"], &["d", "-", "ab"]);
    check("x[!a-c]", &["xd", "x!"], &["xa", "x"]);
    check(r"\*x", &["*x"], &["ax"]);
}

#[test]
fn classes() {
    check("[!a-c]z", &["dz", "äz", "!z"], &["az", "z"]);
    check("[ä-ü]", &["ö"], &["a", "x"]);
    check("[^a]", &["b", "^"], &["a"]);
    check("x[*?]", &["x*", "x?"], &["xa"]);
}

#[test]
fn class_members_that_look_special() {
    check("x[]a]", &["x]", "xa"], &["x", "xa]"]);
    check("x[!]a]", &["xb"], &["x]", "xa"]);
    check("x[-a]", &["x-", "xa"], &["xb"]);
    check("x[a-]", &["x-", "xa"], &["xb"]);
    check("x[!-]", &["xa"], &["x-"]);
    check("x[a!^]", &["xa", "x!", "x^"], &["xb"]);
}

#[test]
fn escapes() {
    check(r"\*", &["*"], &["a"]);
    check(r"a\[b]", &["a[b]"], &["ab"]);
    check(r"\[\\", &[r"[\"], &["["]);
    check(r"x[\]\\]", &["x]", r"x\"], &["xa"]);
    check(r"x[a\-z]", &["xa", "x-", "xz"], &["xb"]);
}

#[test]
fn hidden_names() {
    check("*", &["a.b"], &[".a"]);
    check("*.a", &["x.a"], &[".a"]);
    check("?a", &["xa"], &[".a"]);
    check("[.x]a", &["xa"], &[".a"]);
    check("[!x]a", &["ya"], &[".a"]);
    check(".*", &[".a"], &["a"]);
    check(r"\.x", &[".x"], &["x"]);
    check("a/*/b", &["a/x/b"], &["a/.x/b"]);
}

#[test]
fn hidden_names_and_any_depth() {
    check("**/b", &["x/b"], &[".x/b", "x/.y/b"]);
    check("**", &["a"], &[".a", "a/.b", ".a/b"]);
    check("**/.b", &[".b", "x/.b"], &[".x/.b"]);
    check("a/**", &["a/b.c"], &["a/.b", "a/b/.c"]);
}

#[test]
fn plain_mistakes() {
    fails("a/[b", "column 3: class is not closed");
    fails("ab/\\", "column 4: nothing after the backslash");
}

#[test]
fn mistakes() {
    fails("[]", "column 1: class is not closed");
    fails("x[!]", "column 2: class is not closed");
    fails("[a/b]", "column 1: class is not closed");
    fails("a[z-b]", "column 3: range is backwards");
    fails("a[xz-b]", "column 4: range is backwards");
}

#[test]
fn mistakes_after_wide_characters() {
    fails("äö/ü[b", "column 5: class is not closed");
    fails("ä\\", "column 2: nothing after the backslash");
    fails("漢/[ä-a]", "column 4: range is backwards");
}

fn ignored<'a>(rules: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let rules = Rules::parse(rules).unwrap();
    paths.iter().copied().filter(|path| rules.ignores(path.trim_end_matches('/'), path.ends_with('/'))).collect()
}

#[test]
fn rules_at_any_depth() {
    let rules = "# logs\n\n*.log\n";
    assert_eq!(ignored(rules, &["a.log", "x/y/b.log", "a.txt"]), ["a.log", "x/y/b.log"]);
    assert_eq!(ignored(rules, &[".cache/b.log", ".log"]), [".cache/b.log"]);
}

#[test]
fn no_rules() {
    assert_eq!(ignored("# nothing\n\n", &["a", "x/"]), [""; 0]);
}

#[test]
fn rules_from_the_top() {
    assert_eq!(ignored("x/a\n/b\n", &["x/a", "y/x/a", "b", "x/b"]), ["x/a", "b"]);
    assert_eq!(ignored("/*.txt", &["a.txt", "x/a.txt"]), ["a.txt"]);
}

#[test]
fn rules_for_directories() {
    assert_eq!(ignored("out/\n", &["out/", "out", "x/out/", "x/out"]), ["out/", "x/out/"]);
    assert_eq!(ignored("/out/", &["out/", "x/out/"]), ["out/"]);
}

#[test]
fn last_rule_decides() {
    let paths = ["a.log", "keep.log", "keep.log.old"];
    assert_eq!(ignored("*.log\n!keep.log\n", &paths), ["a.log"]);
    assert_eq!(ignored("!keep.log\n*.log\n", &paths), ["a.log", "keep.log"]);
    assert_eq!(ignored("*.log\n!keep.*\nkeep.*\n", &paths), paths);
    assert_eq!(ignored("!!a\nx\n!x\n\\!y", &["x", "!y", "y"]), ["!y"]);
    assert_eq!(ignored("*\n!!a\n", &["!a", "a"]), ["a"]);
}

#[test]
fn nothing_in_an_ignored_directory_comes_back() {
    let rules = "out/\n!out/keep\n";
    assert_eq!(ignored(rules, &["out/a", "out/keep", "out/x/keep", "keep"]), ["out/a", "out/keep", "out/x/keep"]);
    assert_eq!(ignored("out/*\n!out/keep\n", &["out/a", "out/keep", "out/keep/x", "out/a/x"]), ["out/a", "out/a/x"]);
    assert_eq!(ignored("out\n!out\n", &["out/", "out/a"]), [""; 0]);
}

#[test]
fn mistakes_in_rules() {
    let error = |text: &str| {
        let (line, error) = Rules::parse(text).unwrap_err();
        format!("line {line}, {error}")
    };
    assert_eq!(error("a/b\n\nx/[\n"), "line 3, column 3: class is not closed");
    assert_eq!(error("[a"), "line 1, column 1: class is not closed");
    assert_eq!(error("ok\n!/x[b-a]/"), "line 2, column 5: range is backwards");
}
