//! Compares the definitions found in real files with those of universal-ctags, or of a language's own parser, by language.
//! It is not a test.
//!
//! `cargo bench -p deepseek-index --bench languages -- [--parser COMMAND] DIRECTORY...`
//!
//! `COMMAND` reads paths from its standard input and prints, for each function and type, the path, the name, its line and
//! the last line, with tabs between them, as the programs in `parsers` do. Without it `ctags` is asked, which names the last line in most
//! languages. A definition is found if one with its name is there; its range is right if the last line is the same. Of what
//! is not found, the first few are printed: either program may be wrong.

#![expect(clippy::print_stdout, reason = "a benchmark reports by printing")]
#![expect(clippy::disallowed_methods, reason = "it runs ctags, which ends by itself")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    let mut parser = None;
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--parser" => parser = arguments.next(),
            flag if flag.starts_with("--") => {}
            dir => {
                let dir = Path::new(dir);
                let listed = tree::list_files(dir, 100_000).files;
                let paths: Vec<&RepoPath> = listed.iter().map(|file| &file.path).collect();
                let theirs = parser.as_ref().map(|parser| parsed(parser, dir, &paths));
                for path in paths {
                    let tags = match &theirs {
                        Some(theirs) => theirs.get(&dir.join(path.as_str())).cloned(),
                        None => tagged(&dir.join(path.as_str())),
                    };
                    compare(dir, path, &tags.unwrap_or_default(), &mut scores);
                }
            }
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

/// Returns what a parser finds, by file.
fn parsed(parser: &str, dir: &Path, paths: &[&RepoPath]) -> BTreeMap<PathBuf, Vec<Tag>> {
    let mut command = Command::new("sh");
    let child = command.args(["-c", parser]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("the parser starts");
    let named: Vec<String> =
        paths.iter().map(|path| dir.join(path.as_str()).display().to_string()).collect();
    let named = named.join("\n");
    let mut input = child.stdin.take().expect("it has an input");
    let writer = std::thread::spawn(move || input.write_all(named.as_bytes()));
    let output = child.wait_with_output().expect("the parser ends");
    writer.join().expect("no panic").expect("the parser reads its input");
    let mut found: BTreeMap<PathBuf, Vec<Tag>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, name, line, end] = fields.as_slice() else { continue };
        let Ok(line) = line.parse() else { continue };
        let tag = Tag {
            name: (*name).to_owned(),
            kind: "definition".to_owned(),
            line,
            end: end.parse().ok(),
        };
        found.entry(PathBuf::from(path)).or_default().push(tag);
    }
    found
}

/// Returns what ctags finds in a file.
fn tagged(file: &Path) -> Option<Vec<Tag>> {
    let arguments = ["--fields=+neK", "--excmd=number", "--sort=no", "-f", "-"];
    let output = Command::new("ctags").args(arguments).arg(file).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().filter_map(Tag::parse).collect())
}

fn compare(dir: &Path, path: &RepoPath, tags: &[Tag], scores: &mut BTreeMap<String, Score>) {
    let Some((_, extension)) = path.name().rsplit_once('.') else { return };
    let Ok(text) = std::fs::read_to_string(dir.join(path.as_str())) else { return };
    let ours = definitions_of_file(path, &text);
    if ours.is_empty() && tags.is_empty() {
        return;
    }
    let score = scores.entry(extension.to_owned()).or_default();
    score.files += 1;
    score.ours += ours.len();
    for tag in tags {
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

/// What another program finds.
#[derive(Clone)]
struct Tag {
    name: String,
    kind: String,
    line: u32,
    end: Option<u32>,
}

impl Tag {
    /// Reads a line of ctags.
    fn parse(line: &str) -> Option<Self> {
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
        let (name, kind) = (name.to_owned(), (*kind).to_owned());
        Some(Self { name, kind, line: number("line:")?, end: number("end:") })
    }
}
