//! Completions for the word at the cursor: commands, files, earlier messages. Pure.

use std::collections::BTreeMap;

use crate::commands::{self, COMMANDS, What};

/// Most completions offered.
const MAX_OFFERS: usize = 50;

/// The completions offered, and the chosen one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Menu {
    pub(crate) kind: CompletionKind,
    /// The text to insert, and its description.
    pub(crate) offers: Vec<(String, String)>,
    pub(crate) chosen: usize,
    /// True once the user has moved the choice.
    pub(crate) is_moved: bool,
}

/// The kind of completions in a menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompletionKind {
    Commands,
    Files,
    /// Values of a setting, keys of the configuration, or what is [`Named`].
    Words,
    Earlier,
}

/// What an argument of a command can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A session.
    Session,
    /// A request that changed the workspace.
    Run,
    /// A staged patch.
    Patch,
    /// A checkpoint.
    Checkpoint,
}

impl Named {
    /// Returns what the word after `before` names; `None` if it is none of these things.
    pub(crate) fn after(before: &str) -> Option<Self> {
        Some(match before.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["/resume" | "/fork" | "/export" | "/replay"] | ["/sessions", "show"] => Self::Session,
            ["/diff", "--run"] => Self::Run,
            ["/diff" | "/apply"] => Self::Patch,
            ["/rewind"] | ["/diff", "--since"] => Self::Checkpoint,
            _ => return None,
        })
    }
}

/// Something that an argument can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Its names, the shortest first.
    pub names: Vec<String>,
    /// A description in one line; may be empty.
    pub about: String,
}

impl Completion {
    /// Returns the name that completes `word`: one that starts with it, or the shortest if the description has the word.
    fn completing(&self, word: &str) -> Option<&String> {
        if self.names.iter().any(|name| name == word) {
            return None;
        }
        let named = self.names.iter().find(|name| name.starts_with(word));
        let is_described = || self.about.to_lowercase().contains(&word.to_lowercase());
        named.or_else(|| self.names.first().filter(|_| is_described()))
    }
}

/// The known words that can be offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownWords<'k> {
    pub(crate) files: &'k [String],
    pub(crate) models: &'k [String],
    pub(crate) keys: &'k [String],
    /// What was listed of each kind.
    pub(crate) named: &'k BTreeMap<Named, Vec<Completion>>,
}

/// Returns the values that a setting command can be given.
fn values<'k>(command: &str, known: &KnownWords<'k>) -> Option<Vec<&'k str>> {
    let (What::Set(setting), _) = commands::read_slash_command(command).ok()? else { return None };
    Some(setting.values(known.models))
}

impl Menu {
    fn of(kind: CompletionKind, offers: Vec<(String, String)>) -> Option<Self> {
        (!offers.is_empty()).then_some(Self { kind, offers, chosen: 0, is_moved: false })
    }

    /// Returns the chosen text.
    pub(crate) fn choice(&self) -> &str {
        self.offers.get(self.chosen).map_or("", |(text, _)| text)
    }

    /// Moves the choice: by 1 to the next, by -1 to the previous. Wraps around.
    pub(crate) fn step(&mut self, by: isize) {
        self.is_moved = true;
        let count = isize::try_from(self.offers.len()).unwrap_or(isize::MAX);
        let at = isize::try_from(self.chosen).unwrap_or_default();
        self.chosen = usize::try_from((at + by).rem_euclid(count.max(1))).unwrap_or_default();
    }
}

/// Returns the completions for `word` at the cursor; `before` is the text before it. `None` if there are none.
pub(crate) fn menu(before: &str, word: &str, known: &KnownWords<'_>) -> Option<Menu> {
    if let Some(name) = word.strip_prefix('/').filter(|_| before.is_empty()) {
        let offers = COMMANDS.iter().filter(|command| command.name.starts_with(name));
        let offers = offers.map(|it| (format!("/{}", it.name), it.about.to_owned())).collect();
        return Menu::of(CompletionKind::Commands, offers);
    }
    let Some(wanted) = word.strip_prefix('@') else {
        if let Some(named) = Named::after(before) {
            let candidates = known.named.get(&named).into_iter().flatten();
            let offer = |it: &Completion| Some((it.completing(word)?.clone(), it.about.clone()));
            let offers = candidates.filter_map(offer).take(MAX_OFFERS);
            return Menu::of(CompletionKind::Words, offers.collect());
        }
        let words = match before.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["/config", "get" | "set" | "add" | "remove" | "unset"] => {
                known.keys.iter().map(String::as_str).collect()
            }
            [command] => values(command, known)?,
            _ => return None,
        };
        // A complete word needs no completion.
        let words = words.into_iter().filter(|known| known.contains(word) && *known != word);
        let offers = words.take(MAX_OFFERS).map(|word| (word.to_owned(), String::new()));
        return Menu::of(CompletionKind::Words, offers.collect());
    };
    let offers = ranked(known.files, wanted);
    Menu::of(
        CompletionKind::Files,
        offers.map(|path| (format!("@{path}"), String::new())).collect(),
    )
}

/// Returns the paths that complete `word`, which may have an `@` before it. `None` if there are none.
pub(crate) fn paths(word: &str, files: &[String]) -> Option<Menu> {
    let (mark, wanted) = word.strip_prefix('@').map_or(("", word), |wanted| ("@", wanted));
    let named = ranked(files, wanted).filter(|path| !wanted.is_empty() && *path != wanted);
    Menu::of(
        CompletionKind::Files,
        named.map(|path| (format!("{mark}{path}"), String::new())).collect(),
    )
}

/// Returns the paths that match best.
fn ranked<'f>(files: &'f [String], wanted: &str) -> impl Iterator<Item = &'f String> {
    let mut found: Vec<(usize, &String)> =
        files.iter().filter_map(|path| Some((rank(path, wanted)?, path))).collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).take(MAX_OFFERS)
}

/// Returns the earlier messages that contain `text` in any case, without duplicates, the latest first. If the text is not in the
/// first line of a message, its line is shown as well.
pub(crate) fn earlier(history: &[String], text: &str) -> Option<Menu> {
    let mut offers: Vec<(String, String)> = Vec::new();
    let text = text.to_lowercase();
    for message in history.iter().rev() {
        let found = message.lines().position(|line| line.to_lowercase().contains(&text));
        let is_new = offers.iter().all(|(offer, _)| offer != message);
        let Some(at) = found.filter(|_| is_new && offers.len() < MAX_OFFERS) else { continue };
        let line = message.lines().nth(at).filter(|_| at > 0);
        offers
            .push((message.clone(), line.map(|it| format!("… {}", it.trim())).unwrap_or_default()));
    }
    Menu::of(CompletionKind::Earlier, offers)
}

/// Ranks how well a path matches: lower is better, `None` is no match.
fn rank(path: &str, wanted: &str) -> Option<usize> {
    let (path_lower, wanted) = (path.to_lowercase(), wanted.to_lowercase());
    let name = path_lower.rsplit('/').next().unwrap_or(&path_lower);
    let fit = if path_lower.starts_with(&wanted) {
        0
    } else if name.starts_with(&wanted) {
        1
    } else if path_lower.contains(&wanted) {
        2
    } else if is_subsequence(&path_lower, &wanted) {
        3
    } else {
        return None;
    };
    Some(fit * 10_000 + path.len())
}

/// Returns true if `text` contains the letters of `wanted` in this order.
fn is_subsequence(text: &str, wanted: &str) -> bool {
    let mut letters = text.chars();
    wanted.chars().all(|c| letters.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(before: &str, word: &str) -> Vec<String> {
        let files = ["src/lib.rs", "src/parser.rs", "lib/x.py"].map(str::to_owned);
        let models = ["deepseek-flash", "deepseek-v4-pro"].map(str::to_owned);
        let keys = ["llm.base_url", "budget.usd"].map(str::to_owned);
        let candidate = |names: &[&str], about: &str| Completion {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            about: about.to_owned(),
        };
        let named = BTreeMap::from([
            (Named::Session, vec![candidate(&["33yegy", "01m80aa9hr33yegy"], "Fix the parser")]),
            (Named::Patch, vec![candidate(&["r485a2", "01m891qastr485a2"], "")]),
            (Named::Checkpoint, vec![candidate(&["12"], ""), candidate(&["3"], "")]),
        ]);
        let known = KnownWords { files: &files, models: &models, keys: &keys, named: &named };
        let menu = menu(before, word, &known);
        menu.into_iter().flat_map(|menu| menu.offers).map(|(text, _)| text).collect()
    }

    #[test]
    fn commands_are_completed_at_the_start_and_files_anywhere() {
        assert_eq!(offered("", "/ex"), ["/export", "/explain", "/exit"]);
        assert_eq!(offered("see ", "/ex"), [""; 0]);
        assert_eq!(offered("see ", "@lib"), ["@lib/x.py", "@src/lib.rs"]);
        assert_eq!(offered("see ", "@spr"), ["@src/parser.rs"]);
        assert_eq!(offered("see ", "lib"), [""; 0]);
        assert_eq!(offered("/model ", "pro"), ["deepseek-v4-pro"]);
        assert_eq!(offered("/config get ", "bud"), ["budget.usd"]);
        assert_eq!(offered("/config get ", "budget.usd"), [""; 0]);
    }

    #[test]
    fn arguments_of_commands_are_completed() {
        for (before, word, offers) in [
            ("/mode ", "", &["plan", "agent", "yolo", "hetun"][..]),
            ("/mode ", "y", &["yolo"]),
            ("/approval ", "", &["suggest", "auto", "never"]),
            ("/approval ", "au", &["auto"]),
            ("/thinking ", "o", &["on", "off", "auto"]),
            ("/resume ", "0", &["01m80aa9hr33yegy"]),
            ("/resume ", "", &["33yegy"]),
            ("/fork ", "PARSER", &["33yegy"]),
            ("/resume ", "33yegy", &[]),
            ("/apply ", "r4", &["r485a2"]),
            ("/diff ", "x", &[]),
            ("/rewind ", "1", &["12"]),
            ("/rewind ", "", &["12", "3"]),
            ("/undo ", "", &[]),
            ("/ask ", "p", &[]),
            ("resume ", "0", &[]),
        ] {
            assert_eq!(offered(before, word), offers, "{before}{word}");
        }
    }

    #[test]
    fn earlier_messages_are_offered_once_with_the_latest_first() {
        let history = ["fix a", "ask b", "fix c", "fix a"].map(str::to_owned);
        let menu = earlier(&history, "fix").unwrap();
        assert_eq!(
            menu.offers.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
            ["fix a", "fix c"]
        );
        let history = ["Fix it\nTwo changes".to_owned()];
        let found = earlier(&history, "two").unwrap().offers;
        assert_eq!(found, [(history[0].clone(), "… Two changes".to_owned())]);
    }
}
