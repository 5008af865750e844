//! Decodes an image and shrinks it until it keeps its bounds. Pure; what calls it decides where it runs.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageReader, Limits};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::kind::ImageKind;

/// Upper limit of [`ImageBounds::max_base64_bytes`].
pub const MAX_BASE64_BYTES: u64 = 40 << 20;
/// The most pixels that are decoded.
const MAX_PIXELS: u64 = 100_000_000;
/// The most memory that a decoder may allocate, in bytes; the process may have a little more.
const MAX_DECODED_BYTES: u64 = 192 << 20;
/// Qualities of JPEG that are tried, and how often the sides are halved after that.
const QUALITIES: [u8; 2] = [85, 60];
const HALVINGS: u32 = 6;

/// How large an image may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageBounds {
    /// Its length in base64, in bytes.
    pub max_base64_bytes: u64,
    /// Its width and its height, in pixels.
    pub max_side: u32,
}

/// An image that keeps its bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedImage {
    /// The format.
    pub kind: ImageKind,
    /// The width, in pixels.
    pub width: u32,
    /// The height, in pixels.
    pub height: u32,
    /// The new content; `None` if the image fits as it is.
    pub shrunk: Option<Vec<u8>>,
}

/// Why an image cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum ImageError {
    /// It is not an image.
    #[error("it is no image")]
    NoImage,
    /// It has too many pixels.
    #[error("{width}x{height} pixels are more than {} million", MAX_PIXELS / 1_000_000)]
    Pixels {
        /// The width.
        width: u32,
        /// The height.
        height: u32,
    },
    /// It takes more memory than the process may have.
    #[error("it takes too much memory")]
    Memory,
    /// It takes more time than the process may have.
    #[error("it takes too long to decode")]
    TimedOut,
    /// It is damaged.
    #[error("it is damaged")]
    Damaged,
    /// It cannot be made small enough.
    #[error("it cannot be made small enough")]
    TooLarge,
    /// The process could not be started, or died.
    #[error("it could not be decoded")]
    Died,
}

/// Returns the base64 form of bytes.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes an image. Returns it as it is if it keeps the bounds, and shrunk otherwise.
pub(crate) fn fitted(bytes: &[u8], bounds: ImageBounds) -> Result<FittedImage, ImageError> {
    let kind = ImageKind::of(bytes).ok_or(ImageError::NoImage)?;
    let (decoded, orientation) = decoded(bytes)?;
    let (width, height) = (decoded.width(), decoded.height());
    let fits = |length: usize| (length as u64).div_ceil(3) * 4 <= bounds.max_base64_bytes;
    if fits(bytes.len()) && width.max(height) <= bounds.max_side {
        return Ok(FittedImage { kind, width, height, shrunk: None });
    }
    let mut side = bounds.max_side.min(width.max(height));
    let mut small = within(decoded, side);
    // What is written anew says nothing about how it was held.
    small.apply_orientation(orientation);
    for _ in 0..=HALVINGS {
        for kind in forms(&small) {
            let shrunk = encoded(&small, kind)?;
            if fits(shrunk.len()) {
                let (width, height) = (small.width(), small.height());
                let kind = if kind.is_some() { ImageKind::Jpeg } else { ImageKind::Png };
                return Ok(FittedImage { kind, width, height, shrunk: Some(shrunk) });
            }
        }
        side /= 2;
        if side == 0 {
            break;
        }
        small = within(small, side);
    }
    Err(ImageError::TooLarge)
}

fn decoded(bytes: &[u8]) -> Result<(DynamicImage, Orientation), ImageError> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|_| ImageError::Damaged)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| told(&error))?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(ImageError::Pixels { width, height });
    }
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(ImageError::Memory);
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let image = DynamicImage::from_decoder(decoder).map_err(|error| told(&error))?;
    Ok((image, orientation))
}

fn told(error: &image::ImageError) -> ImageError {
    if matches!(error, image::ImageError::Limits(_)) {
        ImageError::Memory
    } else {
        ImageError::Damaged
    }
}

/// Shrinks an image whose longer side exceeds `side`, by averaging: it needs no memory but that of the result.
fn within(image: DynamicImage, side: u32) -> DynamicImage {
    if image.width().max(image.height()) <= side { image } else { image.thumbnail(side, side) }
}

/// Returns the forms to try, in order: PNG, which keeps text sharp, and JPEG with a quality, which has no transparency.
fn forms(image: &DynamicImage) -> Vec<Option<u8>> {
    let lossy = QUALITIES.map(Some).into_iter().filter(|_| !image.color().has_alpha());
    std::iter::once(None).chain(lossy).collect()
}

fn encoded(image: &DynamicImage, quality: Option<u8>) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    let written = match quality {
        None => {
            let (level, filter) = (CompressionType::Fast, FilterType::Adaptive);
            image.write_with_encoder(PngEncoder::new_with_quality(&mut bytes, level, filter))
        }
        Some(quality) => {
            image.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))
        }
    };
    written.map(|()| bytes).map_err(|_| ImageError::Died)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    const BOUNDS: ImageBounds = ImageBounds { max_base64_bytes: 60_000, max_side: 500 };

    /// A picture that does not compress.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 7_u32;
        RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, c, _] = state.to_be_bytes();
            Rgb([a, b, c])
        })
        .into()
    }

    fn png(image: &DynamicImage) -> Vec<u8> {
        encoded(image, None).unwrap()
    }

    #[test]
    fn an_image_within_its_bounds_stays_as_it_is() {
        let image = DynamicImage::from(RgbImage::from_pixel(80, 60, Rgb([1, 2, 3])));
        for (bytes, kind) in
            [(png(&image), ImageKind::Png), (encoded(&image, Some(85)).unwrap(), ImageKind::Jpeg)]
        {
            let fitted = fitted(&bytes, BOUNDS).unwrap();
            assert_eq!(fitted, FittedImage { kind, width: 80, height: 60, shrunk: None });
        }
    }

    #[test]
    fn a_larger_image_is_shrunk_and_stays_sharp_if_it_can() {
        let plain = DynamicImage::from(RgbImage::from_pixel(1000, 200, Rgb([1, 2, 3])));
        let shrunk = fitted(&png(&plain), BOUNDS).unwrap();
        assert_eq!((shrunk.kind, shrunk.width, shrunk.height), (ImageKind::Png, 500, 100));
        let noisy = fitted(&png(&noise(600, 600)), BOUNDS).unwrap();
        let bytes = noisy.shrunk.unwrap();
        assert_eq!(noisy.kind, ImageKind::Jpeg);
        assert!(base64(&bytes).len() as u64 <= BOUNDS.max_base64_bytes, "{}", bytes.len());
        assert_eq!(ImageKind::of(&bytes), Some(ImageKind::Jpeg));
        let clear = DynamicImage::from(RgbaImage::from_pixel(600, 3, Rgba([1, 2, 3, 4])));
        assert_eq!(fitted(&png(&clear), BOUNDS).unwrap().kind, ImageKind::Png);
    }

    #[test]
    fn what_is_damaged_or_a_bomb_is_refused_in_words() {
        let whole = png(&noise(90, 90));
        assert_eq!(fitted(&whole[..whole.len() / 2], BOUNDS), Err(ImageError::Damaged));
        assert_eq!(fitted(b"# Notes", BOUNDS), Err(ImageError::NoImage));
        let mut bomb = png(&DynamicImage::new_luma8(1, 1));
        bomb[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
        let mut sum = crc32(&bomb[12..29]).to_be_bytes();
        bomb[29..33].swap_with_slice(&mut sum);
        let refused = fitted(&bomb, BOUNDS).unwrap_err();
        assert_eq!(refused, ImageError::Pixels { width: 100_000, height: 100_000 });
        assert_eq!(refused.to_string(), "100000x100000 pixels are more than 100 million");
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0_u32, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }
            })
        })
    }
}
