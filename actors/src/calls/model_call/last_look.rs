//! The last look at a model request before it is sent: mode and reasoning are as the user chose them for the run, and the
//! tools are those of the stage. Pure.

use config::ModelRole;
use facts::breach::Breach;
use model::{AgentRole, ToolOffer};
use toolbox::{finding_tools, is_own, is_server_tool, tools};

use crate::run::terms::Terms;

/// Returns how a request of `role` to the model of `settings` with these tools differs from the terms of the run.
pub(crate) fn breach(
    terms: &Terms,
    role: AgentRole,
    settings: &ModelRole,
    offers: &[ToolOffer],
) -> Option<Breach> {
    let config = &terms.config;
    if config.policy.mode != terms.chosen.mode {
        return Some(Breach::Mode);
    }
    let chosen = terms.chosen.thinking(role);
    // The user's standing consent to ask the model that thinks longest.
    let may_escalate = role == AgentRole::Analysis && config.router.auto_max_think;
    let escalated = may_escalate && *settings == config.llm.max_think_model;
    if settings.thinking != chosen && !escalated {
        return Some(Breach::Reasoning);
    }
    let may_offer = role == AgentRole::Analysis
        && config.llm.native_tools
        && config.agent_loop.max_look_rounds > 0;
    let is_allowed = |offer: &&ToolOffer| {
        let is_ours = tools().iter().any(|tool| tool.wire_name() == offer.name);
        let is_own = config.policy.mode != config::Mode::Plan && is_own(&offer.name);
        // Which of them may be called is decided at the call.
        let finds = finding_tools().iter().any(|tool| tool.wire_name() == offer.name);
        let is_of_server = is_server_tool(&offer.name) || finds;
        may_offer && (is_ours || is_own || is_of_server)
    };
    offers.iter().find(|offer| !is_allowed(offer)).map(|offer| Breach::Tool(offer.name.clone()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use config::{Inputs, Mode};

    use super::*;
    use crate::talk::prompts::Prompts;

    fn terms(flags: &[(&'static str, &str)]) -> Terms {
        let flags = flags.iter().map(|(key, value)| (*key, "test", (*value).to_owned())).collect();
        let config = config::resolve_layers(&Inputs { flags, ..Inputs::default() }).unwrap().config;
        Terms::new(Arc::new(config), Prompts::default()).unwrap()
    }

    #[test]
    fn a_request_that_differs_from_the_terms_of_its_run_is_found() {
        let terms = terms(&[]);
        let llm = &terms.config.llm;
        let (strong, base, none) = (&llm.max_think_model, &llm.base_model, []);
        let of = |role, settings, offers: &[ToolOffer]| breach(&terms, role, settings, offers);
        assert_eq!(of(AgentRole::Architect, strong, &none), None);
        assert_eq!(of(AgentRole::Architect, base, &none), Some(Breach::Reasoning));
        assert_eq!(of(AgentRole::Editor, strong, &none), Some(Breach::Reasoning));
        let offers = toolbox::offers(tools(), &[], &[]);
        assert_eq!(of(AgentRole::Analysis, base, &offers), None);
        assert_eq!(of(AgentRole::Analysis, strong, &offers), None, "by standing consent");
        let first = Some(Breach::Tool(offers[0].name.clone()));
        assert_eq!(of(AgentRole::Editor, base, &offers), first);
        let strange = ToolOffer { name: "fs_write".to_owned(), ..offers[0].clone() };
        let strange = breach(&terms, AgentRole::Analysis, base, &[strange]);
        assert_eq!(strange, Some(Breach::Tool("fs_write".to_owned())));
    }

    #[test]
    fn neither_mode_nor_reasoning_changes_after_the_run_began() {
        let begun = terms(&[]);
        let yolo = terms(&[("policy.mode", "\"yolo\"")]).config;
        let derived = Terms { config: yolo, ..begun.clone() };
        let base = derived.config.llm.base_model.clone();
        assert_eq!(derived.config.policy.mode, Mode::Yolo);
        assert_eq!(breach(&derived, AgentRole::Editor, &base, &[]), Some(Breach::Mode));
        let thinks = terms(&[("llm.base_model.thinking", "true")]).config;
        let base = thinks.llm.base_model.clone();
        let derived = Terms { config: thinks, ..begun };
        assert_eq!(breach(&derived, AgentRole::Editor, &base, &[]), Some(Breach::Reasoning));
    }
}
