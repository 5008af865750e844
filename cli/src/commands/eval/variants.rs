//! The variants of an evaluation, as the command line names them.

use std::path::PathBuf;

use clap::Args;
use eval::Evaluation;
use front::error::{CliError, CliErrorKind};

use super::site::failed;
use crate::flags::Global;
use crate::surroundings::Surroundings;

/// Who works on the cases. Each model is combined with each build.
#[derive(Debug, Args)]
pub(super) struct VariantArgs {
    /// Judge this model; can be repeated [default: as configured].
    #[arg(id = "model", long, value_name = "MODEL")]
    models: Vec<String>,
    /// Judge these flags, for example --with "--model deepseek-v4-pro --thinking on"; can be repeated.
    #[arg(long, value_name = "FLAGS")]
    with: Vec<String>,
    /// Judge this build of deepseek; can be repeated [default: this one].
    #[arg(long, value_name = "FILE")]
    program: Vec<PathBuf>,
}

impl VariantArgs {
    /// Returns true if no variants are named.
    pub(super) const fn are_none(&self) -> bool {
        self.models.is_empty() && self.with.is_empty() && self.program.is_empty()
    }

    /// Adds the variants to an evaluation. Returns their names; without any named, those that it has.
    pub(super) async fn enter(
        &self,
        evaluation: &Evaluation,
        around: &Surroundings,
        global: &Global,
    ) -> Result<Vec<String>, CliError> {
        let known = evaluation.report().map(|report| report.variants).unwrap_or_default();
        let common = common_flags(global);
        if self.are_none() && common.is_empty() && !known.is_empty() {
            return Ok(known.into_iter().map(|it| it.variant.name).collect());
        }
        let mut all = Vec::new();
        for model in &self.models {
            all.push(vec!["--model".to_owned(), model.clone()]);
        }
        for flags in &self.with {
            let words = shlex::split(flags).ok_or_else(|| {
                CliError::new(
                    CliErrorKind::Usage,
                    format!("a quote is not closed in --with {flags}"),
                )
            })?;
            all.push(words);
        }
        if all.is_empty() {
            all.push(Vec::new());
        }
        let programs = if self.program.is_empty() {
            vec![Surroundings::program()?]
        } else {
            self.program.iter().map(|program| around.cwd.join(program)).collect()
        };
        let mut names = Vec::new();
        for program in &programs {
            for flags in &all {
                let flags = [common.clone(), flags.clone()].concat();
                let name = evaluation.enter(program, flags).await;
                names.push(name.map_err(|error| failed(&error))?);
            }
        }
        Ok(names)
    }
}

/// Returns the flags that all variants get.
fn common_flags(global: &Global) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut add = |name: &str, value: String| flags.extend([name.to_owned(), value]);
    for (key, value) in &global.set {
        add("--set", format!("{key}={value}"));
    }
    if let Some(profile) = &global.profile {
        add("--profile", profile.clone());
    }
    if let Some(config) = &global.config {
        add("--config", config.display().to_string());
    }
    if let Some(thinking) = global.thinking {
        add("--thinking", thinking.name().to_owned());
    }
    if let Some(tokens) = global.budget_tokens {
        add("--budget-tokens", tokens.to_string());
    }
    if let Some(mode) = global.teammate_mode {
        flags.push(format!("--teammate-mode={}", mode.name()));
    }
    if global.no_sandbox {
        flags.push("--no-sandbox".to_owned());
    }
    if global.network {
        flags.push("--network".to_owned());
    }
    flags
}
