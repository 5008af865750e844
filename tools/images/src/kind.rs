//! The formats of images that models take, recognized by their first bytes. Pure.

use serde::{Deserialize, Serialize};

/// The number of bytes that [`ImageKind::of`] needs.
pub const HEAD_BYTES: usize = 12;

/// A format of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF; models see its first picture.
    Gif,
    /// WebP.
    Webp,
}

impl ImageKind {
    /// Recognizes the format of a file by its first bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..HEAD_BYTES) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }

    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_recognized_by_its_content() {
        assert_eq!(ImageKind::of(b"\x89PNG\r\n\x1a\n...."), Some(ImageKind::Png));
        assert_eq!(ImageKind::of(b"RIFF....WEBPVP8 "), Some(ImageKind::Webp));
        for other in [&b"RIFF....WAVEfmt "[..], b"# not a picture", b"\x89PN", b""] {
            assert_eq!(ImageKind::of(other), None);
        }
    }
}
