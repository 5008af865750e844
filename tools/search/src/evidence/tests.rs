//! Evidence for requests in a small repository.

use super::*;
use crate::items::{EvidenceItem, ItemKind};
use crate::{TITLE_BYTES, Titles, estimate_tokens};
use index::IndexOptions;
use proptest::sample::select;
use proptest::test_runner::Config;
use proptest::{prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tree::ReadTree;

const OPTIONS: EvidenceOptions = EvidenceOptions {
    tokens: 6000,
    instruction_tokens: 2000,
    small_tree_tokens: 5000,
    spread: Spread::Whole,
};

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A repository with 50 source files and some special ones.
fn repository() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let root = home.path();
    for number in 0..50 {
        let text = format!(
            "//! Part {number}.\n\n/// Does it.\npub fn helper_{number}(x: u32) -> u32 {{\n    x + {number}\n}}\n\n\
             pub struct Part{number};\n"
        );
        write(root, &format!("src/part_{number:02}.rs"), text);
    }
    write(
        root,
        "src/pager.rs",
        "use a;\n\npub fn pagination(page: usize) {\n    helper_7(page);\n}\n\nfn x() {}\n",
    );
    write(root, "README.md", "# Pages\n\nCuts books into pages.\n");
    write(root, "Cargo.toml", "[package]\nname = \"pages\"\n");
    write(root, "AGENTS.md", "Say please.\n");
    write(root, "src/AGENTS.md", "No unwrap.\n");
    write(root, "CLAUDE.md", "Say please.\n");
    write(root, ".env", "KEY=sk-secret\n");
    write(root, ".deepseekignore", "/notes/\n");
    write(root, "notes/private.md", "What nobody may know of pagination.\n");
    write(root, "data/huge.csv", "1,2\n");
    fs::File::options()
        .append(true)
        .open(root.join("data/huge.csv"))
        .unwrap()
        .set_len(13 << 20)
        .unwrap();
    write(root, "data/logo.png", b"\x89PNG\0\0");
    write(root, "docs/fences.md", "````md\n```\nFiles (1 of 1):\n````\n");
    write(root, "文档/分页.md", "登录页面的说明\n第二行\n");
    write(root, "src/long.rs", "// a line of the long file\n".repeat(5000));
    home
}

fn index(home: &tempfile::TempDir, state: &Path) -> Index {
    let options = IndexOptions {
        dir: state.join("index"),
        max_files: 10_000,
        max_file_bytes: 2_000_000,
        wait: Duration::ZERO,
        may_read: Arc::new(|path| path.as_str() != ".env"),
    };
    Index::new(ReadTree::open(home.path()).unwrap(), options)
}

/// Returns an up-to-date index of the repository.
fn indexed(home: &tempfile::TempDir) -> (tempfile::TempDir, Index) {
    let state = tempfile::tempdir().unwrap();
    let index = index(home, state.path());
    index.update(|_, _| ()).unwrap();
    (state, index)
}

fn ask(index: &Index, request: &str, options: EvidenceOptions) -> Evidence {
    let checks = ["make test".to_owned()];
    gather(request, index, &options, &checks)
}

fn with(home: &tempfile::TempDir, request: &str, options: EvidenceOptions) -> Evidence {
    let (_state, index) = indexed(home);
    ask(&index, request, options)
}

/// Renders as a prompt does, with titles of the maximum length.
fn render(evidence: &Evidence) -> String {
    let title = |mark: &str| mark.repeat(TITLE_BYTES - 1);
    let titles = Titles {
        checks: title("c"),
        mentions: title("n"),
        example: title("e"),
        map: title("m"),
        omitted: title("o"),
    };
    crate::render(evidence, &titles)
}

fn of(request: &str) -> Evidence {
    with(&repository(), request, OPTIONS)
}

fn shown(evidence: &Evidence, kind: ItemKind) -> Vec<String> {
    let items = evidence.items.iter().filter(|item| item.kind == kind);
    items.map(|item| format!("{}:{}-{}", item.path, item.first_line, item.last_line)).collect()
}

#[test]
fn a_named_file_is_shown_whole_with_its_instructions_and_related_files() {
    let evidence = of("In ./src/part_07.rs rename `helper_7` as pagination does");
    assert_eq!(shown(&evidence, ItemKind::Named), ["src/part_07.rs:1-8"]);
    let instructions: Vec<_> = evidence.instructions.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(instructions, ["src/AGENTS.md"]);
    let passages = shown(&evidence, ItemKind::Passage);
    assert!(!passages.iter().any(|passage| passage.starts_with("src/part_07.rs")));
    let mentions = evidence.mentions.iter().map(|hit| format!("{}:{}", hit.path, hit.line));
    assert!(
        passages.contains(&"src/pager.rs:1-7".to_owned()) || mentions.eq(["src/pager.rs:4"]),
        "the only use of it is shown: {passages:?} {:?}",
        evidence.mentions
    );
}

#[test]
fn all_lines_with_a_rare_name_are_listed_and_a_quoted_message_brings_its_function() {
    let home = repository();
    let far = "fill_a_line_of_it!();\n".repeat(900);
    let refuse = "fn refuse() {\n    let why = 1;\n    fail(\"the page is torn\", why);\n}\n";
    write(home.path(), "src/zz.rs", format!("{far}{refuse}{far}"));
    let test = "#[test]\nfn a_torn_page() {\n    let pages = Pages::new();\n    assert!(see(\"the page is torn\"));\n}\n";
    write(home.path(), "tests/pages.rs", format!("{far}{test}{far}"));
    for n in 0..5 {
        write(home.path(), &format!("lib/a{n}.rs"), format!("{far}fn a() {{ torn_page({n}); }}\n"));
        write(
            home.path(),
            &format!("lib/b{n}.rs"),
            format!("{far}fn b() {{ torn_pages({n}); }}\n"),
        );
    }
    let evidence = with(&home, "It says \"the page is torn\" after `torn_page`. Why?", OPTIONS);
    let passages = shown(&evidence, ItemKind::Passage);
    for whole in ["src/zz.rs:901-904", "tests/pages.rs:901-905"] {
        assert!(passages.contains(&whole.to_owned()), "{whole} of {passages:?}");
    }
    let is_listed = |path: &str| {
        evidence.mentions.iter().any(|hit| hit.path.as_str() == path)
            || passages.iter().any(|passage| passage.starts_with(path))
    };
    assert!((0..5).all(|n| is_listed(&format!("lib/a{n}.rs"))), "{:?}", evidence.mentions);
    assert!(!evidence.mentions.iter().any(|hit| hit.text.contains("torn_pages")));
    for n in 5..20 {
        write(home.path(), &format!("lib/a{n}.rs"), format!("{far}fn a() {{ torn_page({n}); }}\n"));
    }
    let evidence = with(&home, "what is `torn_page`?", OPTIONS);
    assert!(evidence.mentions.is_empty(), "it is not rare");
}

#[test]
fn a_request_in_words_finds_what_it_is_about() {
    let evidence = of("the pagination is off by one");
    assert_eq!(shown(&evidence, ItemKind::Passage).first().unwrap(), "src/pager.rs:1-7");
    assert!(!evidence.map.iter().any(|line| line.path.as_str() == "src/pager.rs"));
}

#[test]
fn the_stable_part_is_the_same_for_every_request_and_source_change() {
    let home = repository();
    let spread = |request: &str, spread| {
        let titles = Titles { checks: "Checks:".to_owned(), ..Titles::default() };
        let options = EvidenceOptions { spread, ..OPTIONS };
        crate::render_stable(&with(&home, request, options), &titles)
    };
    let stable = |request: &str| spread(request, Spread::Deep);
    assert!(
        !spread("the pagination", Spread::Whole).contains("# Pages"),
        "a change needs no README"
    );
    let first = stable("the pagination is off by one");
    for part in ["Say please.", "# Pages", "Checks:\n- make test"] {
        assert_eq!(first.matches(part).count(), 1, "{part} in {first}");
    }
    write(home.path(), "src/part_03.rs", "fn other() {}\n");
    write(home.path(), "src/new.rs", "fn new() {}\n");
    assert_eq!(stable("in src/part_03.rs rename `other`"), first);
    write(home.path(), "AGENTS.md", "Say thanks.\n");
    assert_ne!(stable("the pagination is off by one"), first);
}

#[test]
fn a_small_tree_is_shown_whole_and_needs_no_index() {
    let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a.rs", "b/c.py", "Cargo.lock", "README.md"] {
        write(home.path(), name, "text\n".repeat(20));
    }
    write(home.path(), "logo.png", b"\x89PNG\0\0");
    let index = index(&home, state.path());
    let evidence = gather("what is it?", &index, &OPTIONS, &[]);
    assert_eq!(shown(&evidence, ItemKind::Passage), ["README.md:1-20", "a.rs:1-20", "b/c.py:1-20"]);
    assert!(evidence.stable.is_empty());
    assert!(!evidence.partial);
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_the_request_repeats_is_not_shown() {
    let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let told = "Count the pages of a book, without the cover and without those that are empty on both sides.\n";
    write(home.path(), "docs/task.md", told);
    write(home.path(), "a.rs", "fn a() {}\n");
    let index = index(&home, state.path());
    let of = |request: &str| shown(&gather(request, &index, &OPTIONS, &[]), ItemKind::Passage);
    assert_eq!(of(&format!("{told}\nDo it in a.txt.")), ["a.rs:1-1"]);
    assert_eq!(of("Count the pages."), ["a.rs:1-1", "docs/task.md:1-1"]);
}

#[test]
fn chinese_requests_are_understood() {
    let evidence = of("修改登录页面的文字");
    assert_eq!(shown(&evidence, ItemKind::Passage), ["文档/分页.md:1-2"]);
    let evidence = of("请看文档/分页.md，修复问题");
    assert_eq!(shown(&evidence, ItemKind::Named), ["文档/分页.md:1-2"]);
}

#[test]
fn files_that_cannot_be_shown_are_listed_with_a_reason() {
    for (request, why) in [
        ("use .env", ".env: the policy does not let it be read"),
        ("see notes/private.md", "notes/private.md: `.deepseekignore` hides it from models"),
        ("see data/logo.png", "data/logo.png: not text"),
        (
            "see data/huge.csv",
            "data/huge.csv: 13631488 bytes are more than 2000000, the largest file shown",
        ),
        ("make src/new.rs", "src/new.rs: no such file"),
    ] {
        let evidence = of(request);
        assert_eq!(evidence.omitted, [why], "{request}");
        assert!(shown(&evidence, ItemKind::Named).is_empty());
    }
    assert!(!render(&of("KEY sk-secret in .env")).contains("KEY=sk-secret"));
    assert!(!render(&of("nobody may know of pagination")).contains("private"));
}

#[test]
fn git_status_output_names_only_existing_files() {
    let evidence = of(" M src/part_01.rs\n?? src/gone.rs\n");
    assert_eq!(shown(&evidence, ItemKind::Named), ["src/part_01.rs:1-8"]);
    assert_eq!(evidence.omitted, ["src/gone.rs: no such file"]);
}

#[test]
fn a_large_named_file_is_shown_around_its_line() {
    let home = repository();
    let options = EvidenceOptions { tokens: 2000, ..OPTIONS };
    let evidence = with(&home, "look at src/long.rs:2500", options);
    let item = evidence.items.iter().find(|item| item.kind == ItemKind::Named).unwrap();
    assert!(item.first_line < 2500 && item.last_line > 2500 && item.lines == 5000);
    let note =
        format!("src/long.rs: only lines {}-{} of 5000 fit", item.first_line, item.last_line);
    assert_eq!(evidence.omitted, [note]);
    let head = with(&home, "look at src/long.rs and src/part_01.rs", options);
    assert_eq!(shown(&head, ItemKind::Named).get(1).unwrap(), "src/part_01.rs:1-8");
    assert!(shown(&head, ItemKind::Named).first().unwrap().starts_with("src/long.rs:1-"));
}

#[test]
fn a_large_named_file_is_shown_at_the_relevant_lines() {
    let home = repository();
    let row = |n: u32| format!("let row_{n} = {n};\n");
    let mut rows: Vec<String> = (0..6000).map(row).collect();
    rows.insert(3000, "fn refund(order: u32) {\n    order\n}\n".to_owned());
    let text = rows.concat();
    write(home.path(), "src/orders.rs", text);
    let options = EvidenceOptions { tokens: 2000, ..OPTIONS };
    let evidence = with(&home, "in src/orders.rs a refund counts the order twice", options);
    let [head, found] = &shown(&evidence, ItemKind::Named)[..] else { panic!("{evidence:?}") };
    assert!(head.starts_with("src/orders.rs:1-"), "{head}");
    let item = evidence.items.iter().find(|item| item.text.contains("fn refund")).unwrap();
    assert!(found.starts_with(&format!("src/orders.rs:{}-", item.first_line)), "{found}");
    assert!(evidence.omitted.first().unwrap().contains(" of 6003 fit"), "{evidence:?}");
}

#[test]
fn named_settings_come_after_the_code_that_reads_them() {
    let home = repository();
    write(home.path(), ".gitignore", "target\n");
    let evidence = with(&home, "a .gitignore with pagination", OPTIONS);
    let at = |path: &str| evidence.items.iter().position(|item| item.path.as_str() == path);
    assert!(at(".gitignore").unwrap() > at("src/pager.rs").unwrap());
}

#[test]
fn lines_in_the_stable_part_are_not_shown_again() {
    let home = repository();
    let logo = "<p align=\"center\"><img src=\"logo.svg\"></p>\n";
    let text = format!("{logo}# Pages\n\nCuts books.\n{}", "more of pagination\n".repeat(200));
    write(home.path(), "README.md", text);
    let options = EvidenceOptions { spread: Spread::Deep, ..OPTIONS };
    for request in ["README.md should tell of pagination", "the pagination of more books"] {
        let evidence = with(&home, request, options);
        let readme = |item: &&EvidenceItem| item.path.as_str() == "README.md";
        let stable = evidence.stable.iter().find(readme).unwrap();
        assert!(stable.text.starts_with("# Pages\n\nCuts books.\n"), "{}", stable.text);
        for again in evidence.items.iter().filter(readme) {
            let is_logo = again.last_line == 1;
            assert!(is_logo || again.first_line > stable.last_line, "{request}: {again:?}");
        }
    }
    write(home.path(), "README.md", "# Pages\n\nCuts books.\n");
    let evidence = with(&home, "README.md should tell of pagination", options);
    assert_eq!(shown(&evidence, ItemKind::Named), [""; 0], "all of it is in the stable part");
}

#[test]
fn contents_stay_inside_their_fences() {
    let text = render(&of("see docs/fences.md"));
    assert!(
        text.contains(
            "\n`````\n   1| ````md\n   2| ```\n   3| Files (1 of 1):\n   4| ````\n`````\n"
        ),
        "{text}"
    );
}

#[test]
fn an_empty_tree_and_an_empty_request_are_fine() {
    let home = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let evidence = gather("", &index(&home, state.path()), &OPTIONS, &[]);
    assert_eq!(render(&evidence), "");
}

#[test]
fn the_budget_is_kept_and_evidence_is_deterministic() {
    const REQUESTS: [&str; 6] = [
        "see src/long.rs, docs/fences.md and data/logo.png with `helper_7`",
        "the pagination of pages",
        "what does this project do?",
        "src/ and helper_3 helper_4 helper_5 .env",
        "修改登录页面",
        "",
    ];
    let home = repository();
    let (_state, index) = indexed(&home);
    let cases = Config::with_cases(48);
    proptest!(cases, |(tokens in 0usize..2500, request in select(&REQUESTS[..]))| {
        let options = EvidenceOptions { tokens, ..OPTIONS };
        let evidence = ask(&index, request, options);
        let text = render(&evidence);
        let size = estimate_tokens(&render(&Evidence { instructions: Vec::new(), ..evidence }));
        prop_assert!(size <= tokens, "{} of {}", size, tokens);
        prop_assert_eq!(text, render(&ask(&index, request, options)));
    });
}

#[test]
fn no_request_panics() {
    let home = repository();
    let (_state, index) = indexed(&home);
    let cases = Config::with_cases(48);
    proptest!(cases, |(request in "\\PC{0,60}|[a-z_./:`\"# 修\n-]{0,60}")| {
        ask(&index, &request, EvidenceOptions { tokens: 500, ..OPTIONS });
    });
}

#[test]
fn a_deep_spread_shows_lines_of_some_files_and_names_the_next() {
    let home = repository();
    let text = |n: u32| {
        let line = |k: u32| format!("    // what a parcel weighs, {n} and {k}\n");
        (0..200).map(line).collect::<String>()
    };
    (0..20).for_each(|n| write(home.path(), &format!("src/parcel_{n}.rs"), text(n)));
    let options = EvidenceOptions { tokens: 2500, spread: Spread::Deep, ..OPTIONS };
    let deep = with(&home, "what a parcel weighs", options);
    let files: BTreeSet<&RepoPath> = deep.items.iter().map(|item| &item.path).collect();
    assert_eq!(files.len(), 6);
    assert!(deep.map.len() <= 10 && deep.map.iter().all(|it| !files.contains(&it.path)));
    let (_state, index) = indexed(&home);
    let about = evidence_about("what a parcel weighs", (None, None), &index, 4000).unwrap();
    assert!(about.stable.is_empty() && about.items.len() >= 3, "{about:?}");
    assert!(render(&about).len() <= 4000 + 3 * TITLE_BYTES);
}

#[test]
fn the_file_with_most_of_what_the_request_names_comes_first() {
    let home = repository();
    let far = "fill_a_line_of_it!();\n".repeat(900);
    let about = |name: &str| {
        format!("fn {name}() {{\n{}}}\n\n", "    parcel_weight(parcel, weight);\n".repeat(40))
    };
    write(home.path(), "tests/parcels.rs", format!("{far}{}{far}{}", about("a"), about("b")));
    write(home.path(), "src/parcel.rs", format!("{far}{}{far}", about("parcel")));
    let named = "fn weigh_all() {\n    zero_scales();\n    parcel();\n}\n\nfn zero_scales() {\n}\n";
    write(home.path(), "src/deep.rs", format!("{far}{named}{far}"));
    let request = "parcel weight: `weigh_all` is to mirror `zero_scales`";
    let evidence = with(&home, request, EvidenceOptions { tokens: 1800, ..OPTIONS });
    let passages = shown(&evidence, ItemKind::Passage);
    assert_eq!(passages.first().map(String::as_str), Some("src/deep.rs:901-907"), "{passages:?}");
}

#[test]
fn a_change_is_shown_whole_functions_of_few_files_and_the_lines_of_others() {
    let home = repository();
    let function = |name: &str, lines: usize| {
        format!("fn {name}() {{\n{}}}\n\n", "    weigh(parcel);\n".repeat(lines))
    };
    let far = "fill_a_line_of_it!();\n".repeat(900);
    let short = function("short", 20);
    let files = [("near", 20), ("middle", 140), ("far", 2000)];
    for (name, lines) in files {
        let text = format!("{far}{}{far}{short}", function(name, lines));
        write(home.path(), &format!("src/{name}.rs"), text);
    }
    for n in 0..20 {
        write(home.path(), &format!("src/other_{n}.rs"), format!("{far}fn f() {{ parcel(); }}\n"));
    }
    let evidence = with(&home, "parcel: weigh it", EvidenceOptions { tokens: 3500, ..OPTIONS });
    let passages = shown(&evidence, ItemKind::Passage);
    let files: BTreeSet<&RepoPath> = evidence.items.iter().map(|item| &item.path).collect();
    assert_eq!(files.len(), 5, "{passages:?}");
    assert_eq!(evidence.map.len(), 10);
    assert!(evidence.map.iter().all(|line| line.definitions == ["fn f 901-901"]));
    // Both functions of a file are shown, from the first to the last line; of one that is too long, the place.
    assert!(passages.contains(&"src/near.rs:901-922".to_owned()), "{passages:?}");
    let long =
        passages.iter().filter(|passage| passage.starts_with("src/far.rs")).collect::<Vec<_>>();
    assert!(!long.is_empty(), "{passages:?}");
}

#[test]
fn one_more_of_a_kind_brings_the_smallest_whole_and_the_lines_that_name_it() {
    let home = repository();
    for (name, lines) in [("footnotes", 60), ("nl2br", 6), ("smarty", 30)] {
        let text = format!("def {name}(text):\n{}", "    text = turn(text)\n".repeat(lines));
        write(home.path(), &format!("lib/extensions/{name}.py"), text);
    }
    write(home.path(), "lib/extensions/__init__.py", "");
    write(home.path(), "docs/extensions.md", "- footnotes\n- nl2br\n- smarty\n");
    write(home.path(), "lib/setup.py", "x = 1\nentry('nl2br')\nentry('nl2brx')\n");
    let request = "Add a `del_ins` extension: it turns ~~x~~ into <del>";
    let evidence = with(&home, request, EvidenceOptions { tokens: 1800, ..OPTIONS });
    assert_eq!(shown(&evidence, ItemKind::Example), ["lib/extensions/nl2br.py:1-7"]);
    let lines = evidence.example_lines.iter().map(|hit| format!("{}:{}", hit.path, hit.line));
    assert!(lines.eq(["docs/extensions.md:2", "lib/setup.py:2"]), "{:?}", evidence.example_lines);
    let text = render(&evidence);
    assert!(text.contains(" (an example)\n") && text.len() / 4 < 2000, "{text}");
    let other = with(&home, "The footnotes extension is slow", OPTIONS);
    assert!(shown(&other, ItemKind::Example).is_empty() && other.example_lines.is_empty());
}

#[test]
fn a_named_spread_shows_named_files_only() {
    let options = EvidenceOptions { spread: Spread::Named, ..OPTIONS };
    let evidence = with(&repository(), "src/pager.rs", options);
    assert_eq!(shown(&evidence, ItemKind::Named).len(), 1);
    assert!(shown(&evidence, ItemKind::Passage).is_empty() && evidence.map.is_empty());
}
