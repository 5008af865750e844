//! A session as a trajectory in ATIF 1.8, in which agents are compared across harnesses. Each model call is a step with its tokens and
//! cost; each command and patch is a step without a model; each lane is a trajectory of its own. Pure.

use std::collections::BTreeMap;

use facts::event::{Blob, Event};
use facts::lane_id::LaneId;
use facts::words::Side;
use front::describe;
use journal::{RecordedCall, StagedPatch, Story, StoryEntry, Tally};
use model::price::Usd;
use model::{ModelReply, Usage};
use serde_json::{Map, Value, json};

/// The version of the format.
const VERSION: &str = "ATIF-v1.8";
const NOTES: &str = "Commands and patches are steps without a model call. A model that asks for something in lines of text has \
    what it was shown as an observation without a call. Costs are estimates from a price table.";

/// What is not in the events themselves.
pub(super) struct TrajectorySources<'s> {
    /// Returns kept text.
    pub(super) text: &'s dyn Fn(&Blob) -> String,
    /// Returns a patch as a diff.
    pub(super) diff: &'s dyn Fn(&StagedPatch) -> String,
}

/// Returns a session as a trajectory.
pub(super) fn trajectory(story: &Story, sources: &TrajectorySources<'_>) -> Value {
    let mut lanes: BTreeMap<Option<LaneId>, Steps> = BTreeMap::from([(None, Steps::default())]);
    for entry in &story.entries {
        if let Some(lane) = entry.lane.filter(|lane| !lanes.contains_key(&Some(*lane)))
            && let Some(whole) = lanes.get_mut(&None)
        {
            whole.add_lane(entry, lane);
        }
        lanes.entry(entry.lane).or_default().hear(story, entry, sources);
    }
    let summary = &story.summary;
    let model = story.entries.iter().find_map(|entry| Some(story.call(entry)?.model.as_str()));
    let agent = json!({ "name": "deepseek", "version": summary.version, "model_name": model });
    let mut whole = json!({
        "schema_version": VERSION,
        "session_id": summary.id,
        "agent": agent,
        "notes": NOTES,
        "extra": { "workspace": summary.workspace, "state": summary.state.to_string() },
    });
    let of_lanes: Vec<Value> = lanes
        .iter()
        .filter_map(|(lane, steps)| {
            let id = name_of((*lane)?);
            let steps = steps.numbered();
            Some(json!({ "schema_version": VERSION, "trajectory_id": id, "agent": agent, "steps": steps }))
        })
        .collect();
    if let Some(fields) = whole.as_object_mut() {
        let steps = lanes.get(&None).map(Steps::numbered).unwrap_or_default();
        fields.insert("final_metrics".to_owned(), totals(&summary.usage, steps.len()));
        fields.insert("steps".to_owned(), steps.into());
        if !of_lanes.is_empty() {
            fields.insert("subagent_trajectories".to_owned(), of_lanes.into());
        }
    }
    whole
}

fn name_of(lane: LaneId) -> String {
    format!("lane-{lane}")
}

/// Returns what all model calls used.
fn totals(usage: &Tally, steps: usize) -> Value {
    json!({
        "total_prompt_tokens": usage.prompt,
        "total_completion_tokens": usage.output,
        "total_cached_tokens": usage.hit,
        "total_cost_usd": usage.cost_nano_usd.map(Usd::dollars),
        "total_steps": steps,
        "extra": { "model_calls": usage.calls, "calls_of_unknown_cost": usage.calls_of_unknown_cost },
    })
}

/// The steps of one trajectory.
#[derive(Default)]
struct Steps(Vec<Map<String, Value>>);

impl Steps {
    /// Returns the steps with their numbers.
    fn numbered(&self) -> Vec<Value> {
        let steps = self.0.iter().zip(1_u64..);
        steps
            .map(|(step, number)| {
                let mut step = step.clone();
                step.insert("step_id".to_owned(), number.into());
                step.into()
            })
            .collect()
    }

    fn add(&mut self, entry: &StoryEntry, source: &str, message: &str, fields: Value) {
        let mut step = Map::new();
        step.insert("timestamp".to_owned(), entry.at.as_str().into());
        step.insert("source".to_owned(), source.into());
        step.insert("message".to_owned(), message.into());
        if let Value::Object(fields) = fields {
            step.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.0.push(step);
    }

    /// Adds something that was done without a model.
    fn add_deed(&mut self, entry: &StoryEntry, (name, arguments): (&str, Value), result: Value) {
        let id = format!("{name}-{}", entry.seq);
        let mut result = result;
        if let Some(result) = result.as_object_mut() {
            result.insert("source_call_id".to_owned(), id.as_str().into());
        }
        let call = json!({ "tool_call_id": id, "function_name": name, "arguments": arguments });
        let fields = json!({
            "llm_call_count": 0, "tool_calls": [call], "observation": { "results": [result] },
        });
        self.add(entry, "agent", "", fields);
    }

    fn add_lane(&mut self, entry: &StoryEntry, lane: LaneId) {
        let id = name_of(lane);
        let result = json!({ "subagent_trajectory_ref": [{ "trajectory_id": id }] });
        self.add_deed(entry, ("lane", json!({ "lane": lane.to_string() })), result);
    }

    /// Adds what a model was shown, to the step with the call if it was one.
    fn observe(&mut self, call: Option<&str>, content: &str) {
        let has_call = |step: &&mut Map<String, Value>| {
            let calls = step.get("tool_calls").and_then(Value::as_array);
            let is_it = |it: &Value| it.get("tool_call_id").and_then(Value::as_str) == call;
            call.is_none() || calls.is_some_and(|calls| calls.iter().any(is_it))
        };
        let is_of_model =
            |step: &&mut Map<String, Value>| step.get("llm_call_count") == Some(&json!(1));
        let Some(step) = self.0.iter_mut().rev().filter(is_of_model).find(has_call) else { return };
        let mut result = json!({ "content": content });
        if let (Some(call), Some(result)) = (call, result.as_object_mut()) {
            result.insert("source_call_id".to_owned(), call.into());
        }
        let observation = step.entry("observation").or_insert_with(|| json!({ "results": [] }));
        if let Some(results) = observation.get_mut("results").and_then(Value::as_array_mut) {
            results.push(result);
        }
    }

    /// Takes in the next event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are no steps")]
    fn hear(&mut self, story: &Story, entry: &StoryEntry, sources: &TrajectorySources<'_>) {
        let TrajectorySources { text, diff } = sources;
        let Some(event) = &entry.event else { return };
        match event {
            Event::TurnAdded { speaker: Side::User, text, .. }
            | Event::AutopilotBegan { task: text, .. } => {
                self.add(entry, "user", text, Value::Null);
            }
            Event::ModelReply { answer, .. } => {
                let answer = answer.as_ref().map(text);
                if let Some(call) = story.call(entry) {
                    self.add_reply(entry, call, answer.as_deref());
                }
            }
            Event::ToolResult { call, told, .. } => self.observe(Some(call), &text(told)),
            Event::Looked { told: Some(told), .. } => self.observe(None, &text(told)),
            Event::VerificationRun { command, exit, output, .. }
            | Event::CommandTried { command, exit, output, .. } => {
                let result = json!({ "content": format!("{exit}\n{}", text(output)) });
                self.add_deed(entry, ("run", json!({ "command": command })), result);
            }
            Event::PatchStaged { .. } => {
                if let Some(patch) = story.patch(entry) {
                    let said = if patch.applied { "applied" } else { "not applied" };
                    let arguments = json!({ "title": patch.title, "diff": diff(&patch) });
                    self.add_deed(entry, ("apply_patch", arguments), json!({ "content": said }));
                }
            }
            Event::ApprovalDenied { action, why, .. } => {
                self.add(entry, "system", &format!("denied {action}: {why}"), Value::Null);
            }
            Event::RunFinished { delivery, .. } => {
                self.add(entry, "system", &describe::outcome(delivery), Value::Null);
            }
            _ => {}
        }
    }

    /// Adds a model call that has ended.
    fn add_reply(&mut self, entry: &StoryEntry, call: &RecordedCall, answer: Option<&str>) {
        let Some(reply) = &call.reply else { return };
        let said = answer.and_then(|answer| serde_json::from_str::<ModelReply>(answer).ok());
        let cost = reply.cost_nano_usd.map(Usd::dollars);
        let metrics = reply.usage.map(|Usage { prompt, hit, output, .. }| {
            json!({
                "prompt_tokens": prompt,
                "completion_tokens": output,
                "cached_tokens": hit,
                "cost_usd": cost,
            })
        });
        let mut extra = json!({ "role": call.role.as_str(), "outcome": reply.outcome });
        if let (false, Some(extra)) = (reply.message.is_empty(), extra.as_object_mut()) {
            extra.insert("error".to_owned(), reply.message.as_str().into());
        }
        let calls = said.as_ref().map(|said| said.tool_calls.as_slice()).unwrap_or_default();
        let calls: Vec<Value> = calls
            .iter()
            .map(|it| {
                let arguments = serde_json::from_str::<Map<String, Value>>(&it.arguments);
                let arguments =
                    arguments.map_or_else(|_| json!({ "text": it.arguments }), Value::Object);
                json!({ "tool_call_id": it.id, "function_name": it.name, "arguments": arguments })
            })
            .collect();
        let calls = if calls.is_empty() { Value::Null } else { calls.into() };
        let reasoning = said.as_ref().and_then(|said| said.reasoning.as_deref());
        let fields = json!({
            "llm_call_count": 1,
            "model_name": call.model,
            "reasoning_content": reasoning,
            "tool_calls": calls,
            "metrics": metrics,
            "extra": extra,
        });
        let message = said.as_ref().map(|said| said.content.as_str()).unwrap_or_default();
        self.add(entry, "agent", message, fields);
    }
}
