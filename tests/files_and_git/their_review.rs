//! What a review reads is what the user's `git diff` and `git status` show, for generated repositories and settings.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fastrand::Rng;
use mock::ScriptedReply;

use crate::support::{Project, Provider, World, short_or_long};

const FINE: &str = "REVIEW_V1\nSUMMARY|It can go in.\nREVIEW_END";

/// Settings of the user, or of the repository, one of which a generated case may have each.
const SETTINGS: [&str; 24] = [
    "core.autocrlf=true",
    "core.autocrlf=input",
    "core.eol=crlf",
    "core.safecrlf=warn",
    "core.excludesFile=~/ignored",
    "core.attributesFile=~/attributes",
    "core.quotePath=true",
    "core.fileMode=false",
    "status.showUntrackedFiles=no",
    "status.showUntrackedFiles=all",
    "status.relativePaths=false",
    "status.short=true",
    "diff.noprefix=true",
    "diff.mnemonicPrefix=true",
    "diff.renames=false",
    "diff.renames=copies",
    "diff.algorithm=histogram",
    "diff.context=1",
    "diff.suppressBlankEmpty=true",
    "diff.submodule=log",
    "diff.orderFile=~/order",
    "color.ui=always",
    "diff.external=false",
    "core.pager=false",
];
/// Rules of the files that say what is ignored.
const RULES: [&str; 6] = ["*.log", "/out/", "b*", "!b1.txt", "sub/*.tmp", "*.mine"];
/// Attributes.
const ATTRIBUTES: [&str; 6] = [
    "*.txt text eol=crlf",
    "*.txt text",
    "*.up filter=up",
    "*.dat binary",
    "*.txt -diff",
    "sub/* -text",
];
const NAMES: [&str; 12] = [
    "a.txt",
    "b1.txt",
    "b 2.txt",
    "c.log",
    "d.mine",
    "e.up",
    "f.dat",
    "sub/a.txt",
    "sub/x.tmp",
    "out/made.txt",
    "é \"quoted\".txt",
    "sub/deep/z.txt",
];

/// A generated repository, with its world.
struct Case {
    world: World,
    random: Rng,
}

impl Case {
    fn new(seed: u64) -> Self {
        let provider = Provider::new(vec![ScriptedReply::text(FINE).to("analysis").forever()]);
        let world = World::of(Project::without_git(&[]), provider);
        Self { world, random: Rng::with_seed(seed) }
    }

    /// Runs git as the user does. Returns its standard output.
    fn git(&self, line: &str) -> String {
        let line = format!("git {line}");
        let mut git = self.world.program(Path::new("sh"), ["-c", &line]);
        let run = git.env("LANG", "C.UTF-8").run();
        assert!(run.code == Some(0) || line.contains("commit"), "{line}: {}", run.stderr);
        run.stdout
    }

    fn some<'a>(&mut self, of: &[&'a str]) -> Vec<&'a str> {
        of.iter().copied().filter(|_| self.random.u8(..5) < 2).collect()
    }

    fn text(&mut self) -> String {
        let end = if self.random.u8(..4) == 0 { "\r\n" } else { "\n" };
        let mut text = String::new();
        for _ in 0..self.random.usize(..12) {
            let word = ["one", "two", "", "  three", "four five"][self.random.usize(..5)];
            text += &format!("{word}{end}");
        }
        if self.random.u8(..6) == 0 { text.trim_end().to_owned() } else { text }
    }

    fn write_some(&mut self) {
        for name in self.some(&NAMES).into_iter().chain(["always.txt"]) {
            if self.random.u8(..10) == 0 {
                self.world.project.write(name, [0, 159, 1, 2]);
            } else {
                let text = self.text();
                self.world.project.write(name, text);
            }
            if self.random.u8(..6) == 0 {
                let path = self.world.project.path(name);
                fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
            }
        }
    }

    /// Makes the settings, the files and the changes.
    fn make(&mut self) {
        let home = self.world.home().to_owned();
        let up = "[filter \"up\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n";
        let user = "[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n";
        fs::write(home.join(".gitconfig"), format!("{user}{up}")).unwrap();
        self.git("init -q");
        for setting in self.some(&SETTINGS) {
            let (name, value) = setting.split_once('=').unwrap();
            // A repository cannot make commands read a file of the user.
            let is_global = name == "core.attributesFile" || self.random.u8(..3) > 0;
            let scope = if is_global { "--global" } else { "--local" };
            self.git(&format!("config {scope} {name} '{value}'"));
        }
        let rules = |case: &mut Self| case.some(&RULES).join("\n") + "\n";
        for file in ["ignored", "config/git/ignore"] {
            fs::create_dir_all(home.join("config/git")).unwrap();
            fs::write(home.join(file), rules(self)).unwrap();
        }
        fs::write(home.join("order"), "sub/*\n*.up\n").unwrap();
        fs::write(home.join("attributes"), self.some(&ATTRIBUTES).join("\n")).unwrap();
        for file in [".gitignore", "sub/.gitignore", ".git/info/exclude"] {
            if self.random.bool() {
                let text = rules(self);
                self.world.project.write(file, text);
            }
        }
        if self.random.bool() {
            let text = self.some(&ATTRIBUTES[..4]).join("\n");
            self.world.project.write(".gitattributes", text);
        }
        self.write_some();
        if self.random.u8(..8) > 0 {
            self.git("add -A");
            self.git("commit -qm start");
            self.change();
        }
    }

    fn change(&mut self) {
        self.write_some();
        if self.random.bool() {
            self.git("add always.txt");
            self.world.project.write("always.txt", "changed again\n");
        }
        if self.random.bool() {
            self.git("mv -f always.txt 'moved to.txt'");
        }
        if self.random.u8(..3) == 0 {
            self.world.project.write("meant.txt", "to be added\n");
            self.git("add -f --intent-to-add meant.txt");
        }
        if self.random.u8(..3) == 0 {
            symlink("a.txt", self.world.project.path("link")).ok();
        }
        if self.random.u8(..3) == 0 {
            fs::remove_file(self.world.project.path("a.txt")).ok();
        }
        if self.random.u8(..3) == 0 {
            self.git("init -q nested");
            self.world.project.write("nested/own.txt", "of its own\n");
        }
    }

    /// Returns the diff of the user's git, in the form that is read, and the new files of its status.
    fn shown_by_git(&self) -> (String, BTreeSet<String>) {
        let form = "-c core.quotePath=false -c diff.suppressBlankEmpty=false diff --no-color --no-ext-diff --no-textconv --submodule=short --src-prefix=a/ --dst-prefix=b/ -O/dev/null";
        let since = if self.git("rev-parse -q --verify HEAD || true").is_empty() {
            "--cached"
        } else {
            "HEAD"
        };
        let diff = self.git(&format!("{form} {since} 2>/dev/null"));
        let is_new = |entry: &str| entry.strip_prefix("?? ").map(str::to_owned);
        let new = |line: &str| -> BTreeSet<String> {
            self.git(line).split('\0').filter_map(is_new).collect()
        };
        let shown = new("status --porcelain=v1 -z");
        let all = "status --porcelain=v1 -z --untracked-files=all";
        (diff, if shown.is_empty() { shown } else { new(all) })
    }
}

/// Returns the diff in a prompt as git printed it, and the sections of new files.
fn read_by_review(prompt: &str) -> Vec<String> {
    let text = prompt.split_once("Line numbers are those after the change.\n\n").unwrap().1;
    let text = text.split_once("\n\nNot shown:").map_or(text, |(text, _)| text);
    let plain = |line: &str| {
        // The blank at the end of the whole text is not in the prompt.
        let line = if line.ends_with('|') { format!("{line}  ") } else { line.to_owned() };
        let (number, rest) = line.split_once("| ").unwrap_or((&line, &line));
        let is_numbered =
            number.len() >= 5 && number.chars().all(|c| c == ' ' || c.is_ascii_digit());
        if is_numbered { rest.to_owned() } else { line.clone() }
    };
    let mut sections: Vec<String> = Vec::new();
    for line in text.lines().map(plain) {
        if line.starts_with("diff --git ") {
            sections.push(String::new());
        }
        sections.last_mut().unwrap().push_str(&(line + "\n"));
    }
    sections
}

/// Splits a diff into sections, without the marks that lines end with.
fn sections(diff: &str) -> Vec<String> {
    let mut sections: Vec<String> = Vec::new();
    for line in diff.lines() {
        if line.starts_with("diff --git ") {
            sections.push(String::new());
        }
        sections.last_mut().unwrap().push_str(&format!("{line}\n"));
    }
    sections
}

#[test]
fn a_review_reads_what_the_users_git_shows() {
    let seeds = short_or_long(0..16, 0..300);
    for seed in seeds {
        let mut case = Case::new(seed);
        case.make();
        let (diff, new) = case.shown_by_git();
        let run = case.world.deepseek(["review"]).run();
        assert_eq!(run.code, Some(0), "seed {seed}: {}", run.stderr);
        if case.world.provider.of("analysis").is_empty() {
            assert!(diff.is_empty() && new.is_empty(), "seed {seed}: {diff}{new:?}");
            continue;
        }
        let prompt = case.world.provider.last_message("analysis", 1);
        let read = read_by_review(&prompt);
        let tracked = sections(&diff);
        let (of_tracked, of_new) = read.split_at(tracked.len().min(read.len()));
        assert_eq!(of_tracked, tracked, "seed {seed}");
        let times = |name: &String| {
            let head = format!("diff --git a/{0} b/{0}\n", name.trim_end_matches('/'));
            of_new.iter().filter(|section| section.starts_with(&head)).count()
        };
        assert!(new.iter().all(|name| times(name) == 1), "seed {seed}: {new:?} {of_new:?}");
        assert_eq!(of_new.len(), new.len(), "seed {seed}: {new:?} {of_new:?}");
    }
}

#[test]
fn what_cannot_be_shown_of_a_new_file_is_said() {
    let provider = Provider::new(vec![ScriptedReply::text(FINE).to("analysis").forever()]);
    let world = World::of(Project::new(&[("a.txt", "a\n")]), provider);
    let world = world.configure("agent_loop.max_file_bytes = 2000");
    world.project.write("large.txt", "x\n".repeat(2000));
    world.project.write("keys.pem", "not to be seen\n");
    world.project.write("two\nlines.txt", "x\n");
    world.project.write("picture.bin", [0, 1, 2]);
    symlink("a.txt", world.project.path("link")).unwrap();
    let run = world.deepseek(["review"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let prompt = world.provider.last_message("analysis", 1);
    for said in [
        "b/large.txt\n(not shown: 4000 bytes)",
        "keys.pem: ",
        "b/two?lines.txt\n(not shown: its name)",
        "Binary files /dev/null and b/picture.bin differ",
        "b/link\nnew file mode 120000",
    ] {
        assert!(prompt.contains(said), "{said}: {prompt}");
    }
    assert!(!prompt.contains("not to be seen"));
}

#[test]
fn a_diff_that_is_too_large_is_shown_in_part_and_the_rest_is_named() {
    let files: Vec<(String, String)> =
        (0..9).map(|n| (format!("f{n}.txt"), format!("{n}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let provider = Provider::new(vec![ScriptedReply::text(FINE).to("analysis").forever()]);
    let world = World::of(Project::new(&files), provider);
    let world = world.configure("commands.output_journal_bytes = 2000");
    for (name, _) in &files {
        world.project.write(name, format!("{name} is changed\n").repeat(20));
    }
    let run = world.deepseek(["review"]).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let prompt = world.provider.last_message("analysis", 1);
    for (name, _) in &files {
        assert!(prompt.contains(&format!("diff --git a/{name} b/{name}\n")), "{name}: {prompt}");
    }
    assert!(prompt.contains("(not shown: the whole diff is too large)"), "{prompt}");
    assert!(prompt.contains("+f0.txt is changed"), "{prompt}");
}

#[test]
fn what_the_user_ignores_is_in_no_evidence_and_no_look() {
    let answers = vec![
        ScriptedReply::text("NEED_SEARCH|canary").to("analysis"),
        ScriptedReply::text("Nothing.").to("analysis"),
    ];
    let world = World::of(Project::new(&[("a.txt", "canary in a file\n")]), Provider::new(answers));
    fs::write(world.home().join(".gitconfig"), "[include]\n\tpath = more\n").unwrap();
    fs::write(world.home().join("more"), "[core]\n\texcludesFile = ~/ignored\n").unwrap();
    fs::write(world.home().join("ignored"), "*.mine\n").unwrap();
    world.project.write("b.mine", "canary of the user\n");
    let run = world.asks("where is the canary?");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let all = world.provider.all_messages();
    assert!(all.contains("canary in a file") && !all.contains("canary of the user"), "{all}");
    assert!(!all.contains("b.mine"), "{all}");
}
