//! Exercises in the layout of the polyglot benchmark: `LANGUAGE/exercises/practice/NAME`, each with `.meta/config.json`, which
//! names the files of the solution, the tests and the reference.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tools::clock::seeded_order;

use crate::eval_error::EvalError;
use crate::results::record::{CaseOrigin, EvalCase, LeftOutCase};

/// Directories of an exercise that tell the solution.
pub(crate) const OF_THE_SOLUTION: [&str; 2] = [".meta", ".approaches"];

/// Which exercises are drawn.
#[derive(Debug, Clone)]
pub struct ExerciseOptions {
    /// The directory with the languages.
    pub dir: PathBuf,
    /// Only exercises in these languages; empty for all.
    pub languages: Vec<String>,
    /// Maximum number of exercises; all without one.
    pub count: Option<usize>,
    /// The seed of the order in which they are drawn.
    pub seed: u64,
    /// How often a variant may try.
    pub tries: u32,
}

/// `.meta/config.json`, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Meta {
    files: MetaFiles,
}

#[derive(Debug, Deserialize)]
struct MetaFiles {
    solution: Vec<String>,
    test: Vec<String>,
    #[serde(default)]
    example: Vec<String>,
}

/// Reads the exercises that are drawn. Blocks.
pub(crate) fn draw_exercises(
    options: &ExerciseOptions,
) -> Result<(Vec<EvalCase>, Vec<LeftOutCase>, usize), EvalError> {
    let mut dirs = Vec::new();
    for language in sorted(&options.dir)? {
        let name = language.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_wanted = options.languages.is_empty() || options.languages.contains(&name);
        let practice = language.join("exercises/practice");
        if is_wanted && practice.is_dir() {
            dirs.extend(sorted(&practice)?.into_iter().filter(|dir| dir.join(".meta").is_dir()));
        }
    }
    if dirs.is_empty() {
        let why = "there are no directories LANGUAGE/exercises/practice/NAME".to_owned();
        return Err(EvalError::Exercise { dir: options.dir.clone(), why });
    }
    if options.count.is_some() {
        let order = seeded_order(options.seed, dirs.len());
        dirs = order.into_iter().filter_map(|at| dirs.get(at).cloned()).collect();
    }
    let (mut cases, mut left_out, mut not_looked_at) = (Vec::new(), Vec::new(), 0);
    for dir in dirs {
        if options.count.is_some_and(|count| cases.len() >= count) {
            not_looked_at += 1;
            continue;
        }
        match exercise(&dir, options.tries) {
            Ok(case) => cases.push(case),
            Err(why) => {
                let (id, title) = (id_of(&dir), String::new());
                left_out.push(LeftOutCase { id, title, why });
            }
        }
    }
    Ok((cases, left_out, not_looked_at))
}

fn sorted(dir: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let failed = |error| EvalError::File { path: dir.to_owned(), error };
    let entries = fs::read_dir(dir).map_err(failed)?;
    let mut dirs: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    dirs.sort();
    Ok(dirs)
}

/// Returns the language of an exercise, and its name.
fn names_of(dir: &Path) -> (String, String) {
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
    };
    (name(dir.ancestors().nth(3)), name(Some(dir)))
}

fn id_of(dir: &Path) -> String {
    let (language, name) = names_of(dir);
    format!("{language}/{name}")
}

fn exercise(dir: &Path, tries: u32) -> Result<EvalCase, String> {
    let text = fs::read_to_string(dir.join(".meta/config.json")).map_err(|it| it.to_string())?;
    let Meta { files } = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if files.example.is_empty() || files.solution.is_empty() || files.test.is_empty() {
        return Err("its configuration names no solution, no tests or no reference".to_owned());
    }
    let (group, name) = names_of(dir);
    let doc = |name: &str| fs::read_to_string(dir.join(".docs").join(name)).unwrap_or_default();
    let instructions = ["introduction.md", "instructions.md", "instructions.append.md"].map(doc);
    let text = instructions.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    let text = text.collect::<Vec<_>>().join("\n\n");
    // Some references need more files than the solution has; those are no part of it.
    let pairs = paired(&files.solution, &files.example);
    let (solution, example): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
    let request = format!(
        "{text}\n\nMake these changes in {}; the tests must pass. Do not change the tests.",
        files.solution.join(", ")
    );
    Ok(EvalCase {
        id: format!("{group}/{name}"),
        title: name,
        group,
        request,
        origin: CaseOrigin::Exercise { dir: dir.display().to_string(), solution, example },
        tests: files.test,
        tries,
    })
}

/// Pairs each file of the reference with the file of the solution that it stands for: by its path below the reference's
/// directory, by its ending, or by its place in the list.
fn paired(solution: &[String], example: &[String]) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (at, reference) in example.iter().enumerate() {
        let is_free = |path: &&String| pairs.iter().all(|(taken, _)| taken != *path);
        let by_path =
            || solution.iter().filter(is_free).find(|path| reference.ends_with(path.as_str()));
        let ending = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
        let by_ending =
            || solution.iter().filter(is_free).find(|path| ending(path) == ending(reference));
        let found = by_path().or_else(by_ending).or_else(|| solution.get(at).filter(is_free));
        if let Some(path) = found {
            pairs.push((path.clone(), reference.clone()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_paired_with_the_files_they_stand_for() {
        let pair = |solution: &[&str], example: &[&str]| {
            let all = |paths: &[&str]| paths.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
            let pairs = paired(&all(solution), &all(example));
            pairs.iter().map(|(a, b)| format!("{a}={b}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(pair(&["a.py"], &[".meta/example.py"]), "a.py=.meta/example.py");
        assert_eq!(
            pair(&["a.cpp", "a.h"], &[".meta/example.cpp", ".meta/example.h"]),
            "a.cpp=.meta/example.cpp a.h=.meta/example.h"
        );
        assert_eq!(
            pair(&["src/lib.rs", "Cargo.toml"], &[".meta/Cargo-example.toml", ".meta/example.rs"]),
            "Cargo.toml=.meta/Cargo-example.toml src/lib.rs=.meta/example.rs"
        );
        assert_eq!(
            pair(&["src/main/java/A.java"], &[".meta/src/reference/java/A.java"]),
            "src/main/java/A.java=.meta/src/reference/java/A.java"
        );
        assert_eq!(
            pair(&["b.js", "a.js"], &[".meta/reference/a.js", ".meta/reference/b.js"]),
            "a.js=.meta/reference/a.js b.js=.meta/reference/b.js"
        );
    }
}
