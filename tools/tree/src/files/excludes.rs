//! Finds the file with the user's own ignore rules, as git does: by the settings of the machine, the user and the
//! repository, or where git keeps it without a setting.

use std::path::{Path, PathBuf};

use gix::config::Source;
use gix::config::file::Metadata;
use gix::config::file::includes::{Options as Includes, conditional};
use gix::config::file::init::Options;
use gix::config::path::interpolate;
use gix::path::env;
use gix::refs::FullName;
use tools::regular;

use crate::repository::{MAX_BYTES, common_dir, top_around};

/// Returns the file with the user's own ignore rules for the repository around `dir`.
pub(super) fn excludes_file(dir: &Path) -> Option<PathBuf> {
    let git_dir = top_around(dir).map(|(_, git_dir)| git_dir);
    set(git_dir.as_deref()).or_else(|| env::xdg_config("ignore", &mut env::var))
}

/// Returns the file that the settings name.
fn set(git_dir: Option<&Path>) -> Option<PathBuf> {
    let home = env::home_dir();
    let paths = interpolate::Context {
        git_install_dir: None,
        home_dir: home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
    };
    let head = git_dir.and_then(|dir| regular::read_text(&dir.join("HEAD"), MAX_BYTES).ok());
    let branch = head.as_ref().and_then(|text| text.trim().strip_prefix("ref: "));
    let branch = branch.and_then(|name| FullName::try_from(name).ok());
    let condition =
        conditional::Context { git_dir, branch_name: branch.as_ref().map(FullName::as_ref) };
    let options = Options { includes: Includes::follow(paths, condition), ..Options::default() };
    let of_user = [Source::System, Source::Git, Source::User].into_iter();
    let of_user = of_user.filter_map(|it| Some((it, it.storage_location(&mut env::var)?)));
    let local = git_dir.map(|dir| (Source::Local, common_dir(dir).join("config")));
    let files = of_user.chain(local).filter(|(_, path)| is_small(path));
    let files = files.map(|(source, path)| Metadata::from(source).at(path));
    let settings = gix::config::File::from_paths_metadata(files, options).ok()??;
    settings.path("core.excludesFile")?.interpolate(paths).ok()
}

fn is_small(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() <= MAX_BYTES)
}
