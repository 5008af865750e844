//! The effect of gathering what a request begins with: evidence from files, and memos about the workspace.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use actors::talk::brief::Brief;
use checks::derive::{Project, derive};
use facts::delivery::{Delivery, FailureKind};
use facts::event::{Blob, Event, NamedImage};
use facts::words::RequestIntent;
use index::Index;
use policy::{PolicyRules, Verdict};
use search::{EvidenceOptions, Spread};
use tools::blocking::on_a_thread;
use tools::encoding::decode;
use tools::redact::values_in;
use tree::{Entry, RepoPath};

use crate::request::evidence;
use crate::request::routing;
use crate::session::memory::{self, Memo, Memory};

/// The effect of gathering evidence for a request.
pub(crate) struct Gathering {
    /// The user's request.
    pub(crate) request: String,
    /// The search terms.
    pub(crate) about: String,
    pub(crate) index: Index,
    /// Limits of the evidence.
    pub(crate) options: EvidenceOptions,
    /// The text about earlier turns.
    pub(crate) earlier: String,
    /// Where the memory is, and which session uses it.
    pub(crate) memory: Recall,
    /// The images that the request names: they are shown apart, or it is said why not.
    pub(crate) images: Vec<NamedImage>,
}

/// Returns the limits of the evidence for a request: smaller if the model that answers can use tools.
pub(crate) fn begins_with(run: &Run, intent: RequestIntent) -> EvidenceOptions {
    let bounds = &run.config().agent_loop;
    let (tokens, spread) = match intent {
        RequestIntent::Review => (bounds.question_tokens, Spread::Named),
        RequestIntent::Answer if routing::may_look(run) => (bounds.question_tokens, Spread::Deep),
        RequestIntent::Answer
        | RequestIntent::Edit
        | RequestIntent::Plan
        | RequestIntent::Mission => (bounds.evidence_tokens, Spread::Whole),
    };
    let small_tree_tokens = match spread {
        Spread::Whole => bounds.small_tree_tokens,
        Spread::Deep | Spread::Named => bounds.small_tree_tokens.min(tokens),
    };
    let instruction_tokens = bounds.instruction_tokens;
    EvidenceOptions { tokens, instruction_tokens, small_tree_tokens, spread }
}

/// Where the memory of a workspace is, and which session uses it.
#[derive(Clone)]
pub(crate) struct Recall {
    pub(crate) file: PathBuf,
    /// The session whose memos are left out: its turns are shown anyway.
    pub(crate) session: String,
}

impl Recall {
    /// Renders the memos, which follow the earlier turns. An unreadable memory counts as empty. Blocks.
    pub(crate) fn told(&self, run: &Run, request: &str, index: &Index) -> String {
        let bounds = &run.config().memory;
        if !bounds.enabled {
            return String::new();
        }
        let memory = Memory::read(&self.file).unwrap_or_else(|error| {
            tracing::warn!(%error, file = %self.file.display(), "the memory cannot be read");
            Memory::default()
        });
        let holds = |memo: &Memo| memory::memo_holds(index.tree(), index.max_file_bytes(), memo);
        memory.told(run.prompts(), (&self.session, request), bounds.max_tokens, holds)
    }
}

impl Gathering {
    /// Builds the brief from an event that records evidence.
    fn brief(&self, gathered: &Event) -> Option<Brief> {
        let Event::EvidenceGathered { text, workspace, earlier, .. } = gathered else {
            return None;
        };
        let said = |blob: Option<&Blob>| {
            blob.map(|it| String::from_utf8_lossy(&it.content).into_owned()).unwrap_or_default()
        };
        Some(Brief {
            workspace: said(workspace.as_ref()),
            earlier: said(earlier.as_ref()),
            evidence: said(Some(text)),
            request: self.request.clone(),
            ..Brief::default()
        })
    }
}

impl Effect for Gathering {
    type Outcome = Brief;
    type Stop = Delivery;

    fn look(&mut self, event: &Event) -> Trace<Brief> {
        self.brief(event).map_or(Trace::Absent, Trace::Done)
    }

    async fn act(&mut self, run: &Run) -> Result<Brief, Delivery> {
        let (about, index, options) = (self.about.clone(), self.index.clone(), self.options);
        let (memory, asked_by) = (self.memory.clone(), run.clone());
        let gathered = tokio::task::spawn_blocking(move || {
            let checks = derived_checks(&index, &asked_by);
            let memos = memory.told(&asked_by, &about, &index);
            (search::gather(&about, &index, &options, &checks), memos)
        });
        let died = |_| Delivery::failed(FailureKind::Internal, "gathering evidence failed");
        let (mut evidence, memos) = gathered.await.map_err(died)?;
        let is_image = |left_out: &str| {
            self.images.iter().any(|image| {
                left_out.strip_prefix(&image.name).is_some_and(|why| why.starts_with(": "))
            })
        };
        evidence.omitted.retain(|left_out| !is_image(left_out));
        let told = [self.earlier.as_str(), &memos].into_iter().filter(|text| !text.is_empty());
        let earlier = told.collect::<Vec<_>>().join("\n\n");
        let gathered = evidence::gathered(run.prompts(), &run.redactor, &evidence, &earlier);
        let brief = self.brief(&gathered).unwrap_or_default();
        run.publish(gathered).await?;
        Ok(brief)
    }
}

/// Returns the values in secret files of a workspace.
pub(crate) async fn secrets_in(dir: PathBuf, rules: Arc<PolicyRules>) -> BTreeSet<String> {
    on_a_thread(move || {
        let is_secret = |path: &str| matches!(rules.may_read(path), Verdict::Deny { .. });
        let texts = tree::secret_texts(&dir, &is_secret);
        texts.iter().flat_map(|text| values_in(text)).collect()
    })
    .await
}

/// Derives the commands that check a change if the plan names none, as far as they can be started here. Blocks.
fn derived_checks(index: &Index, run: &Run) -> Vec<String> {
    const MOST_NAMES: usize = 10_000;
    let path = |name: &str| RepoPath::parse(name).ok().filter(|path| index.may_read(path));
    let entry = |name: &str| index.tree().entry(&path(name)?, index.max_file_bytes()).ok();
    let read = |name: &str| match entry(name)? {
        Entry::File(state) => Some(decode(&state.bytes)?.text.into_owned()),
        Entry::Missing
        | Entry::Directory
        | Entry::Symlink
        | Entry::TooLarge { .. }
        | Entry::Other => None,
    };
    let exists = |name: &str| !matches!(entry(name), Some(Entry::Missing) | None);
    let names = |dir: &str| index.tree().names(RepoPath::parse(dir).ok().as_ref(), MOST_NAMES);
    let has_program = |name: &str| run.env.finds(name);
    let project =
        Project { read: &read, exists: &exists, names: &names, has_program: &has_program };
    let mut checks = derive(&project, &run.config().projects);
    checks.retain(|command| project.can_start(command));
    checks
}
