//! The evidence for a request: what of the tree goes into the first prompt. It asks no model and writes nothing.

use super::packing::Packing;
use super::reader::Reader;
use super::survey::Survey;
use tree::{FileHash, ReadTree, RepoPath};

/// Bounds of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceOptions {
    /// Most tokens of the rendered evidence, as [`super::estimate_tokens`] counts them, while no title has more than
    /// [`super::TITLE_BYTES`]. A bound and not a goal.
    pub tokens: usize,
    /// Most files of the tree that are looked at.
    pub max_files: usize,
    /// Larger files are neither searched nor shown.
    pub max_file_bytes: u64,
}

/// What is known about a request before a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Texts, in the order in which they are worth reading.
    pub items: Vec<EvidenceItem>,
    /// Files, most relevant first.
    pub map: Vec<MapLine>,
    /// What became of earlier runs, one line each.
    pub outcomes: Vec<String>,
    /// What was named and is not shown whole, with the reason, one line each.
    pub omitted: Vec<String>,
    /// Files of the tree that may be read.
    pub files: usize,
    /// Whether there are more that were not looked at.
    pub truncated: bool,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceItem {
    /// Why it is here.
    pub kind: ItemKind,
    /// The file.
    pub path: RepoPath,
    /// First line shown, from 1.
    pub first_line: usize,
    /// Last line shown; before the first for an empty file.
    pub last_line: usize,
    /// Lines of the whole file.
    pub lines: usize,
    /// Hash of the whole file.
    pub hash: FileHash,
    /// The lines with their ends, as they are.
    pub text: String,
}

/// Why lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// `AGENTS.md` and its like: what the project tells every agent.
    Instructions,
    /// The user named the file.
    Named,
    /// It defines something the request talks about.
    Definition,
    /// It mentions something the request talks about.
    Hit,
    /// It says what the project is.
    Overview,
}

/// A file of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapLine {
    /// The file.
    pub path: RepoPath,
    /// Its main definitions, such as `fn gather`; empty where they would say nothing new.
    pub definitions: Vec<String>,
}

/// Gathers the evidence for `request` from `tree`.
///
/// Files for which `may_read` is false are neither searched nor shown nor listed. `outcomes` are those of earlier
/// runs, newest first. The same request on the same tree gives the same evidence.
pub fn gather(
    request: &str,
    tree: &ReadTree,
    options: &EvidenceOptions,
    may_read: &dyn Fn(&RepoPath) -> bool,
    outcomes: &[String],
) -> Evidence {
    let survey = Survey::of(request, tree, options.max_files, options.max_file_bytes, may_read);
    let reader = Reader::new(tree, options.max_file_bytes, may_read);
    let mut packing = Packing::new(reader, &survey, options.tokens);
    packing.notes(&survey.names.omitted);
    packing.instructions();
    packing.named();
    packing.excerpts();
    packing.overview();
    packing.map();
    packing.outcomes(outcomes);
    packing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TITLE_BYTES, Titles, estimate_tokens};
    use proptest::sample::select;
    use proptest::test_runner::Config;
    use proptest::{prop_assert, prop_assert_eq, proptest};
    use std::fs;
    use std::path::Path;

    const OPTIONS: EvidenceOptions =
        EvidenceOptions { tokens: 24_000, max_files: 10_000, max_file_bytes: 200_000 };

    fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A repository of 50 source files and some that are special.
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

    fn with(home: &tempfile::TempDir, request: &str, options: EvidenceOptions) -> Evidence {
        let tree = ReadTree::open(home.path()).unwrap();
        let may_read = |path: &RepoPath| path.as_str() != ".env";
        gather(request, &tree, &options, &may_read, &["delivered: pages".to_owned()])
    }

    /// As a prompt would have it, with titles of the greatest length.
    fn render(evidence: &Evidence) -> String {
        let title = |mark: &str| mark.repeat(TITLE_BYTES - 1);
        let titles = Titles { map: title("m"), outcomes: title("r"), omitted: title("o") };
        super::super::render(evidence, &titles)
    }

    fn tokens(evidence: &Evidence) -> usize {
        estimate_tokens(&render(evidence))
    }

    fn of(request: &str) -> Evidence {
        with(&repository(), request, OPTIONS)
    }

    fn shown(evidence: &Evidence, kind: ItemKind) -> Vec<String> {
        let items = evidence.items.iter().filter(|item| item.kind == kind);
        items.map(|item| format!("{}:{}-{}", item.path, item.first_line, item.last_line)).collect()
    }

    #[test]
    fn a_named_file_is_shown_whole_with_its_instructions_and_little_else() {
        let evidence = of("In ./src/part_07.rs rename `helper_7` to `helper_seven`");
        assert_eq!(shown(&evidence, ItemKind::Named), ["src/part_07.rs:1-8"]);
        assert_eq!(
            shown(&evidence, ItemKind::Instructions),
            ["AGENTS.md:1-1", "src/AGENTS.md:1-1"]
        );
        assert_eq!(shown(&evidence, ItemKind::Hit), ["src/pager.rs:2-6"]);
        assert_eq!(evidence.map.first().unwrap().path.as_str(), "src/part_07.rs");
        assert!(tokens(&evidence) < 800, "{}", render(&evidence));
        assert_eq!(evidence.outcomes, ["delivered: pages"]);
    }

    #[test]
    fn a_request_in_words_finds_definitions() {
        let evidence = of("the pagination is off by one");
        assert_eq!(shown(&evidence, ItemKind::Definition), ["src/pager.rs:3-5"]);
        let first = evidence.map.first().unwrap();
        assert_eq!(first.path.as_str(), "src/pager.rs");
        assert_eq!(first.definitions, ["fn pagination", "fn x"]);
        assert!(shown(&evidence, ItemKind::Overview).is_empty());
    }

    #[test]
    fn a_vague_request_gets_an_overview() {
        let evidence = of("what does this project do?");
        assert_eq!(shown(&evidence, ItemKind::Overview), ["README.md:1-3", "Cargo.toml:1-2"]);
        assert!(evidence.map.len() > 20);
        assert!(tokens(&evidence) < 1500, "{}", render(&evidence));
    }

    #[test]
    fn chinese_requests_work() {
        let evidence = of("修改登录页面的文字");
        assert_eq!(shown(&evidence, ItemKind::Hit), ["文档/分页.md:1-2"]);
        let evidence = of("请看文档/分页.md，修复问题");
        assert_eq!(shown(&evidence, ItemKind::Named), ["文档/分页.md:1-2"]);
    }

    #[test]
    fn what_may_not_or_can_not_be_shown_is_told() {
        for (request, why) in [
            ("use .env", ".env: the policy does not let it be read"),
            ("see data/logo.png", "data/logo.png: not UTF-8 text"),
            (
                "see data/huge.csv",
                "data/huge.csv: 13631488 bytes are more than 200000, the largest file shown",
            ),
            ("make src/new.rs", "src/new.rs: no such file"),
        ] {
            let evidence = of(request);
            assert_eq!(evidence.omitted, [why], "{request}");
            assert!(shown(&evidence, ItemKind::Named).is_empty());
        }
        assert!(!render(&of("KEY sk-secret in .env")).contains("KEY=sk-secret"));
    }

    #[test]
    fn status_text_names_only_what_is_there() {
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
        let told =
            format!("src/long.rs: only lines {}-{} of 5000 fit", item.first_line, item.last_line);
        assert_eq!(evidence.omitted, [told]);
        let head = with(&home, "look at src/long.rs and src/part_01.rs", options);
        assert_eq!(shown(&head, ItemKind::Named).get(1).unwrap(), "src/part_01.rs:1-8");
        assert!(shown(&head, ItemKind::Named).first().unwrap().starts_with("src/long.rs:1-"));
    }

    #[test]
    fn contents_stay_inside_their_fences() {
        let text = render(&of("see docs/fences.md"));
        assert!(text.contains("\n`````\n````md\n```\nFiles (1 of 1):\n````\n`````\n"), "{text}");
    }

    #[test]
    fn an_empty_tree_and_an_empty_request_are_fine() {
        let home = tempfile::tempdir().unwrap();
        let tree = ReadTree::open(home.path()).unwrap();
        let evidence = gather("", &tree, &OPTIONS, &|_| true, &[]);
        assert_eq!(render(&evidence), "");
    }

    #[test]
    fn the_budget_holds_and_the_same_comes_twice() {
        const REQUESTS: [&str; 6] = [
            "see src/long.rs, docs/fences.md and data/logo.png with `helper_7`",
            "the pagination of pages",
            "what does this project do?",
            "src/ and helper_3 helper_4 helper_5 .env",
            "修改登录页面",
            "",
        ];
        let home = repository();
        let cases = Config::with_cases(48);
        proptest!(cases, |(tokens in 0usize..2500, request in select(&REQUESTS[..]))| {
            let options = EvidenceOptions { tokens, ..OPTIONS };
            let evidence = with(&home, request, options);
            let text = render(&evidence);
            let size = estimate_tokens(&text);
            prop_assert!(size <= tokens, "{} of {}", size, tokens);
            prop_assert_eq!(text, render(&with(&home, request, options)));
        });
    }

    #[test]
    fn no_request_is_too_strange() {
        let home = repository();
        let cases = Config::with_cases(48);
        proptest!(cases, |(request in "\\PC{0,60}|[a-z_./:`\"# 修\n-]{0,60}")| {
            with(&home, &request, EvidenceOptions { tokens: 500, ..OPTIONS });
        });
    }
}
