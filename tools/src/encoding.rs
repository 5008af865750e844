//! Text in any encoding: decoded for models and people, and written back with every other byte as it was. Pure.

use std::borrow::Cow;
use std::iter;
use std::sync::LazyLock;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP};
use regex::bytes::Regex;

/// Bytes at the start of a file in which it may name its encoding.
const NAMED_WITHIN: usize = 1024;
const ESCAPE: u8 = 0x1b;
/// The mark that may begin a text in UTF-16.
const MARK: char = '\u{feff}';

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'b> {
    /// The text, without the mark that begins UTF-16.
    pub text: Cow<'b, str>,
    /// How the bytes encode it.
    pub encoding: TextEncoding,
    /// True if encoding the text again gives the same bytes, so that it can be edited.
    pub is_exact: bool,
}

/// How bytes encode a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Utf8,
    Utf16 { order: ByteOrder, has_mark: bool },
    Legacy(&'static Encoding),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

/// Decodes the bytes of a file; `None` if they are not text. The encoding is the one that the file names or begins with, or
/// else the likeliest.
pub fn decode(bytes: &[u8]) -> Option<Decoded<'_>> {
    if let Some((order, rest)) = marked(bytes) {
        return utf16(rest, order, true);
    }
    let has = |byte| memchr::memchr(byte, bytes).is_some();
    match std::str::from_utf8(bytes) {
        _ if has(0) => unmarked(bytes),
        Ok(text) if has(ESCAPE) => {
            Some(legacy(bytes, ISO_2022_JP).filter(|it| it.is_exact).unwrap_or_else(|| utf8(text)))
        }
        Ok(text) => Some(utf8(text)),
        Err(_) if is_damaged_utf8(bytes) => None,
        Err(_) => {
            let named = named(bytes).and_then(|encoding| legacy(bytes, encoding));
            named.filter(|decoded| decoded.is_exact).or_else(|| legacy(bytes, likeliest(bytes)))
        }
    }
}

/// Decodes the bytes of a file, with replacements for what is not text.
pub fn decode_lossy(bytes: &[u8]) -> Cow<'_, str> {
    decode(bytes).map_or_else(|| String::from_utf8_lossy(bytes), |decoded| decoded.text)
}

impl TextEncoding {
    /// The encoding that needs no mention.
    pub const UTF_8: TextEncoding = TextEncoding(Kind::Utf8);

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Utf8 => "UTF-8",
            Kind::Utf16 { order: ByteOrder::Little, .. } => "UTF-16LE",
            Kind::Utf16 { order: ByteOrder::Big, .. } => "UTF-16BE",
            Kind::Legacy(encoding) => encoding.name(),
        }
    }

    /// Returns its name, unless it is UTF-8.
    pub fn unusual(self) -> Option<&'static str> {
        (self != TextEncoding::UTF_8).then(|| self.name())
    }

    /// Encodes a text.
    ///
    /// # Errors
    /// Returns the first character that the encoding lacks.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self.0 {
            Kind::Utf8 => Ok(text.as_bytes().to_vec()),
            Kind::Utf16 { order, has_mark } => {
                let mark = has_mark.then_some(MARK);
                let mut units = [0; 2];
                let mut bytes = Vec::with_capacity(2 * text.len());
                for c in mark.into_iter().chain(text.chars()) {
                    let units = c.encode_utf16(&mut units).iter();
                    bytes.extend(units.flat_map(|unit| order.bytes(*unit)));
                }
                Ok(bytes)
            }
            Kind::Legacy(encoding) => {
                let (bytes, _, lacks) = encoding.encode(text);
                let is_lacking = |c: &char| encoding.encode(c.encode_utf8(&mut [0; 4])).2;
                match lacks.then(|| text.chars().find(is_lacking)).flatten() {
                    Some(c) => Err(c),
                    None => Ok(bytes.into_owned()),
                }
            }
        }
    }
}

impl ByteOrder {
    const fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    const fn bytes(self, unit: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => unit.to_le_bytes(),
            ByteOrder::Big => unit.to_be_bytes(),
        }
    }
}

/// Returns the text with each character beyond Latin-1 replaced by as many `_` as it has bytes, so that every place stays
/// where it is. The scanner of the Bash grammar (tree-sitter-bash 0.25.1) looks characters up in a table of those of
/// Latin-1, and reads beyond its end for others.
pub fn latin1_only(text: &str) -> Cow<'_, str> {
    let is_latin1 = |c: &char| u32::from(*c) <= 0xff;
    if text.chars().all(|c| is_latin1(&c)) {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    for c in text.chars() {
        if is_latin1(&c) {
            replaced.push(c);
        } else {
            replaced.extend(iter::repeat_n('_', c.len_utf8()));
        }
    }
    Cow::Owned(replaced)
}

fn utf8(text: &str) -> Decoded<'_> {
    Decoded { text: text.into(), encoding: TextEncoding::UTF_8, is_exact: true }
}

/// Returns the byte order of UTF-16 that begins with its mark, and what follows the mark.
fn marked(bytes: &[u8]) -> Option<(ByteOrder, &[u8])> {
    let (mark, rest) = bytes.split_first_chunk()?;
    let mut orders = [ByteOrder::Little, ByteOrder::Big].into_iter();
    let order = orders.find(|order| char::from_u32(order.unit(*mark).into()) == Some(MARK))?;
    Some((order, rest))
}

/// Decodes UTF-16 without a mark: text with lines in one byte order, and none in the other.
fn unmarked(bytes: &[u8]) -> Option<Decoded<'_>> {
    let orders = [ByteOrder::Little, ByteOrder::Big].map(|order| utf16(bytes, order, false));
    let [little, big] = orders.map(|decoded| decoded.filter(|it| it.text.contains('\n')));
    if little.is_some() && big.is_some() { None } else { little.or(big) }
}

fn utf16(bytes: &[u8], order: ByteOrder, has_mark: bool) -> Option<Decoded<'_>> {
    let (units, []) = bytes.as_chunks::<2>() else { return None };
    let units = units.iter().map(|unit| order.unit(*unit));
    let text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
    let encoding = TextEncoding(Kind::Utf16 { order, has_mark });
    is_text(&text).then(|| Decoded { text: text.into(), encoding, is_exact: true })
}

fn legacy<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Option<Decoded<'b>> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    if !is_text(&text) {
        return None;
    }
    let is_exact = {
        let (again, _, lacks) = encoding.encode(&text);
        !lacks && *again == *bytes
    };
    Some(Decoded { text, encoding: TextEncoding(Kind::Legacy(encoding)), is_exact })
}

/// Returns true if a text has no control characters but those that format it.
fn is_text(text: &str) -> bool {
    const FORMAT: [char; 5] = ['\t', '\n', '\r', '\u{c}', '\u{1a}'];
    !text.contains(|c: char| c.is_control() && !FORMAT.contains(&c))
}

/// Returns true if most characters beyond ASCII are in UTF-8: other encodings give such sequences only by chance.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut whole, mut broken) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += chunk.invalid().len();
    }
    whole > broken
}

/// Returns the encoding that a file names in its first lines, as XML, HTML, CSS, Python and editors do.
fn named(bytes: &[u8]) -> Option<&'static Encoding> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?i-u)(?:coding|charset)[ \t]*[:= ][ \t]*["']?([a-z0-9_-]+)"#).ok()
    });
    let beginning = bytes.get(..NAMED_WITHIN).unwrap_or(bytes);
    let label = NAMED.as_ref()?.captures(beginning)?.get(1)?.as_bytes();
    let label = String::from_utf8_lossy(label);
    // Python writes `latin-1` and `euc_kr`.
    let spellings = [label.to_string(), label.replace('_', "-"), label.replace(['_', '-'], "")];
    let known = spellings.iter().find_map(|label| Encoding::for_label(label.as_bytes()))?;
    known.is_ascii_compatible().then_some(known)
}

fn likeliest(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts as they stand in code, with an encoding for them.
    const TEXTS: [(&str, &str); 14] = [
        ("GBK", "// 中文注释\nint a = 1;\n"),
        ("gb18030", "# -*- coding: gb18030 -*-\n# 配置文件 𠀀\nname = '测试'\n"),
        ("Big5", "// 這是一個測試,請勿修改\nint count = 0; // 計數器\n"),
        ("Shift_JIS", "// これはテストです。設定を読み込む\nint a = 1; // 値\n"),
        ("EUC-JP", "# これはテストです。設定を読み込む\na = 1 # 値\n"),
        ("ISO-2022-JP", "これはテストです。\na = 1\n設定\n"),
        ("EUC-KR", "// 이것은 시험입니다\nint a = 1; // 값\n"),
        ("windows-1252", "// Größe der Fläche\r\nint a = 1; // café\r\n"),
        ("windows-1251", "// Это проверка настроек\nint a = 1; // значение\n"),
        ("KOI8-U", "# Это проверка настроек\na = 1 # значение по умолчанию\n"),
        (
            "ISO-8859-2",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-2\"?>\n<a>zażółć gęślą jaźń</a>\n",
        ),
        ("ISO-8859-7", "# coding: iso-8859-7\n# Αυτό είναι ένα τεστ\n"),
        ("windows-1254", "/* charset=windows-1254 */ // Türkçe açıklama: ığüşöç\n"),
        ("windows-874", "// ทดสอบการตั้งค่า\nint a = 1;\n"),
    ];

    #[test]
    fn characters_beyond_latin1_keep_their_place() {
        assert!(matches!(latin1_only("aé\u{ff}"), Cow::Borrowed("aé\u{ff}")));
        assert_eq!(latin1_only("aé中{😀}\u{100}"), "aé___{____}__");
    }

    fn encoded(encoding: &str, text: &str) -> Vec<u8> {
        Encoding::for_label(encoding.as_bytes()).unwrap().encode(text).0.into_owned()
    }

    #[test]
    fn texts_are_decoded_and_encoded_again() {
        for (encoding, text) in TEXTS {
            let bytes = encoded(encoding, text);
            let decoded = decode(&bytes).unwrap_or_else(|| panic!("{encoding} is text"));
            assert_eq!((&*decoded.text, decoded.encoding.name()), (text, encoding));
            assert!(decoded.is_exact);
            assert_eq!(decoded.encoding.encode(text).unwrap(), bytes, "{encoding}");
        }
    }

    #[test]
    fn utf16_is_told_by_its_mark_or_by_its_lines() {
        let text = "int a = 1; // é\r\n中\r\n";
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for has_mark in [true, false] {
                let encoding = TextEncoding(Kind::Utf16 { order, has_mark });
                let bytes = encoding.encode(text).unwrap();
                let decoded = decode(&bytes).unwrap();
                assert_eq!((&*decoded.text, decoded.encoding), (text, encoding));
            }
        }
    }

    #[test]
    fn what_is_not_text_is_not_decoded() {
        for bytes in [
            &b"a\0"[..],
            b"a\0b\n",
            b"\x7fELF\x02\x01\x01\0\0\0",
            b"\x89PNG\r\n\x1a\n\xff\xfe\x01",
            b"\xff\xfea",
            b"\xff\xd8\xff\xe0\x10JFIF\x01\x02",
            "ÄÖÜäöüß und \u{e9}\u{e8}".as_bytes().strip_suffix(b"\xa8").unwrap(),
        ] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(decode_lossy(b"a\xff\x01"), "a\u{fffd}\u{1}");
    }

    #[test]
    fn text_in_utf8_is_not_copied() {
        for text in ["", "a\n", "\u{feff}a", "caf\u{e9} \u{1b}[1m"] {
            let decoded = decode(text.as_bytes()).unwrap();
            assert!(matches!(decoded.text, Cow::Borrowed(it) if it == text));
            assert_eq!(decoded.encoding.unusual(), None);
        }
    }

    #[test]
    fn a_character_that_an_encoding_lacks_is_named() {
        let decoded = decode(b"caf\xe9 au lait\n").unwrap();
        assert_eq!(decoded.encoding.unusual(), Some("windows-1252"));
        assert_eq!(decoded.encoding.encode("th\u{e9} → x"), Err('→'));
    }

    proptest! {
        /// The bytes of lines that are kept are those that were there.
        #[test]
        fn lines_are_encoded_alike_wherever_they_stand(
            which in 0..TEXTS.len(), lines in proptest::collection::vec(0_usize..9, 0..12),
        ) {
            let (encoding, text) = TEXTS[which];
            let pool: Vec<&str> = text.split_inclusive('\n').collect();
            let text: String = lines.iter().map(|at| pool[at % pool.len()]).collect();
            let encoding = TextEncoding(Kind::Legacy(Encoding::for_label(encoding.as_bytes()).unwrap()));
            let whole = encoding.encode(&text).unwrap();
            let parts: Vec<u8> =
                text.split_inclusive('\n').flat_map(|line| encoding.encode(line).unwrap()).collect();
            prop_assert_eq!(whole, parts);
        }

        #[test]
        fn whatever_is_exact_is_exact(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(decoded) = decode(&bytes) && decoded.is_exact {
                prop_assert_eq!(decoded.encoding.encode(&decoded.text).unwrap(), bytes);
            }
        }
    }
}
