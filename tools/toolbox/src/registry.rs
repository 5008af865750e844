//! The list of tools.

use model::ToolOffer;
use tree::FileHash;

use crate::look::Look;
use crate::own::{OwnTool, is_own};
use crate::server_tool::{ServerTool, is_server_tool};
use crate::tool::{BadCall, Tool};
use crate::{
    fs_list, fs_read, fs_search_rg, git_diff, git_show, git_status, index_query, rlm_run,
    symbol_find, tool_call, tool_find, user_ask,
};

/// Those that read the workspace come first.
static TOOLS: [Tool; 10] = [
    fs_list::TOOL,
    fs_read::TOOL,
    fs_search_rg::TOOL,
    git_status::TOOL,
    git_diff::TOOL,
    git_show::TOOL,
    index_query::TOOL,
    symbol_find::TOOL,
    rlm_run::TOOL,
    user_ask::TOOL,
];

/// For tools of servers, if there are more than are offered.
static FINDING: [Tool; 2] = [tool_find::TOOL, tool_call::TOOL];

/// Returns all tools, in the order in which they are offered.
pub fn tools() -> &'static [Tool] {
    &TOOLS
}

/// Returns the tools that read the workspace, without those that run programs or ask the user.
pub fn reading_tools() -> &'static [Tool] {
    let others = [rlm_run::TOOL.name, user_ask::TOOL.name];
    let count = TOOLS.iter().take_while(|tool| !others.contains(&tool.name)).count();
    TOOLS.get(..count).unwrap_or_default()
}

/// Returns the tools that find and call tools of servers.
pub fn finding_tools() -> &'static [Tool] {
    &FINDING
}

/// Finds a tool by its name, in either spelling.
pub fn tool_named(name: &str) -> Result<&'static Tool, BadCall> {
    let is_it = |tool: &&Tool| tool.name == name || tool.wire_name() == name;
    tools().iter().chain(&FINDING).find(is_it).ok_or_else(|| {
        let known: Vec<&str> = tools().iter().map(|tool| tool.name).collect();
        BadCall::NoTool { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Parses a call: of one of [`tools`], or of a tool of the workspace or a server, whether it exists or not.
pub fn look_of(name: &str, arguments: &str) -> Result<Look, BadCall> {
    if is_own(name) {
        return Ok(Look::Own { name: name.to_owned(), arguments: arguments.to_owned() });
    }
    if is_server_tool(name) {
        return Ok(Look::ServerTool { name: name.to_owned(), arguments: arguments.to_owned() });
    }
    tool_named(name)?.read(arguments)
}

/// Returns the tools as they are offered in a request, followed by those of the workspace and of servers.
pub fn offers(tools: &[Tool], own: &[OwnTool], of_servers: &[ServerTool]) -> Vec<ToolOffer> {
    let offer = |tool: &Tool| ToolOffer {
        name: tool.wire_name(),
        description: tool.description.to_owned(),
        parameters: tool.schema(),
    };
    let of_workspace = |tool: &OwnTool| ToolOffer {
        name: tool.wire_name(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    };
    let of_server = |tool: &ServerTool| ToolOffer {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    };
    let all = tools.iter().map(offer).chain(own.iter().map(of_workspace));
    all.chain(of_servers.iter().map(of_server)).collect()
}

/// Returns the SHA-256 of the offered tools.
pub fn schema_hash(offers: &[ToolOffer]) -> String {
    let json = serde_json::to_vec(offers).unwrap_or_default();
    FileHash::of(&json).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str, arguments: &str) -> Result<String, String> {
        look_of(name, arguments).map(|look| look.to_string()).map_err(|bad| bad.to_string())
    }

    #[test]
    fn what_is_offered_is_a_schema_of_each() {
        let offers = offers(tools(), &[], &[]);
        insta::assert_snapshot!(serde_json::to_string_pretty(&offers).unwrap());
        let is_wire = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(offers.iter().all(|offer| offer.name.chars().all(is_wire)));
        assert_eq!(schema_hash(&offers).len(), 64);
    }

    #[test]
    fn valid_calls_are_parsed() {
        for (name, arguments, expected) in [
            ("fs.list", "", "./"),
            ("fs_list", r#"{"directory":"src/"}"#, "src/"),
            ("fs_list", r#"{"directory":null}"#, "./"),
            ("fs_list", r#"{"path":"src"}"#, "src/"),
            ("fs_read", r#"{"path":"./a.rs"}"#, "a.rs"),
            ("fs_read", r#"{"path":"a.rs","first_line":3,"last_line":9}"#, "a.rs:3-9"),
            ("fs_read", r#"{"path":"a.rs","first_line":3}"#, "a.rs:3-"),
            ("fs_read", r#"{"path":"a.rs","last_line":3}"#, "a.rs:1-3"),
            ("fs_read", r#"{"path":"a.rs","first_line":"3","last_line":"9"}"#, "a.rs:3-9"),
            ("fs_read", r#"{"path":"a.rs","first_line":null,"last_line":""}"#, "a.rs"),
            ("fs_read", r#"{"path":"src/a.rs:10-40"}"#, "src/a.rs:10-40"),
            ("fs_read", r#"{"path":"src/a.rs:10"}"#, "src/a.rs:10-10"),
            ("fs_read", r#"{"path":"a.rs:10-40","first_line":3,"last_line":9}"#, "a.rs:3-9"),
            ("fs_search_rg", r#"{"pattern":"fn a","glob":"*.rs"}"#, "`fn a` in *.rs"),
            ("symbol_find", r#"{"name":"A::b"}"#, "symbol A::b"),
            ("git_status", "{}", "git status"),
            ("git_diff", "{}", "git diff of uncommitted changes"),
            ("git_diff", r#"{"staged":true,"path":"a"}"#, "git diff of staged changes in a"),
            ("git_diff", r#"{"range":"HEAD~2"}"#, "git diff of HEAD~2"),
            ("git_show", r#"{"revision":"HEAD"}"#, "git show HEAD"),
            ("git_show", r#"{"revision":"v1","path":"a.rs"}"#, "git show v1:a.rs"),
            (
                "git_show",
                r#"{"revision":"v1","path":"a.rs","first_line":2}"#,
                "git show v1:a.rs:2-",
            ),
            ("git_show", r#"{"revision":"v1","path":"a.rs:2-5"}"#, "git show v1:a.rs:2-5"),
            ("index_query", r#"{"words":"where is it"}"#, "files about \"where is it\""),
            ("mcp_git_log", r#"{"n":1}"#, r#"mcp_git_log {"n":1}"#),
            ("tool_find", r#"{"words":"open a ticket"}"#, "tools for \"open a ticket\""),
            (
                "tool_call",
                r#"{"name":"mcp_git_log","arguments":{"n":1}}"#,
                r#"mcp_git_log {"n":1}"#,
            ),
            ("tools.lint", r#"{"file":"a"}"#, r#"tools.lint {"file":"a"}"#),
            (
                "rlm_run",
                r#"{"program":"len(files())","paths":["src/"]}"#,
                "a program of 1 line over src/",
            ),
            ("user_ask", r#"{"question":"Which?"}"#, "question \"Which?\""),
        ] {
            assert_eq!(look(name, arguments).as_deref(), Ok(expected), "{name} {arguments}");
        }
    }

    #[test]
    fn an_error_says_how_to_call_the_tool() {
        for (name, arguments, expected) in [
            ("fs_write", "{}", "no tool `fs_write`; the tools are fs.list, fs.read"),
            ("fs_read", "", "column 2; it takes path [first_line] [last_line]"),
            ("fs_read", "{", "the arguments of fs.read are wrong: EOF"),
            ("fs_read", "[]", "the arguments of fs.read are wrong"),
            ("fs_read", r#"{"path":7}"#, "expected a string"),
            ("fs_read", r#"{"path":"a","encoding":"x"}"#, "unknown field `encoding`"),
            ("fs_read", r#"{"path":"../a"}"#, "out of the workspace"),
            ("fs_read", r#"{"path":"/etc/passwd"}"#, "relative to the workspace"),
            ("fs_read", "{\"path\":\"a\\u0000b\"}", "control character"),
            ("fs_read", r#"{"path":"a","first_line":0}"#, "from one"),
            ("fs_read", r#"{"path":"a","first_line":9,"last_line":3}"#, "from one"),
            ("fs_read", r#"{"path":"a","first_line":-1}"#, "invalid value"),
            ("fs_read", r#"{"path":"a","first_line":"ten"}"#, "`ten` is not a line number"),
            ("fs_read", r#"{"path":"a:1-2,5-6"}"#, "only one range per call"),
            ("fs_list", r#"{"directory":".."}"#, "out of the workspace"),
            ("fs_search_rg", r#"{"pattern":" "}"#, "`pattern` is empty"),
            ("git_diff", r#"{"range":"--output=x"}"#, "a revision is"),
            ("git_diff", r#"{"range":"HEAD","staged":true}"#, "either"),
            ("git_show", r#"{"revision":""}"#, "a revision is"),
            ("git_status", r#"{"all":true}"#, "it takes no arguments"),
            ("rlm_run", r#"{"program":"\n"}"#, "`program` is empty"),
            ("user_ask", r#"{"question":""}"#, "`question` is empty"),
            ("tool_call", r#"{"name":"fs_read"}"#, "`fs_read` is no tool that tool_find finds"),
        ] {
            let error = look(name, arguments).unwrap_err();
            assert!(error.contains(expected), "{name} {arguments}: {error}");
        }
    }

    #[test]
    fn a_look_survives_serialization() {
        let look = tool_named("git.show").unwrap().read(r#"{"revision":"a","path":"b"}"#).unwrap();
        let json = serde_json::to_string(&look).unwrap();
        assert_eq!(serde_json::from_str::<Look>(&json).unwrap(), look);
    }
}
