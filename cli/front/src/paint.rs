//! Colours for text on a terminal with a dark or light background. Pure.
//!
//! The colours are the terminal's own sixteen, which its user chose to be readable. On a light background some of them are still
//! too pale, so each is replaced by a darker one.

use anstyle::{AnsiColor, Color, Effects, Style};

use crate::diff::harmless;

/// How to format text for an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// For a terminal, with ANSI colours.
    Colour,
    /// For a terminal with a light background, with dark colours.
    OnLight,
    /// For a terminal, without colours.
    Plain,
    /// For programs: unchanged, including control characters.
    Raw,
}

impl Paint {
    /// Formats `text` in `style`; returns it unchanged if there are no colours.
    pub fn with(self, style: Style, text: &str) -> String {
        let style = match self {
            Self::Colour => style,
            Self::OnLight => on_light(style),
            Self::Plain | Self::Raw => return text.to_owned(),
        };
        format!("{style}{text}{style:#}")
    }

    /// Returns true if text is coloured.
    pub const fn is_coloured(self) -> bool {
        matches!(self, Self::Colour | Self::OnLight)
    }

    /// Adapts the colours, if there are any, to this background.
    #[must_use]
    pub const fn on(self, background: Background) -> Self {
        match (self, background) {
            (Self::Colour | Self::OnLight, Background::Light) => Self::OnLight,
            (Self::Colour | Self::OnLight, Background::Dark) => Self::Colour,
            (Self::Plain | Self::Raw, _) => self,
        }
    }

    /// Prepares content of a file. For a terminal, control characters are replaced.
    pub(crate) fn content(self, text: &str) -> String {
        match self {
            Self::Colour | Self::OnLight | Self::Plain => harmless(text),
            Self::Raw => text.to_owned(),
        }
    }
}

/// The background of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// A light colour.
    Light,
    /// A dark colour.
    Dark,
}

impl Background {
    /// Parses `COLORFGBG`, in which some terminals report the numbers of their colours; the last is the background. `None` if it
    /// is not one of the sixteen.
    pub fn of_variable(value: &str) -> Option<Self> {
        let number = value.rsplit(';').next()?.parse::<u8>().ok()?;
        match number {
            7 | 9..=15 => Some(Self::Light),
            0..=6 | 8 => Some(Self::Dark),
            16.. => None,
        }
    }

    /// Parses a terminal's reply to a query of its background: `rgb:ffff/ffff/ffff`, each part with one to four digits.
    pub fn of_reply(colour: &str) -> Option<Self> {
        const HALF: f64 = 0.5;
        let colour = colour.strip_prefix("rgb:").or_else(|| colour.strip_prefix("rgba:"))?;
        let mut parts = colour.split('/').map(|digits| {
            let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
            let part = u32::from_str_radix(digits, 16).ok()?;
            (most > 0).then(|| f64::from(part) / f64::from(most))
        });
        let [red, green, blue] = [parts.next()??, parts.next()??, parts.next()??];
        // Perceived brightness.
        let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
        Some(if brightness > HALF { Self::Light } else { Self::Dark })
    }
}

/// Converts a style to one that is readable on a light background. Terminals differ in how pale dimmed text is, so it is grey.
fn on_light(style: Style) -> Style {
    let is_dimmed = style.get_effects().contains(Effects::DIMMED);
    let colour = match style.get_fg_color() {
        None if is_dimmed => AnsiColor::BrightBlack,
        Some(Color::Ansi(colour)) => dark(colour),
        Some(Color::Ansi256(_) | Color::Rgb(_)) | None => return style,
    };
    let style = style.effects(style.get_effects().remove(Effects::DIMMED));
    style.fg_color(Some(colour.into()))
}

/// Returns the darkest colour with this meaning. Green has no darker one: additions and successes stay green.
const fn dark(colour: AnsiColor) -> AnsiColor {
    match colour {
        AnsiColor::Black => AnsiColor::Black,
        AnsiColor::Red | AnsiColor::BrightRed => AnsiColor::Red,
        AnsiColor::Green | AnsiColor::BrightGreen => AnsiColor::Green,
        AnsiColor::Yellow
        | AnsiColor::BrightYellow
        | AnsiColor::Magenta
        | AnsiColor::BrightMagenta => AnsiColor::Magenta,
        AnsiColor::Blue | AnsiColor::BrightBlue | AnsiColor::Cyan | AnsiColor::BrightCyan => {
            AnsiColor::Blue
        }
        AnsiColor::BrightBlack | AnsiColor::White | AnsiColor::BrightWhite => {
            AnsiColor::BrightBlack
        }
    }
}

#[cfg(test)]
mod tests {
    use anstyle::Ansi256Color;

    use super::*;

    /// The colours of xterm, which are paler than those of most light themes.
    const PALETTE: [[u8; 3]; 9] = [
        [0, 0, 0],
        [205, 0, 0],
        [0, 205, 0],
        [205, 205, 0],
        [0, 0, 238],
        [205, 0, 205],
        [0, 205, 205],
        [229, 229, 229],
        [127, 127, 127],
    ];

    /// Returns the contrast to white as WCAG 2 defines it.
    fn contrast(colour: [u8; 3]) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = colour.map(linear);
        1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    }

    #[test]
    fn colours_are_readable_on_a_light_background() {
        // WCAG 2 requires 3 of signs and large text.
        const MIN_CONTRAST: f64 = 3.0;
        for number in 0..16 {
            let colour = Ansi256Color(number).into_ansi().unwrap();
            let style = on_light(Style::new().fg_color(Some(colour.into())));
            let Some(Color::Ansi(shown)) = style.get_fg_color() else { panic!("{colour:?}") };
            let contrast = contrast(PALETTE[usize::from(Ansi256Color::from_ansi(shown).index())]);
            let is_kept = shown == AnsiColor::Green;
            assert!(is_kept || contrast >= MIN_CONTRAST, "{colour:?}: {contrast:.2}");
        }
    }

    #[test]
    fn on_light_dimmed_text_is_grey_and_bold_stays_bold() {
        let quiet = Paint::OnLight.with(Style::new().dimmed(), "x");
        assert_eq!(quiet, "\x1b[90mx\x1b[0m");
        let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into())).bold();
        assert_eq!(Paint::OnLight.with(cyan, "x"), "\x1b[1m\x1b[34mx\x1b[0m");
        assert_eq!(Paint::Colour.with(cyan, "x"), "\x1b[1m\x1b[36mx\x1b[0m");
        assert_eq!(Paint::Plain.on(Background::Light).with(cyan, "x"), "x");
    }

    #[test]
    fn the_background_is_read_from_replies_and_from_the_environment() {
        use Background::{Dark, Light};
        for (reply, background) in [
            ("rgb:ffff/ffff/ffff", Some(Light)),
            ("rgb:fd/f6/e3", Some(Light)),
            ("rgb:0/0/0", Some(Dark)),
            ("rgba:0000/2b2b/3636/ffff", Some(Dark)),
            ("rgb:ffff/ffff", None),
            ("rgb:/ff/ff", None),
            ("rgb:g/0/0", None),
            ("#ffffff", None),
        ] {
            assert_eq!(Background::of_reply(reply), background, "{reply}");
        }
        for (value, background) in [
            ("0;15", Some(Light)),
            ("0;default;7", Some(Light)),
            ("15;0", Some(Dark)),
            ("12;8", Some(Dark)),
            ("0;default", None),
            ("", None),
        ] {
            assert_eq!(Background::of_variable(value), background, "{value}");
        }
    }
}
