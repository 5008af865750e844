//! The workspace as a run sees it: directly readable; everything else is a request to the orchestrator.

use std::sync::Arc;

use actors::Unanswered;
use actors::mailbox::Mailbox;
use actors::run::workspace::{
    CommitRefused, Copied, Denied, Extent, NoCopy, Purpose, Staged, Unapproved, Workspace,
    Workspaces,
};
use facts::scope::Scope;
use futures_util::future::BoxFuture;
use missions::card::grant::Grant;
use policy::ToolKind;
use shell::CommandLine;
use tree::{Change, FileThen, ReadTree, RepoPath};

use crate::root::Msg;
use crate::workspace::copy::Copies;

/// The workspace as crews see it: directly readable; everything else is a request.
#[derive(Clone)]
pub(crate) struct MainWorkspace {
    /// The run or lane that requests something.
    pub(crate) scope: Scope,
    pub(crate) reader: ReadTree,
    pub(crate) mailbox: Mailbox<Msg>,
    pub(crate) copies: Copies,
    /// The permissions of a mission's approved card.
    pub(crate) grant: Option<Arc<Grant>>,
}

impl Workspaces for MainWorkspace {
    fn of(&self, scope: &Scope) -> Arc<dyn Workspace> {
        Arc::new(Self { scope: scope.clone(), ..self.clone() })
    }
}

impl Workspace for MainWorkspace {
    fn reader(&self) -> &ReadTree {
        &self.reader
    }

    fn is_approved(&self) -> bool {
        self.grant.is_some()
    }

    fn beyond(&self, files: &[RepoPath], commands: &[String]) -> Option<Unapproved> {
        self.grant.as_ref()?.beyond_plan(files, commands)
    }

    fn commit_patch_set(&self, staged: Staged) -> BoxFuture<'_, Result<Extent, CommitRefused>> {
        let run = self.scope.run().map(str::to_owned);
        Box::pin(commit(&self.mailbox, run, staged))
    }

    fn permit<'a>(
        &'a self,
        command: &'a CommandLine,
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(async move {
            let (scope, command) = (self.scope.clone(), command.clone());
            let ask = |reply| Msg::Permit { scope, command, purpose, reply };
            answer_or_end(self.mailbox.call("permit", ask, None).await).await
        })
    }

    fn permit_tool(&self, kind: ToolKind, call: String) -> BoxFuture<'_, Result<(), Denied>> {
        Box::pin(async move {
            let scope = self.scope.clone();
            let ask = |reply| Msg::PermitTool { scope, kind, call, reply };
            answer_or_end(self.mailbox.call("permit tool", ask, None).await).await
        })
    }

    fn copied<'a>(
        &'a self,
        files: &'a [FileThen],
    ) -> BoxFuture<'a, Result<Box<dyn Copied>, NoCopy>> {
        Box::pin(self.copies.of(&self.reader, files))
    }

    fn approve<'a>(
        &'a self,
        patch: &'a str,
        changes: &'a [Change],
    ) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(async move {
            // The run's own patches need approval when they are committed.
            if self.scope.lane().is_none() {
                return Ok(());
            }
            let (scope, id, changes) = (self.scope.clone(), patch.to_owned(), changes.to_vec());
            let ask = |reply| Msg::Approve { scope, patch: id, changes, reply };
            answer_or_end(self.mailbox.call("approve", ask, None).await).await
        })
    }
}

/// Returns the answer of the root. It answers nothing for a run that is over: whoever asked is being stopped, and must not
/// conclude anything from the silence, since a replay would not.
async fn answer_or_end(answer: Result<Result<(), Denied>, Unanswered>) -> Result<(), Denied> {
    match answer {
        Ok(answer) => answer,
        Err(_) => std::future::pending().await,
    }
}

/// Writes a patch set to the main tree; without a run, the user requested it directly.
pub(crate) async fn commit(
    mailbox: &Mailbox<Msg>,
    run: Option<String>,
    staged: Staged,
) -> Result<Extent, CommitRefused> {
    let staged = Box::new(staged);
    let message = |reply| Msg::Commit { run, staged, reply };
    mailbox.call("commit", message, None).await.unwrap_or(Err(CommitRefused::Gone))
}
