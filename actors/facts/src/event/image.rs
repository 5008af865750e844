//! Images that a request names. Values only.

use std::fmt;

use images::ImageKind;
use serde::{Deserialize, Serialize};

use super::content::Blob;

/// An image that a request names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedImage {
    /// Its name, as the user wrote it.
    pub name: String,
    /// What came of reading it.
    #[serde(flatten)]
    pub read: ImageRead,
}

/// What came of reading an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageRead {
    /// It is shown to models that take images.
    Usable {
        /// The format.
        kind: ImageKind,
        /// The width, in pixels.
        width: u32,
        /// The height, in pixels.
        height: u32,
        /// True if it is smaller than the file. Absent if false.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        shrunk: bool,
        /// The content.
        image: Blob,
    },
    /// It is not shown.
    Refused {
        /// Why.
        why: String,
    },
}

impl NamedImage {
    /// Returns the content of an image that is shown.
    pub const fn content(&self) -> Option<&Blob> {
        if let ImageRead::Usable { image, .. } = &self.read { Some(image) } else { None }
    }

    /// Like [`Self::content`], to fill it in.
    pub const fn content_mut(&mut self) -> Option<&mut Blob> {
        if let ImageRead::Usable { image, .. } = &mut self.read { Some(image) } else { None }
    }
}

impl fmt::Display for NamedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.read {
            ImageRead::Usable { width, height, shrunk, .. } => {
                let shrunk = if *shrunk { ", shrunk" } else { "" };
                write!(f, "{} ({width}x{height}{shrunk})", self.name)
            }
            ImageRead::Refused { why } => write!(f, "{}: {why}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_one_table_in_the_journal() {
        let read = ImageRead::Refused { why: "it is damaged".into() };
        let refused = NamedImage { name: "a.png".into(), read };
        let json = serde_json::to_string(&refused).unwrap();
        assert_eq!(json, r#"{"name":"a.png","refused":{"why":"it is damaged"}}"#);
        let image = Blob::new("x");
        let (kind, shrunk) = (ImageKind::Png, true);
        let read = ImageRead::Usable { kind, width: 9, height: 8, shrunk, image };
        let usable = NamedImage { name: "a.png".into(), read };
        let json = serde_json::to_string(&usable).unwrap();
        assert!(json.starts_with(r#"{"name":"a.png","usable":{"kind":"png","width":9"#), "{json}");
        assert_eq!(usable.to_string(), "a.png (9x8, shrunk)");
        let read: NamedImage = serde_json::from_str(&json).unwrap();
        assert_eq!(read.content().unwrap().blob, usable.content().unwrap().blob);
    }
}
