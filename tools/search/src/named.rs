//! Resolves the files, directories and definitions that the user named. Text that only looks like a path resolves to
//! nothing.

use std::path::Path;

use index::FileKind;

use super::instructions::directories_above;
use super::look::SymbolName;
use super::reader::Unshown;
use super::terms::{Term, TermKind, is_surely_file};
use tools::words::is_han;
use tree::{Entry, ListedFile, PathError, ReadTree, RepoPath, TreeError, spelling};

/// A file that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedFile {
    pub(super) path: RepoPath,
    /// The line named with it, counted from 1.
    pub(super) line: Option<usize>,
}

/// Everything the user named, in the order of mention.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    pub(super) files: Vec<NamedFile>,
    pub(super) directories: Vec<RepoPath>,
    /// Names from a program, such as `foo::bar()`.
    pub(super) symbols: Vec<SymbolName>,
    /// Files that do not exist yet.
    pub(super) new_files: Vec<RepoPath>,
    /// What was named but is not shown, one line each with the reason.
    pub(super) omitted: Vec<String>,
}

/// The result of resolving a piece of text.
enum Target {
    File(RepoPath),
    Directory(RepoPath),
    /// It is the end of several paths.
    Several,
    Unshown(Unshown),
    Outside(PathError),
    Nothing,
}

/// Looks up the paths among `terms`. `files` are the readable files of the tree, sorted. Other files are looked up on
/// disk, because the user may name one that is ignored, hidden or refused.
pub(super) fn resolve_paths(
    terms: &[Term],
    tree: &ReadTree,
    files: &[ListedFile],
    may_show: &dyn Fn(&RepoPath) -> Result<(), Unshown>,
) -> NamedFiles {
    let mut names = NamedFiles::default();
    for term in terms {
        // A qualified name is mentioned as its last word too.
        let is_known = |symbol: &SymbolName| {
            let mut same = names.symbols.iter().filter(|known| known.bare == symbol.bare);
            same.any(|known| symbol.owner.is_none() || known == symbol)
        };
        if let Some(symbol) = symbol(term).filter(|symbol| !is_known(symbol)) {
            names.symbols.push(symbol);
        }
        let TermKind::Path { line } = term.kind else { continue };
        match target(&term.text, tree, files) {
            Target::File(path) => match may_show(&path) {
                Ok(()) => names.add_file(path, line),
                Err(why) => names.omit(path.as_str(), &why),
            },
            Target::Directory(path) => {
                if !names.directories.contains(&path) {
                    names.directories.push(path);
                }
            }
            Target::Unshown(why) => {
                names.omit(&term.text, &why);
                if let (Unshown::Missing, Ok(path)) = (why, RepoPath::parse(&term.text)) {
                    names.new_files.push(path);
                }
            }
            Target::Outside(why) => names.omit(&term.text, &why),
            // The words of an ambiguous path are searched for like any others.
            Target::Several | Target::Nothing => {}
        }
    }
    names
}

/// Returns the name if the term is a name from a program that can identify a definition.
pub(super) fn symbol(term: &Term) -> Option<SymbolName> {
    const LEAST: usize = 4;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let text = term.text.trim_end_matches("()");
    let name = text.rsplit(|c| !is_part(c)).next().filter(|_| term.is_strong())?;
    let is_qualified = text.chars().all(|c| is_part(c) || matches!(c, ':' | '.' | '#'));
    if is_qualified && name.len() >= LEAST { SymbolName::of(text) } else { None }
}

impl NamedFiles {
    fn add_file(&mut self, path: RepoPath, line: Option<usize>) {
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.line = file.line.or(line),
            None => self.files.push(NamedFile { path, line }),
        }
    }

    fn omit(&mut self, what: &str, why: &dyn std::error::Error) {
        let line = format!("{what}: {why}");
        if !self.omitted.contains(&line) {
            self.omitted.push(line);
        }
    }

    /// Returns the directories of everything named, parents first, without the root.
    pub(super) fn directories_named_or_above(&self) -> Vec<RepoPath> {
        let files = self.files.iter().map(|file| &file.path);
        let mut all = directories_above(files.chain(&self.directories));
        all.extend(self.directories.iter().cloned());
        all.sort();
        all.dedup();
        all
    }
}

fn target(text: &str, tree: &ReadTree, files: &[ListedFile]) -> Target {
    let text = below(tree.root(), text);
    let found = at(text, tree, files);
    if !matches!(found, Target::Nothing | Target::Outside(_)) {
        return found;
    }
    // Diffs put `a/` or `b/` before a path, and some people a slash.
    for prefix in ["a/", "b/", "/"] {
        if let Some(stripped) = text.strip_prefix(prefix)
            && let target @ Target::File(_) = at(stripped, tree, files)
        {
            return target;
        }
    }
    let mut ends = files.iter().filter(|file| is_end(text, &file.path));
    match (found, ends.next(), ends.next()) {
        (_, Some(file), None) => Target::File(file.path.clone()),
        (_, Some(_), Some(_)) => Target::Several,
        (Target::Nothing, None, _)
            if is_surely_file(text) && text.contains('/') && text.is_ascii() =>
        {
            Target::Unshown(Unshown::Missing)
        }
        (found, None, _) => found,
    }
}

/// Resolves `text` as an exact path.
fn at(text: &str, tree: &ReadTree, files: &[ListedFile]) -> Target {
    let path = match RepoPath::parse(text) {
        Ok(path) => path,
        Err(why) if is_surely_file(text) => return Target::Outside(why),
        Err(_) => return Target::Nothing,
    };
    if files.binary_search_by(|file| file.path.cmp(&path)).is_ok() {
        return Target::File(path);
    }
    // Reads no byte: reading the file may not be allowed.
    match tree.entry(&path, 0) {
        Ok(Entry::File(_) | Entry::TooLarge { .. }) => Target::File(path),
        Ok(Entry::Directory) => Target::Directory(path),
        Ok(Entry::Symlink) | Err(TreeError::ThroughSymlink { .. }) => {
            Target::Unshown(Unshown::Symlink)
        }
        Ok(Entry::Other) => Target::Unshown(Unshown::NotAFile),
        Ok(Entry::Missing) => match tree.alike(&path) {
            Some(alike) => at(alike.as_str(), tree, files),
            None => Target::Nothing,
        },
        Err(TreeError::ParentNotDirectory { .. }) => Target::Nothing,
        Err(TreeError::KeptOff { why, .. }) => Target::Unshown(Unshown::KeptOff(why)),
        Err(TreeError::Root { .. } | TreeError::Io { .. }) => Target::Unshown(Unshown::Unreadable),
    }
}

/// Returns `text` without a leading root path.
fn below<'a>(root: &Path, text: &'a str) -> &'a str {
    let inside = Path::new(text).strip_prefix(root).ok().and_then(Path::to_str);
    inside.filter(|inside| text.starts_with('/') && !inside.is_empty()).unwrap_or(text)
}

/// Returns true for settings and data files, which users name when they talk about the code that reads them.
pub(super) fn is_data(path: &RepoPath) -> bool {
    const PROSE: [&str; 4] = [".md", ".rst", ".adoc", ".txt"];
    let is_prose = PROSE.iter().any(|end| path.as_str().ends_with(end));
    FileKind::of(path) >= FileKind::Document && !is_prose
}

/// Returns true if `text` equals the last components of `path`, ignoring ASCII case.
///
/// Chinese has no space before a name, so there the name may be the end of `text`.
fn is_end(text: &str, path: &RepoPath) -> bool {
    if text.starts_with(is_han) && path.name().starts_with(is_han) {
        return text.ends_with(path.name());
    }
    if !text.is_ascii() {
        let (text, path) = (spelling(text), spelling(path.as_str()));
        return is_end_of(&text, &path);
    }
    is_end_of(text, path.as_str())
}

fn is_end_of(text: &str, path: &str) -> bool {
    let Some(start) = path.len().checked_sub(text.len()) else { return false };
    let (before, end) = (path.get(..start), path.get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(text))
        && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::extract;
    use std::fs;
    use std::os::unix::fs::symlink;
    use tree::list_files;

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let files = [
            "src/lib.rs",
            "src/deep/only.rs",
            "src/deep/mod.rs",
            "src/mod.rs",
            ".env",
            ".gitignore",
            "out/made.txt",
            "文档/说明.md",
        ];
        for file in files {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "out\n").unwrap();
        }
        symlink("src", home.path().join("linked")).unwrap();
        home
    }

    fn names(request: &str) -> (Vec<String>, NamedFiles) {
        let home = home();
        let tree = ReadTree::open(home.path()).unwrap();
        let may_show = |path: &RepoPath| match path.as_str() {
            ".env" => Err(Unshown::Refused),
            _ => Ok(()),
        };
        let mut files = list_files(home.path(), 100).files;
        files.retain(|file| may_show(&file.path).is_ok());
        let request = request.replace("ROOT", home.path().to_str().unwrap());
        let names = resolve_paths(&extract(&request), &tree, &files, &may_show);
        (names.files.iter().map(|file| file.path.to_string()).collect(), names)
    }

    #[test]
    fn finds_files_in_every_spelling() {
        for (request, file) in [
            ("see ./src/lib.rs", "src/lib.rs"),
            ("see ROOT/src/lib.rs:3", "src/lib.rs"),
            ("+++ b/src/lib.rs", "src/lib.rs"),
            ("see deep/only.rs", "src/deep/only.rs"),
            ("see ONLY.rs", "src/deep/only.rs"),
            ("the ignored out/made.txt", "out/made.txt"),
            ("修改文档/说明.md文件", "文档/说明.md"),
            ("看说明.md", "文档/说明.md"),
        ] {
            assert_eq!(names(request).0, [file], "{request}");
        }
        assert_eq!(names("see src/lib.rs:7 and src/lib.rs").1.files.first().unwrap().line, Some(7));
    }

    #[test]
    fn reports_named_files_that_are_not_shown() {
        for (request, omitted) in [
            ("open .env", ".env: the policy does not let it be read"),
            ("make src/new.rs", "src/new.rs: no such file"),
            ("read ../x.rs", "../x.rs: the path leads out of the workspace; write it without `..`"),
            (
                "read /etc/x.conf",
                "/etc/x.conf: the path is absolute; write it relative to the workspace",
            ),
            ("read linked/lib.rs", "linked/lib.rs: a symbolic link, which is not followed"),
        ] {
            let (files, names) = names(request);
            assert!(files.is_empty(), "{request}");
            assert_eq!(names.omitted, [omitted], "{request}");
        }
    }

    #[test]
    fn prose_names_nothing() {
        let (files, names) = names("and/or node.js e.g. read/write self.x .unwrap src/nothing");
        assert!(files.is_empty() && names.omitted.is_empty() && names.directories.is_empty());
    }

    #[test]
    fn names_from_a_program_are_read_with_their_qualifiers() {
        let request = "`Cart::total()` panics in remove_line, see `no such thing` and `new`";
        let named = names(request).1.symbols;
        let read: Vec<_> = named.iter().map(|it| (it.owner.as_deref(), it.bare.as_str())).collect();
        assert_eq!(read, [(Some("Cart"), "total"), (None, "Cart"), (None, "remove_line")]);
    }

    #[test]
    fn an_ambiguous_path_names_nothing() {
        let (files, names) = names("look at mod.rs in src/deep/");
        assert!(files.is_empty());
        assert_eq!(names.directories, [RepoPath::parse("src/deep").unwrap()]);
        let all: Vec<String> =
            names.directories_named_or_above().iter().map(RepoPath::to_string).collect();
        assert_eq!(all, ["src", "src/deep"]);
    }
}
