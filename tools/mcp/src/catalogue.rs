//! Lists of tools for models that are not given the definitions, and the search in them. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toolbox::ServerTool;
use tools::count::counted;
use tools::words::words_of_name;

/// Returns one line per tool within `max_bytes`: first those that the user marked, with what they do; then names; then, for what
/// does not fit, one line per server with the number of its further tools.
pub fn catalogue(tools: &[ServerTool], max_bytes: usize) -> String {
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in tools {
        *servers.entry(tool.server.as_str()).or_default() += 1;
    }
    let rest = |server: &str, count: usize| {
        format!("{server}: {} more; find them with tool.find\n", counted(count, "tool"))
    };
    let kept: usize = servers.iter().map(|(server, count)| rest(server, *count).len()).sum();
    let mut room = max_bytes.saturating_sub(kept);
    let mut text = String::new();
    let (first, others): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.first);
    let lines = first.iter().map(|tool| with_purpose(tool));
    let lines = lines.chain(others.iter().map(|tool| format!("{}\n", tool.name)));
    for (tool, line) in first.iter().chain(&others).zip(lines) {
        if line.len() > room {
            break;
        }
        room -= line.len();
        text.push_str(&line);
        if let Some(left) = servers.get_mut(tool.server.as_str()) {
            *left -= 1;
        }
    }
    for (server, count) in servers.into_iter().filter(|(_, count)| *count > 0) {
        text.push_str(&rest(server, count));
    }
    text
}

/// Returns the tool with the first line of what it does.
fn with_purpose(tool: &ServerTool) -> String {
    const LONGEST: usize = 100;
    let purpose = tool.description.lines().next().unwrap_or_default();
    let purpose: String = purpose.chars().take(LONGEST).collect();
    format!("{}: {purpose}\n", tool.name)
}

/// Returns the definitions of the tools that fit the words best, within `max_bytes`: a tool whose name is among the words stands
/// first, then those that have more of the words in their names and purposes.
pub fn find_tools(tools: &[ServerTool], words: &str, max_bytes: usize) -> String {
    let wanted = parts(words);
    let score = |tool: &ServerTool| {
        let (name, purpose) = (parts(&tool.name), parts(&tool.description));
        let hits = |words: &[String]| wanted.iter().filter(|it| words.contains(it)).count();
        let is_named = words.split_whitespace().any(|word| word == tool.name);
        (is_named, hits(&name) * 2 + hits(&purpose))
    };
    let mut found: Vec<_> = tools.iter().map(|tool| (score(tool), tool)).collect();
    found.retain(|((is_named, hits), _)| *is_named || *hits > 0);
    found.sort_by_key(|(score, tool)| (std::cmp::Reverse(*score), &tool.name));
    if found.is_empty() {
        return format!("no tool fits these words; there are {}", counted(tools.len(), "tool"));
    }
    let mut text = String::new();
    for (_, ServerTool { name, description, parameters, .. }) in found {
        let entry = format!("{name}: {description}\narguments: {parameters}\n\n");
        if !text.is_empty() && text.len() + entry.len() > max_bytes {
            // Writing to a string does not fail.
            writeln!(text, "… and others; more specific words find them").ok();
            break;
        }
        text.push_str(&entry);
    }
    text
}

/// Returns the words of a text, in lower case.
fn parts(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).flat_map(words_of_name);
    words.map(str::to_lowercase).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(server: &str, name: &str, description: &str, first: bool) -> ServerTool {
        ServerTool {
            server: server.into(),
            tool: name.into(),
            name: toolbox::wire_name(server, name),
            description: description.into(),
            parameters: json!({ "type": "object" }),
            reads: true,
            destroys: false,
            first,
        }
    }

    #[test]
    fn two_hundred_tools_fit_and_the_marked_ones_stand_first() {
        let mut tools: Vec<ServerTool> = (0..200)
            .map(|it| tool(&format!("server{}", it % 5), &format!("do_thing_{it}"), "x", false))
            .collect();
        tools.push(tool("tickets", "search", "Finds tickets.\nWith more.", true));
        let text = catalogue(&tools, 4500);
        assert!(text.len() <= 4500, "{}", text.len());
        assert!(text.starts_with("mcp_tickets_search: Finds tickets.\nmcp_server0_do_thing_0\n"));
        assert!(text.contains("more; find them with tool.find"));
        assert!(!text.contains("tickets: 1"));
        let few = catalogue(&tools[..2], 4500);
        assert_eq!(few, "mcp_server0_do_thing_0\nmcp_server1_do_thing_1\n");
    }

    #[test]
    fn tools_are_found_by_name_and_by_words() {
        let tools = [
            tool("tickets", "createIssue", "Opens a ticket.", false),
            tool("tickets", "search", "Finds issues by words.", false),
            tool("git", "log", "Lists commits.", false),
        ];
        let names = |words: &str| -> Vec<String> {
            let found = find_tools(&tools, words, 10_000);
            let lines = found.lines().filter(|line| line.starts_with("mcp_"));
            lines.map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(names("create an issue")[0], "mcp_tickets_createIssue");
        assert_eq!(
            names("mcp_git_log"),
            ["mcp_git_log", "mcp_tickets_createIssue", "mcp_tickets_search"]
        );
        assert_eq!(names("commits"), ["mcp_git_log"]);
        assert!(find_tools(&tools, "weather", 100).contains("there are 3 tools"));
        assert!(find_tools(&tools, "tickets", 10).contains("and others"));
    }
}
