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
    let no = if flag.negatable { "[no-]" } else { "" };
    let value = match (flag.takes_value, flag.many) {
        (false, _) => "",
        (true, false) => " VALUE",
        (true, true) => " VALUE...",
    };
    format!("{short}--{no}{}{value}", flag.long)
}
