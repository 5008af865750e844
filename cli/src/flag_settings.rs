//! The configuration that the global flags set. Pure.

use config::SUBAGENTS;

use crate::flags::{Global, ThinkingFlag};

/// Returns the keys that the given flags set, with the flags and the values as TOML.
pub(crate) fn flag_settings(global: &Global) -> Vec<(&'static str, &'static str, String)> {
    let mut flags = Vec::new();
    if let Some(model) = &global.model {
        flags.push(("llm.max_think_model.model", "--model", quoted_toml(model)));
        flags.push(("llm.base_model.model", "--model", quoted_toml(model)));
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
