//! Compares the definitions found in real files with those of universal-ctags, by language. It is not a test.
//!
//! `cargo bench -p deepseek-index --bench languages -- DIRECTORY...`
//!
//! Compared are functions and types, for which `ctags` names the last line in most languages. A definition is found if one with
//! its name is there; its range is right if the last line is the same. Of what is not found, the first few
//! are printed: either program may be wrong.

#![expect(clippy::print_stdout, reason = "a benchmark reports by printing")]
#![expect(clippy::disallowed_methods, reason = "it runs ctags, which ends by itself")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use deepseek_index::{Definition, definitions_of_file};
use tree::RepoPath;

/// The kinds of functions and types in the languages of ctags.
const KINDS: [&str; 14] = [
    "function",
    "method",
    "singletonMethod",
    "func",
    "class",
    "interface",
    "struct",
    "enum",
    "trait",
    "module",
    "object",
    "protocol",
    "union",
    "macro",
];
const PRINTED: usize = 6;

#[derive(Default)]
struct Score {
    files: usize,
    ours: usize,
    theirs: usize,
    found: usize,
    with_end: usize,
    same_end: usize,
    missed: Vec<String>,
}

fn main() {
    let dirs = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from);
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for dir in dirs {
        for file in tree::list_files(&dir, 100_000).files {
            compare(&dir, &file.path, &mut scores);
        }
    }
    println!("language files ours theirs found% same-end%");
    for (language, score) in scores {
        let percent = |part: usize, of: usize| 100 * part / of.max(1);
        println!(
            "{language:6} {:5} {:6} {:6} {:3} {:3}",
            score.files,
            score.ours,
            score.theirs,
            percent(score.found, score.theirs),
            percent(score.same_end, score.with_end),
        );
        score.missed.iter().take(PRINTED).for_each(|missed| println!("    {missed}"));
    }
}

fn compare(dir: &Path, path: &RepoPath, scores: &mut BTreeMap<String, Score>) {
    let Some((_, extension)) = path.name().rsplit_once('.') else { return };
    let file = dir.join(path.as_str());
    let Ok(text) = std::fs::read_to_string(&file) else { return };
    let ours = definitions_of_file(path, &text);
    if ours.is_empty() {
        return;
    }
    let score = scores.entry(extension.to_owned()).or_default();
    score.files += 1;
    score.ours += ours.len();
    let arguments = ["--fields=+neK", "--excmd=number", "--sort=no", "-f", "-"];
    let Ok(output) = Command::new("ctags").args(arguments).arg(&file).output() else { return };
    for tag in String::from_utf8_lossy(&output.stdout).lines().filter_map(Tag::parse) {
        score.theirs += 1;
        // Which of several clauses, or the signature, is the place of the name is a matter of taste.
        let is_it =
            |it: &&Definition| it.name == tag.name && (it.first..=it.line + 1).contains(&tag.line);
        let Some(it) = ours.iter().find(is_it) else {
            score.missed.push(format!("{path}:{} {} {}", tag.line, tag.kind, tag.name));
            continue;
        };
        score.found += 1;
        if let Some(end) = tag.end {
            score.with_end += 1;
            score.same_end += usize::from(it.last == end);
            if it.last != end {
                score.missed.push(format!(
                    "{path}:{} {} ends at {}, not {end}",
                    tag.line, tag.name, it.last
                ));
            }
        }
    }
}

/// A line of ctags.
struct Tag<'t> {
    name: &'t str,
    kind: &'t str,
    line: u32,
    end: Option<u32>,
}

impl<'t> Tag<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let mut fields = line.split('\t');
        let name = fields.next()?.rsplit(['.', ':']).next()?;
        // It makes up names for what has none.
        let is_made_up = name.starts_with("__anon") || name.contains("AnonymousFunction");
        let name = Some(name).filter(|name| !is_made_up && !name.starts_with('<'))?;
        let fields: Vec<&str> = fields.collect();
        let kind = fields.iter().find(|field| KINDS.contains(field))?;
        let number = |key: &str| {
            fields.iter().find_map(|field| field.strip_prefix(key)?.parse::<u32>().ok())
        };
        Some(Self { name, kind, line: number("line:")?, end: number("end:") })
    }
}
