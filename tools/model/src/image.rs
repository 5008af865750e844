//! Images in requests: which models take them, and how many tokens one is taken to be. Pure.

use std::fmt;
use std::sync::Arc;

use config::{ImageSettings, matches_pattern};
use serde::{Deserialize, Serialize};

/// An image in a message of the user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptImage {
    /// The name by which the user calls it, and its size in pixels.
    pub title: String,
    /// The content, as a `data:` URL.
    pub url: Arc<str>,
    /// The tokens that it is taken to be.
    pub tokens: u64,
}

impl PromptImage {
    /// Creates an image from its media type and its content in base64.
    pub fn new(title: String, (media_type, base64): (&str, &str), tokens: u64) -> Self {
        Self { title, url: format!("data:{media_type};base64,{base64}").into(), tokens }
    }
}

impl fmt::Debug for PromptImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PromptImage({}, {} bytes)", self.title, self.url.len())
    }
}

/// Returns true if a model takes images.
pub fn takes_images(settings: &ImageSettings, model: &str) -> bool {
    settings.models.iter().any(|pattern| matches_pattern(pattern, model))
}

/// Estimates the tokens of an image of this size.
pub fn image_tokens(settings: &ImageSettings, width: u32, height: u32) -> u64 {
    (u64::from(width) * u64::from(height)).div_ceil(settings.pixels_per_token.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_take_images_are_data() {
        let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
        for (model, takes) in [
            ("deepseek-flash", true),
            ("deepseek-v4.1-flash-1017", true),
            ("deepseek/deepseek-v4.1-flash", true),
            ("deepseek-v4-pro", false),
            ("qwen3-coder", false),
        ] {
            assert_eq!(takes_images(&llm.images, model), takes, "{model}");
        }
    }

    #[test]
    fn an_image_counts_by_its_pixels() {
        let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
        assert_eq!(image_tokens(&llm.images, 2048, 2048), 5593);
    }
}
