//! The help text of a command.

use crate::spec::{Flag, Spec};

/// One line for each flag, with what it is about in a second column.
pub fn help(spec: &Spec) -> String {
    let forms: Vec<String> = spec.flags.iter().map(form).collect();
    let width = forms.iter().map(|form| form.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (flag, form) in spec.flags.iter().zip(&forms) {
        text.push_str(&format!("  {form:<width$}  {}\n", flag.about));
    }
    text
}

fn form(flag: &Flag) -> String {
    let short = flag.short.map_or("    ".to_string(), |short| format!("-{short}, "));
    let value = if flag.takes_value { " VALUE" } else { "" };
    format!("{short}--{}{value}", flag.long)
}
