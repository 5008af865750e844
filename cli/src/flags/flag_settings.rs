//! The configuration that the global flags set. Pure.

use std::collections::BTreeSet;

use config::{SUBAGENTS, Settings};
use tui::ConversationSetting;

use crate::flags::{Global, ThinkingFlag};

/// Returns the keys that the given flags set, with the flags and the values as TOML.
pub(crate) fn flag_settings(global: &Global) -> Vec<(&'static str, &'static str, String)> {
    let mut flags = Vec::new();
    if let Some(model) = &global.model {
        flags.push(("llm.max_think_model.model", "--model", quoted_toml(model)));
        flags.push(("llm.base_model.model", "--model", quoted_toml(model)));
        flags.push(("missions.verdict_model", "--model", quoted_toml(model)));
        flags.push(("router.auto_max_think", "--model", "false".to_owned()));
    }
    if let Some(on) = global.thinking.and_then(ThinkingFlag::fixed) {
        flags.push(("llm.max_think_model.thinking", "--thinking", on.to_string()));
        flags.push(("llm.base_model.thinking", "--thinking", on.to_string()));
        flags.push(("llm.flash_model.thinking", "--thinking", on.to_string()));
        flags.push(("router.auto_max_think", "--thinking", "false".to_owned()));
    }
    if let Some(approval) = global.approval {
        flags.push(("policy.approval", "--approval", quoted_toml(approval.name())));
    }
    if global.yolo {
        flags.push(("policy.mode", "--yolo", quoted_toml("yolo")));
    }
    if global.hetun {
        flags.push(("policy.mode", "--hetun", quoted_toml("hetun")));
    }
    if global.network {
        flags.push(("sandbox.network", "--network", quoted_toml("host")));
    }
    if global.qa {
        flags.push(("qa.enabled", "--qa", "true".to_owned()));
    }
    if global.no_alt_screen {
        flags.push(("tui.alt_screen", "--no-alt-screen", quoted_toml("never")));
    }
    if global.mouse_capture {
        flags.push(("tui.mouse_capture", "--mouse-capture", "true".to_owned()));
    }
    if global.no_mouse_capture {
        flags.push(("tui.mouse_capture", "--no-mouse-capture", "false".to_owned()));
    }
    if global.no_sandbox {
        flags.push(("sandbox.mode", "--no-sandbox", quoted_toml("off")));
    }
    if let Some(usd) = global.budget_usd {
        flags.push(("budget.usd", "--budget-usd", format!("{usd:?}")));
    }
    if let Some(tokens) = global.budget_tokens {
        flags.push(("budget.tokens", "--budget-tokens", tokens.to_string()));
    }
    if let Some(mode) = global.teammate_mode {
        flags.push(("lanes.mode", "--teammate-mode", quoted_toml(mode.name())));
    }
    if let Some(asked) = global.max_subagents {
        let (number, _) = subagents(asked);
        flags.push(("lanes.max_subagents", "--max-subagents", number.to_string()));
    }
    flags
}

/// Clamps the requested number of subagents to the supported range, with a warning if that changes it.
pub(crate) fn subagents(asked: i64) -> (i64, Option<String>) {
    let (least, most) = (i64::from(*SUBAGENTS.start()), i64::from(*SUBAGENTS.end()));
    let bound = match asked {
        _ if asked < least => Some(format!("at least {least}; using {least}")),
        _ if asked > most => Some(format!("at most {most}; using {most}")),
        _ => None,
    };
    (asked.clamp(least, most), bound.map(|bound| format!("--max-subagents {asked}: {bound}")))
}

/// Quotes a string for TOML.
pub(crate) fn quoted_toml(text: &str) -> String {
    format!("{text:?}")
}

/// Returns true if the server may have models that are not in `llm.prices`.
pub(crate) fn has_other_models(settings: &Settings) -> bool {
    !settings.config.llm.base_url.starts_with("https://api.deepseek.com")
}

/// Checks a model given with `--model` like one given with `/model`.
pub(crate) fn check_model(settings: &Settings, model: &str) -> Result<(), String> {
    let models: Vec<String> = priced_models(settings).into_iter().collect();
    ConversationSetting::Model.check(model, &models, has_other_models(settings))
}

/// Returns the models and patterns that have a price.
pub(crate) fn priced_models(settings: &Settings) -> BTreeSet<String> {
    let keys = settings.values().iter().map(|(key, ..)| key);
    keys.filter_map(|key| {
        key.strip_prefix("llm.prices.")?.rsplit_once('.').map(|(model, _)| model.to_owned())
    })
    .collect()
}
