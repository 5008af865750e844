//! Files in other encodings: a diff is read against their text, and every byte outside the change stays.

use encoding_rs::Encoding;
use proptest::prelude::*;
use tools::encoding::decode;
use tree::{Entry, FileHash, FileMode, FileState};

use crate::tests::testing::{Files, open_plan_of, path, plan_of};
use crate::*;
use config::ApplyStrategy;

/// Encodings with lines as they stand in code; a line to add is the last one.
const LINES: [(&str, [&str; 5]); 10] = [
    ("GBK", ["// 中文注释", "int a = 1;", "", "s = \"读取配置文件\";", "// 修改之后的说明"]),
    ("Big5", ["// 這是一個測試", "int a = 1;", "", "s = \"讀取設定檔\";", "// 修改之後的說明"]),
    (
        "Shift_JIS",
        ["// これはテストです", "int a = 1;", "", "s = \"表示ソート\";", "// 変更後の説明です"],
    ),
    ("EUC-JP", ["# これはテストです", "a = 1", "", "s = \"設定を読み込む\"", "# 変更後の説明です"]),
    (
        "EUC-KR",
        ["// 이것은 시험입니다", "int a = 1;", "", "s = \"설정 파일\";", "// 바꾼 다음의 설명"],
    ),
    (
        "windows-1252",
        ["// Größe der Fläche", "int a = 1;", "", "s = \"café crème\";", "// geändert für später"],
    ),
    (
        "windows-1251",
        ["// Это проверка", "int a = 1;", "", "s = \"настройки\";", "// Изменено позже"],
    ),
    ("KOI8-U", ["# Это проверка настроек", "a = 1", "", "s = \"значение\"", "# Изменено позже"]),
    ("ISO-8859-2", ["# coding: iso-8859-2", "a = 1", "", "s = \"zażółć gęślą\"", "# później"]),
    ("ISO-8859-7", ["# coding: iso-8859-7", "a = 1", "", "s = \"ένα τεστ\"", "# αλλαγή"]),
];

fn encoded(encoding: &str, text: &str) -> Vec<u8> {
    let units = || text.encode_utf16();
    match encoding {
        "UTF-16LE" => units().flat_map(u16::to_le_bytes).collect(),
        "UTF-16BE" => units().flat_map(u16::to_be_bytes).collect(),
        _ => Encoding::for_label(encoding.as_bytes()).unwrap().encode(text).0.into_owned(),
    }
}

fn of(bytes: &[u8]) -> Entry {
    Entry::File(FileState { bytes: bytes.to_vec().into(), mode: FileMode::Regular })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn bytes_outside_a_change_never_differ(
        which in 0..LINES.len() + 2,
        picked in proptest::collection::vec((0_usize..5, any::<bool>()), 1..30),
        at in any::<prop::sample::Index>(),
        ends_in_line in any::<bool>(),
    ) {
        let (encoding, lines) = match which.checked_sub(LINES.len()) {
            Some(wide) => (["UTF-16LE", "UTF-16BE"][wide], LINES[0].1),
            None => LINES[which],
        };
        // The first line tells the encoding, as in most files.
        let texts = std::iter::once((lines[0], false))
            .chain(picked.iter().map(|(line, crlf)| (lines[*line], *crlf)))
            .map(|(line, crlf)| format!("{line}{}", if crlf { "\r\n" } else { "\n" }));
        let mut texts: Vec<String> = texts.collect();
        let changed = at.index(texts.len());
        if !ends_in_line && texts.len() > 1 && changed + 1 != texts.len() {
            let last = texts.last_mut().unwrap();
            last.truncate(last.trim_end().len());
        }
        let parts: Vec<Vec<u8>> = texts.iter().map(|line| encoded(encoding, line)).collect();
        let whole = parts.concat();
        let seen = decode(&whole).expect("it is text");
        let seen: Vec<&str> = seen.text.split_inclusive('\n').collect();
        prop_assert_eq!(seen.len(), parts.iter().filter(|part| !part.is_empty()).count());
        let (old, new) = (seen[changed].trim_end_matches(['\r', '\n']), "x = 2; // new");
        let diff = format!("--- a/f\n+++ b/f\n@@ -{0},1 +{0},1 @@\n-{old}\n+{new}\n", changed + 1);
        let plan = plan_of(&Files::default().entry("f", of(&whole)), &["f"], &diff).unwrap();
        let change = &plan.changes[0];
        prop_assert_eq!(&change.before.as_ref().unwrap().bytes, &whole);
        let end = if texts[changed].ends_with("\r\n") { "\r\n" } else { "\n" };
        let after =
            [&parts[..changed], &[encoded(encoding, &format!("{new}{end}"))], &parts[changed + 1..]];
        prop_assert_eq!(&change.after.as_ref().unwrap().bytes, &after.concat().concat());
    }
}

#[test]
fn added_lines_are_written_in_the_encoding_of_the_file() {
    for (encoding, lines) in LINES {
        let text = lines[..4].join("\n") + "\n";
        let diff = format!("--- a/f\n+++ b/f\n@@ -2,1 +2,2 @@\n {}\n+{}\n", lines[1], lines[4]);
        let files = Files::default().entry("f", of(&encoded(encoding, &text)));
        let plan = open_plan_of(&files, &diff).unwrap();
        let after = text.replacen(lines[1], &format!("{}\n{}", lines[1], lines[4]), 1);
        assert_eq!(plan.changes[0].after.as_ref().unwrap().bytes, encoded(encoding, &after));
    }
}

#[test]
fn what_an_encoding_lacks_is_refused_with_its_name() {
    let files = Files::default().entry("f", of(b"a = 1\nb = 'caf\xe9'\n"));
    let refusal =
        open_plan_of(&files, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a = 1\n+a = '中'\n").unwrap_err();
    assert_eq!(refusal.mismatches[0].reason, Reason::NotInEncoding);
    let said = refusal.to_string();
    assert!(said.contains("The file is in windows-1252, which has no `中` (U+4E2D)."), "{said}");
}

#[test]
fn renames_and_deletions_keep_the_bytes() {
    let bytes = encoded("GBK", "// 中文注释\nint a = 1;\n");
    let files = Files::default().entry("f", of(&bytes));
    let moved = "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -2 +2 @@\n-int a = 1;\n+int a = 2;\n";
    let plan = open_plan_of(&files, moved).unwrap();
    assert_eq!(plan.changes[0].before.as_ref().unwrap().bytes, bytes);
    let after = encoded("GBK", "// 中文注释\nint a = 2;\n");
    assert_eq!(plan.changes[0].after.as_ref().unwrap().bytes, after);
    let gone = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-// 中文注释\n-int a = 1;\n";
    assert_eq!(
        open_plan_of(&files, gone).unwrap().changes[0].before.as_ref().unwrap().bytes,
        bytes
    );
}

#[test]
fn a_file_that_changed_since_is_merged_as_text() {
    let base = encoded("EUC-KR", "// 이것은 시험입니다\na\nb\nc\nd\n");
    let now = encoded("EUC-KR", "// 이것은 시험입니다 둘\na\nb\nc\nd\n");
    let files = Files::default().entry("f", of(&now));
    let answer = "--- a/f\n+++ b/f\n@@ -4,2 +4,2 @@\n c\n-d\n+// 설정\n";
    let after = encoded("EUC-KR", "// 이것은 시험입니다 둘\na\nb\nc\n// 설정\n");
    for (base, merges) in [
        (BaseState::of(base.into()), true),
        (BaseState::File { hash: FileHash::of(&now), bytes: None }, true),
        (BaseState::File { hash: FileHash::of(b"other"), bytes: None }, false),
    ] {
        let scope = PatchScope { declared: None, bases: [(path("f"), base)].into() };
        let current = |path: &tree::RepoPath| files.read(path);
        let limits = PatchLimits::default();
        let plan = prepare(answer.as_bytes(), &scope, ApplyStrategy::Auto, &limits, &current);
        assert_eq!(plan.is_ok(), merges);
        if let Ok(plan) = plan {
            assert_eq!(plan.changes[0].after.as_ref().unwrap().bytes, after);
        }
    }
}

#[test]
fn a_diff_in_the_encoding_of_the_file_is_read_byte_by_byte() {
    let bytes = encoded("GBK", "// 中文注释\nint a = 1;\n");
    let diff = encoded(
        "GBK",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n // 中文注释\n-int a = 1;\n+int a = 2;\n",
    );
    let files = Files::default().entry("f", of(&bytes));
    let (scope, limits) = (PatchScope::default(), PatchLimits::default());
    let current = |path: &tree::RepoPath| files.read(path);
    let plan = prepare(&diff, &scope, ApplyStrategy::Auto, &limits, &current).unwrap();
    let after = encoded("GBK", "// 中文注释\nint a = 2;\n");
    assert_eq!(plan.changes[0].after.as_ref().unwrap().bytes, after);
}
