//! The review of a change, file by file. Pure.

use facts::signal::Acceptance;
use facts::signal::ApprovalAnswer;
use front::diff::harmless;
use front::paint::Paint;
use unicode_width::UnicodeWidthStr as _;

use crate::keys::Key;
use crate::screen::ScreenSize;

use super::pages::Pages;
use super::{Does, bar, fitting};

/// The review of a change, file by file.
#[derive(Debug)]
pub(crate) struct PatchReview {
    pages: Pages,
    files: Vec<Reviewed>,
    /// The index of the file that is decided next. Scrolling changes it only once the file is out of sight.
    current: usize,
    /// The first lines of the hunks.
    hunks: Vec<usize>,
    /// True if Enter was pressed before every file was decided.
    is_incomplete: bool,
    /// Whether files can be accepted individually.
    taken: Acceptance,
}

/// A file of a change.
#[derive(Debug)]
struct Reviewed {
    path: String,
    /// Its first line in the diff.
    at: usize,
    /// The decision; `None` while it is undecided.
    wanted: Option<bool>,
}

impl PatchReview {
    /// Creates the review of a formatted diff; `None` if it is not a diff.
    pub(crate) fn of(diff: &str, taken: Acceptance) -> Option<Self> {
        let lines: Vec<String> = diff.lines().map(str::to_owned).collect();
        let plain: Vec<String> = lines.iter().map(|line| without_paint(line)).collect();
        let path =
            |line: &str| Some(line.strip_prefix("diff --git ")?.split_once(" b/")?.1.to_owned());
        let file =
            |(at, line): (usize, &String)| Some(Reviewed { path: path(line)?, at, wanted: None });
        let files: Vec<Reviewed> = plain.iter().enumerate().filter_map(file).collect();
        let hunks = plain.iter().enumerate().filter(|(_, line)| line.starts_with("@@ "));
        let hunks: Vec<usize> = hunks.map(|(at, _)| at).collect();
        let furthest = files.iter().map(|file| file.at).chain(hunks.iter().copied()).max()?;
        let pages = Pages::up_to(lines, furthest);
        let (current, is_incomplete) = (0, false);
        (!files.is_empty()).then_some(Self { pages, files, current, hunks, is_incomplete, taken })
    }

    /// Returns the index of the file that has a line.
    fn file_of(&self, line: usize) -> usize {
        self.files.iter().rposition(|file| file.at <= line).unwrap_or_default()
    }

    pub(super) fn rows(&self, size: ScreenSize, paint: Paint) -> Vec<String> {
        self.pages.rows(size, &bar(paint, &self.bar(size)))
    }

    /// Returns the text of the bar. On a narrow screen, the file and its decision matter most, then the keys to decide and to leave.
    fn bar(&self, size: ScreenSize) -> String {
        let (number, count) = (self.current + 1, self.files.len());
        let file = self.files.get(self.current);
        let wanted = match file.and_then(|file| file.wanted) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "undecided",
        };
        let path = file.map(|file| harmless(&file.path)).unwrap_or_default();
        let open = self.files.iter().filter(|file| file.wanted.is_none()).count();
        let undecided = format!("{open} undecided");
        let (long, short): (Vec<&str>, &[&str]) = match open {
            0 => (vec!["Enter answers", "q back"], &["Enter", "q"]),
            _ if self.is_incomplete => (vec![&undecided, "y n decide"], &[&undecided]),
            _ => (
                vec!["y n decide", "Enter answers", "q back", "Tab file", "] hunk", "Space page"],
                &["y n", "Enter", "q"],
            ),
        };
        let bar = |path: &str, keys: &[&str]| {
            let place = format!("{number}/{count} {path}: {wanted}");
            fitting(size, short.len() + 1, &[&[place.as_str()], keys].concat())
        };
        let width = usize::from(size.columns);
        let whole = [bar(&path, &long), bar(&path, short)].into_iter();
        whole.into_iter().find(|bar| bar.width() <= width).unwrap_or_else(|| {
            // The end of the path says most.
            let room = width.saturating_sub(bar("", short).width());
            bar(&end_of(&path, room), short)
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key means anything here")]
    pub(super) fn key(&mut self, key: &Key, size: ScreenSize) -> Does {
        self.is_incomplete = false;
        let start = self.files.get(self.current).map_or(0, |file| file.at);
        let place = self.pages.top.max(start);
        match key {
            Key::Char(letter @ ('y' | 'n')) => {
                if let Some(file) = self.files.get_mut(self.current) {
                    file.wanted = Some(*letter == 'y');
                }
                let mut later = self.files.iter().skip(self.current + 1);
                self.jump(later.find(|file| file.wanted.is_none()).map(|next| next.at));
            }
            Key::Enter => match self.answer() {
                Some(answer) => return Does::Answers(answer),
                None => self.undecided(),
            },
            Key::Tab => self.jump(self.files.iter().map(|it| it.at).find(|at| *at > place)),
            Key::BackTab => self.jump(self.files.iter().map(|it| it.at).rfind(|at| *at < place)),
            Key::Char(']') => self.jump(self.hunks.iter().copied().find(|at| *at > place)),
            Key::Char('[') => self.jump(self.hunks.iter().copied().rfind(|at| *at < place)),
            key => {
                let does = self.pages.key(key, size);
                self.follow(key, size);
                return does;
            }
        }
        Does::Stays
    }

    /// Goes to a line, and to its file.
    fn jump(&mut self, to: Option<usize>) {
        let Some(line) = to else { return };
        self.pages.top = line;
        self.current = self.file_of(line);
    }

    /// After scrolling: goes to the first or last file if the user did, or to one that is on the screen.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other key is treated alike")]
    fn follow(&mut self, key: &Key, size: ScreenSize) {
        let first = self.file_of(self.pages.top);
        let last = self.file_of(self.pages.top + self.pages.shown(size) - 1);
        self.current = match key {
            Key::Home | Key::Char('g') => first,
            Key::End | Key::Char('G') => last,
            _ => self.current.clamp(first, last),
        };
    }

    /// Goes to the first undecided file, and reports that some are open.
    fn undecided(&mut self) {
        self.is_incomplete = true;
        let open = self.files.iter().find(|file| file.wanted.is_none()).map(|file| file.at);
        self.jump(open);
    }

    /// Returns the answer; `None` while a file is undecided. If only some files are accepted, but the change can only be applied as a
    /// whole, it is rejected with a message to the model that names the files.
    fn answer(&self) -> Option<ApprovalAnswer> {
        let all: Option<Vec<bool>> = self.files.iter().map(|file| file.wanted).collect();
        let all = all?;
        if all.iter().all(|wanted| *wanted) {
            return Some(ApprovalAnswer::Yes);
        }
        if all.iter().all(|wanted| !wanted) {
            return Some(ApprovalAnswer::No);
        }
        let of = |wanted: bool| -> Vec<String> {
            let those = self.files.iter().filter(|file| file.wanted == Some(wanted));
            those.map(|file| file.path.clone()).collect()
        };
        if self.taken.is_by_file() {
            return Some(ApprovalAnswer::Only { paths: of(true), why: None });
        }
        let (good, bad) = (of(true).join(", "), of(false).join(", "));
        Some(ApprovalAnswer::Because(format!(
            "the changes to {good} are accepted, those to {bad} are rejected: leave the rejected ones out or make them differently"
        )))
    }
}

/// Cuts a text at its start so that it fits the width.
fn end_of(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let fits = |at: &usize| text.get(*at..).is_some_and(|end| end.width() < width);
    let start = text.char_indices().map(|(at, _)| at).find(fits).unwrap_or(text.len());
    format!("…{}", text.get(start..).unwrap_or_default())
}

/// Removes the colour sequences from a line.
fn without_paint(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ScreenSize = ScreenSize { columns: 60, rows: 6 };

    fn diff(files: &[&str]) -> String {
        let file = |path: &&str| {
            format!(
                "\x1b[1mdiff --git a/{path} b/{path}\x1b[0m\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n"
            )
        };
        files.iter().map(file).collect()
    }

    fn keys(review: &mut PatchReview, keys: &str) -> Does {
        let key = |c| match c {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            c => Key::Char(c),
        };
        keys.chars().map(|c| review.key(&key(c), SIZE)).last().unwrap()
    }

    #[test]
    fn a_change_is_decided_file_by_file_and_answered_as_a_whole() {
        let change = diff(&["a.rs", "b.rs"]);
        let review = || PatchReview::of(&change, Acceptance::ByFile).unwrap();
        assert_eq!(keys(&mut review(), "yy\n"), Does::Answers(ApprovalAnswer::Yes));
        assert_eq!(keys(&mut review(), "nn\n"), Does::Answers(ApprovalAnswer::No));
        let only = ApprovalAnswer::Only { paths: vec!["a.rs".to_owned()], why: None };
        assert_eq!(keys(&mut review(), "yn\n"), Does::Answers(only));
        let mut whole = PatchReview::of(&change, Acceptance::Whole).unwrap();
        let Does::Answers(ApprovalAnswer::Because(why)) = keys(&mut whole, "yn\n") else {
            panic!()
        };
        assert!(why.contains("to a.rs are accepted, those to b.rs are rejected"), "{why}");
        // Neither leaving nor Enter alone decides anything.
        assert_eq!(keys(&mut review(), "yq"), Does::Leaves);
        let mut incomplete = review();
        assert_eq!(keys(&mut incomplete, "y\n"), Does::Stays);
        assert!(incomplete.rows(SIZE, Paint::Plain)[5].contains("1 undecided"));
        assert_eq!(keys(&mut incomplete, "n\n\n").clone(), keys(&mut incomplete, "\n"));
        assert!(PatchReview::of("  $ make\n", Acceptance::Whole).is_none());
    }

    #[test]
    fn keys_jump_between_files_and_hunks() {
        let mut review = PatchReview::of(&diff(&["a.rs", "b.rs"]), Acceptance::ByFile).unwrap();
        insta::assert_snapshot!(review.rows(SIZE, Paint::Plain).join("\n").replace('\x1b', "^"), @"
        ^[1mdiff --git a/a.rs b/a.rs^[0m
        --- a/a.rs
        +++ b/a.rs
        @@ -1 +1 @@
        -a
        1/2 a.rs: undecided · y n decide · Enter answers · q back
        ");
        keys(&mut review, "]]");
        assert!(review.rows(SIZE, Paint::Plain)[0].starts_with("@@ -9"));
        keys(&mut review, "\t");
        assert!(review.rows(SIZE, Paint::Plain)[0].contains("b.rs"));
        assert_eq!(keys(&mut review, "["), Does::Stays);
        assert!(review.rows(SIZE, Paint::Plain)[0].starts_with("@@ -9"));
    }

    #[test]
    fn a_decision_is_about_the_file_that_the_bar_names_however_the_change_was_scrolled() {
        let files = ["a.rs", "b.rs", "c.rs"];
        for size in [ScreenSize { columns: 100, rows: 40 }, ScreenSize { columns: 100, rows: 12 }] {
            let bar = |review: &PatchReview| review.rows(size, Paint::Plain).pop().unwrap();
            for scroll in [Key::Down, Key::Char('j'), Key::Char(' '), Key::End] {
                let mut review = PatchReview::of(&diff(&files), Acceptance::ByFile).unwrap();
                review.key(&Key::Char('y'), size);
                assert!(bar(&review).starts_with("2/3 b.rs: undecided"), "{}", bar(&review));
                review.key(&scroll, size);
                let named = bar(&review);
                assert!(!named.starts_with("1/3"), "{scroll:?} in {size:?} goes back: {named}");
                review.key(&Key::Char('n'), size);
                let decided: Vec<_> = review.files.iter().map(|file| file.wanted).collect();
                let at = usize::from(named.starts_with("3/3")) + 1;
                assert_eq!(decided[0], Some(true), "{scroll:?}");
                assert_eq!(decided[at], Some(false), "{scroll:?}: {named}");
            }
            // Some context above the file does not change what is decided.
            let mut review = PatchReview::of(&diff(&files), Acceptance::ByFile).unwrap();
            for key in [Key::Tab, Key::Tab, Key::Up] {
                review.key(&key, size);
            }
            assert!(bar(&review).starts_with("3/3 c.rs"), "{}", bar(&review));
            // Scrolled out of sight, it is another one.
            for _ in 0..size.rows {
                review.key(&Key::Up, size);
            }
            let named = if size.rows == 40 { "3/3" } else { "2/3" };
            assert!(bar(&review).starts_with(named), "{}", bar(&review));
            for (key, named) in [(Key::Home, "1/3 a.rs"), (Key::End, "3/3 c.rs")] {
                review.key(&key, size);
                assert!(bar(&review).starts_with(named), "{}", bar(&review));
            }
        }
    }

    #[test]
    fn the_bar_of_a_narrow_screen_names_the_file_the_decision_and_how_to_go_on() {
        let bar = |path: &str, keys: &[Key], columns| {
            let size = ScreenSize { columns, rows: 12 };
            let mut review = PatchReview::of(&diff(&[path, "x.rs"]), Acceptance::ByFile).unwrap();
            for key in keys {
                review.key(key, size);
            }
            let bar = review.rows(size, Paint::Plain).pop().unwrap();
            assert!(bar.width() <= usize::from(columns), "{bar}");
            bar
        };
        assert_eq!(bar("calc.py", &[], 40), "1/2 calc.py: undecided · y n · Enter · q");
        assert_eq!(
            bar("src/deep/calculator.py", &[], 40),
            "1/2 …tor.py: undecided · y n · Enter · q"
        );
        assert_eq!(
            bar("calc.py", &[], 100),
            "1/2 calc.py: undecided · y n decide · Enter answers · q back · Tab file · ] hunk · Space page"
        );
        assert_eq!(bar("calc.py", &[Key::Enter], 40), "1/2 calc.py: undecided · 2 undecided");
        let decided = [Key::Char('y'), Key::Char('n')];
        assert_eq!(bar("calc.py", &decided, 40), "2/2 x.rs: no · Enter answers · q back");
    }
}
