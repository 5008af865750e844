//! Measures building an index, updating it, querying it, and its memory while idle.
//!
//! `cargo bench -p deepseek-index --bench build -- DIRECTORY...`, where each directory is a tree of files. Building is
//! compared with tantivy alone: one thread that indexes prepared documents. Preparing them (listing, reading, finding
//! words and definitions) is measured separately.

#![expect(clippy::print_stdout, reason = "it prints figures")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deepseek_index::{Document, Index, IndexOptions};
use tantivy::directory::MmapDirectory;
use tantivy::schema::{FAST, INDEXED, IndexRecordOption, STORED, Schema};
use tantivy::schema::{TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{IndexSettings, TantivyDocument};
use tree::{Entry, ReadTree};

type Outcome<T> = Result<T, Box<dyn Error>>;

const MAX_FILE_BYTES: u64 = 2_000_000;
/// Memory of tantivy's writer, the same as in the index.
const WRITER_BYTES: usize = 40 << 20;
const ROUNDS: usize = 3;
/// Number of queries, of one to three words from the tree's own files each.
const QUESTIONS: usize = 200;

fn main() -> Outcome<()> {
    let directories = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    for directory in directories.map(PathBuf::from) {
        measure(&directory)?;
    }
    Ok(())
}

fn measure(directory: &Path) -> Outcome<()> {
    let (mut prepared, mut alone, mut built) = (Vec::new(), Vec::new(), Vec::new());
    let home = tempfile::tempdir()?;
    let mut documents = Vec::new();
    for round in 0..ROUNDS {
        let began = Instant::now();
        documents = prepare(directory)?;
        prepared.push(began.elapsed());
        let ready = documents.iter().map(ready).collect();
        alone.push(tantivy_alone(&home.path().join(format!("alone{round}")), ready)?);
        let began = Instant::now();
        open(directory, &home.path().join(format!("index{round}")))?.update(|_, _| ())?;
        built.push(began.elapsed());
    }
    let [prepared, alone, built] = [prepared, alone, built].map(median);
    println!("{}: {} files of text", directory.display(), documents.len());
    println!(
        "  built in {} ms; getting ready {} ms, tantivy alone {} ms: {:.2} x of one after the other (at least 0.8)",
        built.as_millis(),
        prepared.as_millis(),
        alone.as_millis(),
        (prepared + alone).as_secs_f64() / built.as_secs_f64(),
    );
    let dir = home.path().join("index0");
    let index = open(directory, &dir)?;
    index.update(|_, _| ())?;
    let words: Vec<&str> = documents.iter().flat_map(|(_, text)| words(text)).collect();
    let before = resident()?;
    let index = open(directory, &dir)?;
    let (files, _) = index.files();
    let question = |number: usize| -> String {
        let count = 1 + number % 3;
        let at = |n: usize| words.get((number * 7919 + n * 104_729) % words.len().max(1));
        (0..count).filter_map(at).copied().collect::<Vec<_>>().join(" ")
    };
    black_box(index.rank(&question(0), &files));
    let held = resident()? - before;
    let mut asked: Vec<Duration> = (1..=QUESTIONS)
        .map(|number| {
            let question = question(number);
            let began = Instant::now();
            black_box(index.rank(&question, &files));
            began.elapsed()
        })
        .collect();
    asked.sort();
    let p95 = asked.get(asked.len() * 95 / 100).copied().unwrap_or_default();
    println!(
        "  asked: p50 {:.2} ms, p95 {:.2} ms (less than 1)",
        millis(median(asked.clone())),
        millis(p95)
    );
    println!("  open and idle: {:.1} MB more (less than 30)", held / 1e6);
    one_changed_file(directory, &dir)
}

/// Adds a file and removes it again, several times.
fn one_changed_file(directory: &Path, dir: &Path) -> Outcome<()> {
    let path = directory.join("deepseek-benchmark.rs");
    let (mut times, text) = (Vec::new(), "fn a_changed_file() {}\n".repeat(100));
    for round in 0..6 {
        if round % 2 == 0 {
            fs::write(&path, &text)?;
        } else {
            fs::remove_file(&path)?;
        }
        let index = open(directory, dir)?;
        let began = Instant::now();
        index.update(|_, _| ())?;
        times.push(began.elapsed());
    }
    println!("  one changed file: {:.1} ms (less than 50)", millis(median(times)));
    Ok(())
}

fn open(directory: &Path, dir: &Path) -> Outcome<Index> {
    let options = IndexOptions {
        dir: dir.to_owned(),
        max_files: 200_000,
        max_file_bytes: MAX_FILE_BYTES,
        wait: Duration::ZERO,
        may_read: Arc::new(|_| true),
    };
    Ok(Index::new(ReadTree::open(directory)?, options))
}

/// Prepares the documents of all text files, with their texts.
fn prepare(directory: &Path) -> Outcome<Vec<(Document, String)>> {
    let tree = ReadTree::open(directory)?;
    let mut documents = Vec::new();
    for file in tree::list_for_models(directory, 200_000).files {
        let Ok(Entry::File(state)) = tree.entry(&file.path, MAX_FILE_BYTES) else { continue };
        let Ok(text) = String::from_utf8(state.bytes.to_vec()) else { continue };
        if !text.contains('\0') {
            documents.push((Document::of(&file.path, &text), text));
        }
    }
    Ok(documents)
}

/// Converts a document to tantivy's form.
fn ready((document, _): &(Document, String)) -> TantivyDocument {
    let (_, [id, words, stored]) = schema();
    let token = |(line, text): &(u32, String)| Token {
        offset_from: 0,
        offset_to: 0,
        position: *line as usize,
        text: text.clone(),
        position_length: 1,
    };
    let defined = document.definitions().iter();
    let defined = defined.map(|it| {
        format!("{} {} {} {} {} {}\n", it.first, it.line, it.last, it.depth, it.kind, it.name)
    });
    let mut made = TantivyDocument::new();
    made.add_u64(id, 1);
    made.add_text(stored, defined.collect::<String>());
    let tokens = document.words().iter().map(token).collect();
    made.add_pre_tokenized_text(words, PreTokenizedString { text: String::new(), tokens });
    made
}

/// Returns the same schema as the index.
fn schema() -> (Schema, [tantivy::schema::Field; 3]) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let fields = [
        builder.add_u64_field("id", INDEXED | FAST),
        builder.add_text_field("words", TextOptions::default().set_indexing_options(words)),
        builder.add_text_field("definitions", STORED),
    ];
    (builder.build(), fields)
}

fn tantivy_alone(dir: &Path, ready: Vec<TantivyDocument>) -> Outcome<Duration> {
    fs::create_dir_all(dir)?;
    let began = Instant::now();
    let directory = MmapDirectory::open(dir)?;
    let index = tantivy::Index::create(directory, schema().0, IndexSettings::default())?;
    let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
    for document in ready {
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(began.elapsed())
}

/// Returns some words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
    words.step_by(97)
}

/// Returns the resident memory of the process, in bytes.
fn resident() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
