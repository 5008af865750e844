//! Completions for the word at the cursor: commands, files, earlier messages. Pure.

use crate::commands::COMMANDS;
use crate::conversation::Setting;

/// Most completions offered.
const MAX_OFFERS: usize = 50;

/// The completions offered, and the chosen one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Menu {
    pub(crate) kind: Kind,
    /// The text to insert, and its description.
    pub(crate) offers: Vec<(String, String)>,
    pub(crate) chosen: usize,
}

/// The kind of completions in a menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Commands,
    Files,
    /// Values of a setting, keys of the configuration, or what is [`Named`].
    Words,
    Earlier,
}

/// Things that an argument of a command can name, besides files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// Sessions of the workspace.
    Sessions,
    /// Staged patches.
    Patches,
    /// Checkpoints.
    Checkpoints,
}

impl Named {
    /// Returns what the word after `before` names.
    pub(crate) fn after(before: &str) -> Option<Self> {
        match before.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["/resume"] | ["/sessions", "show"] => Some(Self::Sessions),
            ["/apply" | "/diff"] => Some(Self::Patches),
            ["/rewind"] => Some(Self::Checkpoints),
            _ => None,
        }
    }
}

/// The known words that can be offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'k> {
    pub(crate) files: &'k [String],
    pub(crate) models: &'k [String],
    pub(crate) keys: &'k [String],
    /// What [`Named::after`] the text names, with descriptions.
    pub(crate) named: &'k [(String, String)],
}

impl Menu {
    fn of(kind: Kind, offers: Vec<(String, String)>) -> Option<Self> {
        (!offers.is_empty()).then_some(Self { kind, offers, chosen: 0 })
    }

    /// Returns the chosen text.
    pub(crate) fn choice(&self) -> &str {
        self.offers.get(self.chosen).map_or("", |(text, _)| text)
    }

    /// Moves the choice: by 1 to the next, by -1 to the previous. Wraps around.
    pub(crate) fn step(&mut self, by: isize) {
        let count = isize::try_from(self.offers.len()).unwrap_or(isize::MAX);
        let at = isize::try_from(self.chosen).unwrap_or_default();
        self.chosen = usize::try_from((at + by).rem_euclid(count.max(1))).unwrap_or_default();
    }
}

/// Returns the completions for `word` at the cursor; `before` is the text before it. `None` if there are none.
pub(crate) fn menu(before: &str, word: &str, known: &Known<'_>) -> Option<Menu> {
    if let Some(name) = word.strip_prefix('/').filter(|_| before.is_empty()) {
        let offers = COMMANDS.iter().filter(|command| command.name.starts_with(name));
        let offers = offers.map(|it| (format!("/{}", it.name), it.about.to_owned())).collect();
        return Menu::of(Kind::Commands, offers);
    }
    let Some(wanted) = word.strip_prefix('@') else {
        let plain = |words: &[String]| words.iter().map(|it| (it.clone(), String::new())).collect();
        let values = |setting: Setting| {
            let values = setting.values().unwrap_or_default();
            values.iter().map(|it| ((*it).to_owned(), String::new())).collect()
        };
        let words: Vec<(String, String)> =
            match before.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["/model"] => plain(known.models),
                ["/mode"] => values(Setting::Mode),
                ["/approval"] => values(Setting::Approval),
                ["/thinking"] => values(Setting::Thinking),
                ["/config", "get" | "set" | "add" | "remove" | "unset"] => plain(known.keys),
                _ if Named::after(before).is_some() => known.named.to_vec(),
                _ => return None,
            };
        // A complete word needs no completion.
        let words = words.into_iter().filter(|(known, _)| known.contains(word) && known != word);
        return Menu::of(Kind::Words, words.take(MAX_OFFERS).collect());
    };
    let mut found: Vec<(usize, &String)> =
        known.files.iter().filter_map(|path| Some((rank(path, wanted)?, path))).collect();
    found.sort();
    let offers = found.into_iter().take(MAX_OFFERS);
    Menu::of(Kind::Files, offers.map(|(_, path)| (format!("@{path}"), String::new())).collect())
}

/// Returns the earlier messages that contain `text`, without duplicates, the latest first.
pub(crate) fn earlier(history: &[String], text: &str) -> Option<Menu> {
    let mut offers: Vec<(String, String)> = Vec::new();
    for message in history.iter().rev().filter(|message| message.contains(text)) {
        if offers.len() < MAX_OFFERS && offers.iter().all(|(offer, _)| offer != message) {
            offers.push((message.clone(), String::new()));
        }
    }
    Menu::of(Kind::Earlier, offers)
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
        let named = ["q8s0wd", "4tqk2c"].map(|id| (id.to_owned(), "a title".to_owned()));
        let known = Known { files: &files, models: &models, keys: &keys, named: &named };
        let menu = menu(before, word, &known);
        menu.into_iter().flat_map(|menu| menu.offers).map(|(text, _)| text).collect()
    }

    #[test]
    fn commands_are_completed_at_the_start_and_files_anywhere() {
        assert_eq!(offered("", "/ex"), ["/explain", "/exit"]);
        assert_eq!(offered("see ", "/ex"), [""; 0]);
        assert_eq!(offered("see ", "@lib"), ["@lib/x.py", "@src/lib.rs"]);
        assert_eq!(offered("see ", "@spr"), ["@src/parser.rs"]);
        assert_eq!(offered("see ", "lib"), [""; 0]);
        assert_eq!(offered("/model ", "pro"), ["deepseek-v4-pro"]);
        assert_eq!(offered("/mode ", "y"), ["yolo"]);
        assert_eq!(offered("/approval ", ""), ["suggest", "auto", "never"]);
        assert_eq!(offered("/resume ", "4t"), ["4tqk2c"]);
        assert_eq!(offered("/rewind ", ""), ["q8s0wd", "4tqk2c"]);
        assert_eq!(offered("/undo ", ""), [""; 0]);
        assert_eq!(offered("/config get ", "bud"), ["budget.usd"]);
        assert_eq!(offered("/config get ", "budget.usd"), [""; 0]);
    }

    #[test]
    fn earlier_messages_are_offered_once_with_the_latest_first() {
        let history = ["fix a", "ask b", "fix c", "fix a"].map(str::to_owned);
        let menu = earlier(&history, "fix").unwrap();
        assert_eq!(
            menu.offers.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
            ["fix a", "fix c"]
        );
    }
}
