//! The effect of a tool call. Its result is recorded exactly as the model receives it: `{ok, value | error}`.

use facts::event::{Blob, Event};
use model::{AgentRole, ToolCall};
use serde_json::json;
use toolbox::{Look, look_of};

use crate::calls::model_call::CallError;
use crate::looks::look_effect::{LookSources, look_up};
use crate::looks::look_result::LookResult;
use crate::run::Run;
use crate::run::effect::{Effect, Trace};

/// Parses a call, or returns what is wrong with it.
pub(crate) fn wanted(call: &ToolCall) -> Result<Look, String> {
    look_of(&call.name, &call.arguments).map_err(|bad| bad.to_string())
}

/// Formats the answer to a call that is not carried out.
pub(crate) fn refused(why: &str) -> String {
    json!({ "ok": false, "error": why }).to_string()
}

/// A call to be carried out.
pub(crate) struct ToolUse<'u> {
    pub(crate) role: AgentRole,
    pub(crate) sources: LookSources<'u>,
    pub(crate) call: &'u ToolCall,
    pub(crate) wanted: Result<Look, String>,
    /// The result, if it does not come from files.
    pub(crate) elsewhere: Option<LookResult>,
    /// Maximum size of the result in bytes.
    pub(crate) room: usize,
    /// Number of rounds with looks left after this one.
    pub(crate) rounds_left: u32,
}

impl Effect for ToolUse<'_> {
    type Outcome = String;
    type Stop = CallError;

    fn look(&mut self, event: &Event) -> Trace<String> {
        let Event::ToolResult { call, told, .. } = event else { return Trace::Absent };
        if *call != self.call.id {
            return Trace::Absent;
        }
        Trace::Done(String::from_utf8_lossy(&told.content).into_owned())
    }

    async fn act(&mut self, run: &Run) -> Result<String, CallError> {
        let found = match self.wanted.clone() {
            Ok(look) => {
                let elsewhere = vec![self.elsewhere.take()];
                let found = look_up(run, self.sources, vec![look], elsewhere, self.room).await;
                found.into_iter().next().unwrap_or_else(|| Err("nothing came of it".to_owned()))
            }
            Err(why) => Err(why),
        };
        let ok = found.is_ok();
        let told = match found {
            Ok(value) => json!({
                "ok": true,
                "value": run.redactor.redact(&value),
                "rounds_left": self.rounds_left,
            })
            .to_string(),
            Err(why) => refused(&run.redactor.redact(&why)),
        };
        let ToolCall { id, name, arguments } = self.call;
        let result = Event::ToolResult {
            role: self.role,
            call: id.clone(),
            tool: name.clone(),
            arguments: run.redactor.redact(arguments).into_owned(),
            ok,
            told: Blob::new(told.clone()),
        };
        run.publish(result).await?;
        Ok(told)
    }
}
