//! Answers from elsewhere: a person, or another model, plays the models of variants. Each request is written to a directory,
//! and its reply is read from there. What was answered once can be played again to another build.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mock::{Behaviour, Options, ReceivedRequest, Replies, ScriptedReply, Server};
use serde_json::Value;
use tools::blocking::on_a_thread;
use tree::FileHash;

use crate::eval_error::EvalError;
use crate::results::guard::GuardReport;
use crate::results::place::{below, file_name};
use crate::results::record::AttemptResult;

/// How often a directory is searched for a reply.
const EVERY: Duration = Duration::from_millis(200);
/// The name of the file with a recorded result.
const RESULT: &str = "result.json";

/// Where replies come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswersFrom {
    /// Whoever watches the directory. The wait has no limit.
    Outside,
    /// The replies that are there already, each role's in their order.
    Recorded,
}

/// Receives the path of each request that waits for a reply.
pub type AnswerWait = Arc<dyn Fn(&Path) + Send + Sync>;

/// A directory of requests and replies.
pub struct AnswerDesk {
    dir: PathBuf,
    from: AnswersFrom,
    /// The models that are served.
    models: Vec<String>,
    /// The variable with the key.
    key: String,
    waiting: AnswerWait,
}

impl std::fmt::Debug for AnswerDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerDesk").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// The part of a desk for one case and variant: a server on loopback.
#[derive(Debug)]
pub(crate) struct OpenDesk {
    server: Server,
    dir: PathBuf,
    from: AnswersFrom,
    key: String,
}

impl AnswerDesk {
    /// Creates a desk in `dir`.
    pub fn new(
        dir: PathBuf,
        from: AnswersFrom,
        config: &config::Config,
        waiting: AnswerWait,
    ) -> Self {
        let models = config.llm.prices.keys().cloned().collect();
        Self { dir, from, models, key: config.llm.api_key_env.clone(), waiting }
    }

    /// Returns the directory of a case.
    fn of_case(&self, case: &str, variant: &str) -> PathBuf {
        let dir = below(self.dir.clone(), case);
        if variant == "default" { dir } else { dir.join(file_name(variant)) }
    }

    /// Opens the part for a case and a variant.
    pub(crate) async fn open(&self, case: &str, variant: &str) -> Result<OpenDesk, EvalError> {
        let dir = self.of_case(case, variant);
        let failed = {
            let dir = dir.clone();
            move |error| EvalError::File { path: dir, error }
        };
        if self.from == AnswersFrom::Outside {
            fs::create_dir_all(&dir).map_err(failed.clone())?;
        }
        let replies = match self.from {
            AnswersFrom::Outside => {
                let (dir, waiting) = (dir.clone(), Arc::clone(&self.waiting));
                Replies::asked(move |request| {
                    let (dir, waiting) = (dir.clone(), Arc::clone(&waiting));
                    async move {
                        let reply = asked(&dir, &request, &waiting).await;
                        reply.unwrap_or_else(|error| refused(&error))
                    }
                })
            }
            AnswersFrom::Recorded => {
                let left = Mutex::new(recorded(&dir).map_err(failed.clone())?);
                Replies::driven(move |request| {
                    let role = role_of(request);
                    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                    let next = left.get_mut(&role).filter(|replies| !replies.is_empty());
                    next.map_or_else(|| not_recorded(&role), |replies| replies.remove(0))
                })
            }
        };
        let options = Options { models: self.models.clone(), ..Options::default() };
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let started = Server::start(addr, replies, options, None).await;
        let server = started.map_err(|error| failed(io::Error::other(error)))?;
        Ok(OpenDesk { server, dir, from: self.from, key: self.key.clone() })
    }
}

impl OpenDesk {
    /// Returns the flags with which a variant waits as long as a person takes.
    pub(crate) fn flags() -> Vec<String> {
        const DAY: &str = "86400";
        let limits = [
            "llm.first_token_timeout_seconds",
            "llm.idle_timeout_seconds",
            "llm.call_timeout_seconds",
            "limits.role_timeout_seconds",
        ];
        let set = |key: &str| ["--set".to_owned(), format!("{key}={DAY}")];
        limits.into_iter().flat_map(set).collect()
    }

    /// Returns the variables that lead a variant here.
    pub(crate) fn access(&self) -> Vec<(String, String)> {
        vec![
            ("DEEPSEEK_BASE_URL".to_owned(), self.server.base_url()),
            ("DEEPSEEK_API_KEY".to_owned(), "answers".to_owned()),
            (self.key.clone(), "answers".to_owned()),
        ]
    }

    /// Keeps a result beside the replies that led to it.
    pub(crate) async fn keep_result(&self, result: &AttemptResult) -> Result<(), EvalError> {
        if self.from == AnswersFrom::Recorded {
            return Ok(());
        }
        let path = self.dir.join(RESULT);
        let text = serde_json::to_string_pretty(result).unwrap_or_default();
        let write = {
            let path = path.clone();
            on_a_thread(move || fs::write(path, text + "\n"))
        };
        write.await.map_err(|error| EvalError::File { path, error })
    }
}

/// Writes a request, and waits for its reply. A request that was answered before gets the same reply.
async fn asked(
    dir: &Path,
    request: &ReceivedRequest,
    waiting: &AnswerWait,
) -> io::Result<ScriptedReply> {
    let stem = {
        let (dir, request) = (dir.to_owned(), request.clone());
        on_a_thread(move || write_request(&dir, &request)).await?
    };
    let mut is_told = false;
    let mut seen = None;
    loop {
        let at = stem.clone();
        let now = on_a_thread(move || read_reply(&at)).await?;
        // A file that is still being written to differs the next time.
        match now {
            Some(reply) if seen.as_ref() == Some(&reply) => return Ok(reply),
            now => seen = now,
        }
        if !std::mem::replace(&mut is_told, true) && seen.is_none() {
            waiting(&stem.with_extension("request.md"));
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Writes a request as it was sent and as a text to read. Returns the path without the ending.
fn write_request(dir: &Path, request: &ReceivedRequest) -> io::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let hash = FileHash::of(&request.body);
    let mut number = 1;
    let stem = loop {
        let stem = dir.join(format!("{number:03}-{}", role_of(request)));
        let json = stem.with_extension("request.json");
        match fs::read(&json) {
            Ok(bytes) if FileHash::of(&bytes) == hash => return Ok(stem),
            _ if !is_numbered(dir, number)? => break stem,
            _ => number += 1,
        }
    };
    fs::write(stem.with_extension("request.json"), &request.body)?;
    // Whoever watches the directory sees the text whole, and last.
    let half = stem.with_extension("half");
    fs::write(&half, readable(request))?;
    fs::rename(half, stem.with_extension("request.md"))?;
    Ok(stem)
}

/// Returns true if a request has this number.
fn is_numbered(dir: &Path, number: usize) -> io::Result<bool> {
    let start = format!("{number:03}-");
    let names = fs::read_dir(dir)?.flatten().map(|entry| entry.file_name());
    Ok(names.into_iter().any(|name| name.to_string_lossy().starts_with(&start)))
}

/// Returns a request as a text: its messages, and the names of its tools.
fn readable(request: &ReceivedRequest) -> String {
    let mut text = String::new();
    for (role, content) in request.messages() {
        text.push_str(&format!("# {role}\n\n{content}\n\n"));
    }
    let tools = request.json.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        if let Some(name) = tool.pointer("/function/name").and_then(Value::as_str) {
            text.push_str(&format!("- tool: {name}\n"));
        }
    }
    text
}

/// Reads the reply to a request, if it is there: a text in `.reply.md`, or a reply as in a script of `deepseek mock` in
/// `.reply.json`.
fn read_reply(stem: &Path) -> io::Result<Option<ScriptedReply>> {
    let read = |ending: &str| match fs::read_to_string(stem.with_extension(ending)) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    if let Some(text) = read("reply.json")? {
        // Half of a file is no JSON.
        return Ok(serde_json::from_str(&text).ok());
    }
    Ok(read("reply.md")?.map(ScriptedReply::text))
}

/// Reads the recorded replies of a directory, by role, in order.
fn recorded(dir: &Path) -> io::Result<BTreeMap<String, Vec<ScriptedReply>>> {
    let names = fs::read_dir(dir)?.flatten().map(|entry| entry.path());
    let mut stems: Vec<PathBuf> = names
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let stem =
                name.strip_suffix(".reply.md").or_else(|| name.strip_suffix(".reply.json"))?;
            Some(dir.join(stem))
        })
        .collect();
    stems.sort();
    let mut all: BTreeMap<String, Vec<ScriptedReply>> = BTreeMap::new();
    for stem in stems {
        let name = stem.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let role = name.split_once('-').map_or(name.as_str(), |(_, role)| role).to_owned();
        // The names have no other dot.
        if let Some(reply) = read_reply(&stem)? {
            all.entry(role).or_default().push(reply);
        }
    }
    Ok(all)
}

/// Reads the recorded results below `dir`, each with the id of its case: the path of its directory. Blocks.
pub fn recorded_results(dir: &Path) -> io::Result<Vec<(String, AttemptResult)>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(dir.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if entry.file_name() == RESULT {
                let text = fs::read(entry.path())?;
                found.push((below.display().to_string(), serde_json::from_slice(&text)?));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// Writes the results of now over the recorded ones in `dir`. Blocks.
pub fn accept_results(dir: &Path, report: &GuardReport) -> io::Result<()> {
    for case in &report.cases {
        let Some(now) = &case.now else { continue };
        let text = serde_json::to_string_pretty(now)?;
        fs::write(dir.join(&case.case).join(RESULT), text + "\n")?;
    }
    Ok(())
}

fn role_of(request: &ReceivedRequest) -> String {
    file_name(request.header("x-agent-role").unwrap_or("model"))
}

fn not_recorded(role: &str) -> ScriptedReply {
    let text = format!("no further answer of the role {role} is recorded");
    ScriptedReply { text: Some(text), ..ScriptedReply::of(Behaviour::Http422) }
}

fn refused(error: &io::Error) -> ScriptedReply {
    let text = format!("the answer cannot be read: {error}");
    ScriptedReply { text: Some(text), ..ScriptedReply::of(Behaviour::Http422) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(role: &str, body: &str) -> ReceivedRequest {
        ReceivedRequest {
            number: 0,
            method: "POST".to_owned(),
            path: "/chat/completions".to_owned(),
            headers: vec![("x-agent-role".to_owned(), role.to_owned())],
            body: body.to_owned().into(),
            json: serde_json::from_str(body).unwrap(),
        }
    }

    #[test]
    fn a_request_is_written_once_and_numbered() {
        let dir = tempfile::tempdir().unwrap();
        let body = r#"{"messages":[{"role":"user","content":"Fix it."}],"tools":[{"function":{"name":"look"}}]}"#;
        let name = |role: &str, body: &str| {
            let stem = write_request(dir.path(), &request(role, body)).unwrap();
            stem.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("architect", body), "001-architect");
        assert_eq!(name("architect", body), "001-architect");
        assert_eq!(name("editor", body), "002-editor");
        assert_eq!(name("architect", "{}"), "003-architect");
        assert_eq!(name("editor", body), "002-editor");
        let text = fs::read_to_string(dir.path().join("001-architect.request.md")).unwrap();
        assert_eq!(text, "# user\n\nFix it.\n\n- tool: look\n");
    }

    #[test]
    fn recorded_replies_are_in_order_by_role() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("001-architect.reply.md", "plan");
        write("002-editor.reply.md", "diff");
        write("003-editor.reply.json", r#"{"text":"other","delay_ms":3}"#);
        write("result.json", "{}");
        let all = recorded(dir.path()).unwrap();
        let texts = |role: &str| {
            all[role].iter().map(|it| it.text.clone().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((texts("architect").as_str(), texts("editor").as_str()), ("plan", "diff other"));
    }
}
