//! The record of an evaluation on disk: JSON lines, each durable before anything follows from it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::results::record::EvalRecord;

/// Appends to a record.
#[derive(Debug)]
pub(crate) struct RecordLog {
    file: Mutex<File>,
}

impl RecordLog {
    /// Opens the record at `path`, which is created. Returns what it holds. A last line that a crash left incomplete is
    /// removed. Blocks.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Vec<EvalRecord>)> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (records, end) = parsed(&text)?;
        file.set_len(end as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok((Self { file: Mutex::new(file) }, records))
    }

    /// Appends a record. It is durable on return. Blocks.
    pub(crate) fn append(&self, record: &EvalRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)?;
        file.sync_data()
    }
}

/// Reads a record. Blocks.
pub(crate) fn read_records(path: &Path) -> io::Result<Vec<EvalRecord>> {
    parsed(&std::fs::read(path)?).map(|(records, _)| records)
}

/// Parses whole lines, and returns where they end.
fn parsed(text: &[u8]) -> io::Result<(Vec<EvalRecord>, usize)> {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = text.get(..end).unwrap_or_default().split(|byte| *byte == b'\n');
    let records = lines.filter(|line| !line.is_empty()).map(serde_json::from_slice);
    Ok((records.collect::<Result<_, _>>()?, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::record::CaseGround;

    #[test]
    fn a_torn_line_is_removed_and_all_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records.jsonl");
        let record = |case: &str| EvalRecord::Checked {
            case: case.to_owned(),
            ground: CaseGround::NoCase { why: "x".to_owned() },
        };
        let (log, records) = RecordLog::open(&path).unwrap();
        assert!(records.is_empty());
        log.append(&record("a")).unwrap();
        log.append(&record("b")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].split(|byte| *byte == b'\n').count() - 1;
            assert_eq!(read_records(&path).unwrap().len(), lines);
            let (log, records) = RecordLog::open(&path).unwrap();
            assert_eq!(records.len(), lines);
            log.append(&record("c")).unwrap();
            assert_eq!(read_records(&path).unwrap().last(), Some(&record("c")));
        }
    }
}
