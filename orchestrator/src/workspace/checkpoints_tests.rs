//! Undoing changes that create or replace symlinks, in real directories.

use std::fs;
use std::os::unix::fs::symlink;

use config::Inputs;
use tempfile::TempDir;
use tree::{CheckpointNote, CommitLog, FileMode, WriteTree};

use super::*;

struct World {
    home: TempDir,
    places: WorkspacePlaces,
    config: Config,
    _state: TempDir,
}

impl World {
    fn new() -> World {
        let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| state.path().join(name);
        let places = WorkspacePlaces {
            state: at(""),
            commits: at("commits"),
            checkpoints: at("private.git"),
            lanes: at("lanes"),
        };
        let inputs = Inputs { workspace_root: home.path().to_owned(), ..Inputs::default() };
        let config = config::resolve_layers(&inputs).unwrap().config;
        World { home, places, config, _state: state }
    }

    fn tree(&self) -> WriteTree {
        let log = CommitLog::at(self.places.commits.clone(), std::time::Duration::from_secs(10));
        WriteTree::open(self.home.path(), log.unwrap()).unwrap()
    }

    /// Makes changes as the main tree does: first a checkpoint, then the commit.
    fn change(&self, changes: &[Change]) {
        let (tree, now) = (self.tree(), Timestamp::UNIX_EPOCH);
        let note = CheckpointNote {
            patch: "p".to_owned(),
            session: "s".to_owned(),
            ..CheckpointNote::default()
        };
        let snapshots = snapshots(&self.places, self.home.path(), &self.config);
        snapshots.record(&tree.reader(), changes, note, now, &|| false).unwrap();
        tree.commit(changes, "test").unwrap();
    }

    fn history(&self) -> CheckpointHistory {
        CheckpointHistory::read(&self.places, self.home.path(), &self.config).unwrap()
    }

    fn restore_plan(&self, mode: RestoreMode) -> RestorePlan {
        let history = self.history();
        history.restore_plan(&history.checkpoints()[0], mode, |_| true).unwrap()
    }

    fn link_at(&self, name: &str) -> Option<String> {
        let target = fs::read_link(self.home.path().join(name)).ok()?;
        Some(target.to_str().unwrap().to_owned())
    }
}

fn file(text: &str) -> Option<FileState> {
    FileState { bytes: text.to_owned().into(), mode: FileMode::Regular }.into()
}

fn link(target: &str) -> Option<FileState> {
    FileState { bytes: target.to_owned().into(), mode: FileMode::Symlink }.into()
}

fn change(at: &str, before: Option<FileState>, after: Option<FileState>) -> Change {
    Change::of(RepoPath::parse(at).unwrap(), before, after).unwrap()
}

/// Changes the workspace: a new link, a link replacing a file, a file replacing a link, and a deleted link.
fn changed() -> World {
    let world = World::new();
    fs::write(world.home.path().join("file"), "text\n").unwrap();
    symlink("file", world.home.path().join("link")).unwrap();
    symlink("none", world.home.path().join("gone")).unwrap();
    world.change(&[
        change("d/new", None, link("../file")),
        change("file", file("text\n"), link("elsewhere")),
        change("gone", link("none"), None),
        change("link", link("file"), file("ours\n")),
    ]);
    world
}

#[test]
fn going_back_restores_symlinks() {
    for mode in [RestoreMode::KeepTheirs, RestoreMode::Exactly] {
        let world = changed();
        assert_eq!(world.link_at("d/new").as_deref(), Some("../file"));
        let back = world.restore_plan(mode);
        assert_eq!(back.left, []);
        world.change(&back.changes);
        assert!(!world.home.path().join("d").exists(), "{mode:?}");
        assert_eq!(fs::read_to_string(world.home.path().join("file")).unwrap(), "text\n");
        assert_eq!(world.link_at("gone").as_deref(), Some("none"));
        assert_eq!(world.link_at("link").as_deref(), Some("file"));
        // The undo itself can be undone as well.
        let undone = world.history().changes_of_run("s").unwrap();
        assert_eq!(undone, []);
    }
}

#[test]
fn a_symlink_with_another_target_now_is_left_alone() {
    let world = changed();
    fs::remove_file(world.home.path().join("d/new")).unwrap();
    symlink("theirs", world.home.path().join("d/new")).unwrap();
    let back = world.restore_plan(RestoreMode::KeepTheirs);
    assert_eq!(back.left, [(RepoPath::parse("d/new").unwrap(), Conflict::Grown)]);
    world.change(&back.changes);
    assert_eq!(world.link_at("d/new").as_deref(), Some("theirs"));
}

#[test]
fn changes_reported_by_a_checkpoint_include_symlinks() {
    let world = changed();
    let history = world.history();
    let own = history.own_changes(&history.checkpoints()[0]).unwrap();
    assert_eq!(own.len(), 4);
    assert_eq!(
        history.changes_since(&history.checkpoints()[0], Timestamp::UNIX_EPOCH).unwrap(),
        own
    );
}
