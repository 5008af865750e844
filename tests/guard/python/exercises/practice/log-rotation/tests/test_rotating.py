import tempfile
import unittest
from pathlib import Path

from rotating import LogWriter, backups, rotate
from rotating.tail import records, tail


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.log = self.place / "app.log"

    def make(self, *names):
        for name in names:
            (self.place / name).write_text(name, encoding="utf-8")

    def files(self):
        """File names and what is in them."""
        return {path.name: path.read_text(encoding="utf-8") for path in self.place.iterdir() if path.is_file()}


class BackupsTest(Case):
    def test_none(self):
        self.make("app.log", "other.log.1")
        self.assertEqual(backups(self.log), [])

    def test_numeric_order(self):
        self.make(*(f"app.log.{number}" for number in (10, 2, 1, 11, 9)))
        self.assertEqual([backup.number for backup in backups(self.log)], [1, 2, 9, 10, 11])

    def test_other_files(self):
        self.make("app.log.1", "app.log.old", "app.log.1.gz", "app.log.007", "app.log.0", "app.log.-1", "app.log.²", "app.log.")
        (self.place / "app.log.2").mkdir()
        self.assertEqual([backup.path.name for backup in backups(self.log)], ["app.log.1"])


class RotateTest(Case):
    def test_first(self):
        self.make("app.log")
        self.assertEqual(rotate(self.log, 3), 0)
        self.assertEqual(self.files(), {"app.log.1": "app.log"})

    def test_more_than_ten(self):
        self.make("app.log", *(f"app.log.{number}" for number in range(1, 12)))
        self.assertEqual(rotate(self.log, 20), 0)
        expected = {f"app.log.{number + 1}": f"app.log.{number}" for number in range(1, 12)}
        expected["app.log.1"] = "app.log"
        self.assertEqual(self.files(), expected)

    def test_oldest_is_removed(self):
        self.make("app.log", "app.log.1", "app.log.2")
        self.assertEqual(rotate(self.log, 2), 1)
        self.assertEqual(self.files(), {"app.log.1": "app.log", "app.log.2": "app.log.1"})

    def test_gap_is_filled(self):
        self.make("app.log", "app.log.1", "app.log.2", "app.log.4")
        self.assertEqual(rotate(self.log, 4), 0)
        self.assertEqual(
            self.files(),
            {"app.log.1": "app.log", "app.log.2": "app.log.1", "app.log.3": "app.log.2", "app.log.4": "app.log.4"},
        )

    def test_first_backup_is_missing(self):
        self.make("app.log", "app.log.2")
        self.assertEqual(rotate(self.log, 2), 0)
        self.assertEqual(self.files(), {"app.log.1": "app.log", "app.log.2": "app.log.2"})

    def test_fewer_are_kept_than_before(self):
        self.make("app.log", *(f"app.log.{number}" for number in range(1, 6)))
        self.assertEqual(rotate(self.log, 2), 4)
        self.assertEqual(self.files(), {"app.log.1": "app.log", "app.log.2": "app.log.1"})

    def test_keep_nothing(self):
        self.make("app.log", "app.log.1")
        self.assertEqual(rotate(self.log, 0), 2)
        self.assertEqual(self.files(), {})

    def test_no_log(self):
        self.make("app.log.1", "app.log.2", "app.log.3")
        before = self.files()
        self.assertEqual(rotate(self.log, 2), 0)
        self.assertEqual(self.files(), before)

    def test_other_files_stay(self):
        self.make("app.log", "app.log.1", "app.log.1.gz", "app.log.007")
        rotate(self.log, 1)
        self.assertEqual(
            self.files(),
            {"app.log.1": "app.log", "app.log.1.gz": "app.log.1.gz", "app.log.007": "app.log.007"},
        )

    def test_negative(self):
        with self.assertRaises(ValueError):
            rotate(self.log, -1)


class LogWriterTest(Case):
    def test_writes_lines(self):
        with LogWriter(self.log, 100) as writer:
            writer.write("one")
            writer.write("two\nlines")
        self.assertEqual(self.files(), {"app.log": "one\ntwo\\nlines\n"})
        self.assertEqual(list(records(self.log)), ["one", "two\nlines"])

    def test_exactly_the_limit(self):
        with LogWriter(self.log, 8) as writer:
            for record in ("abc", "def", "ghi"):
                writer.write(record)
        self.assertEqual(self.files(), {"app.log": "ghi\n", "app.log.1": "abc\ndef\n"})

    def test_bytes_count(self):
        with LogWriter(self.log, 10) as writer:
            for record in ("äöü", "äöü", "x"):
                writer.write(record)
        self.assertEqual(self.files(), {"app.log": "äöü\nx\n", "app.log.1": "äöü\n"})

    def test_large_record(self):
        with LogWriter(self.log, 4) as writer:
            writer.write("long record")
            writer.write("a")
            writer.write("another long record")
        self.assertEqual(
            self.files(),
            {"app.log": "another long record\n", "app.log.1": "a\n", "app.log.2": "long record\n"},
        )

    def test_existing_log(self):
        self.log.write_text("ää\n", encoding="utf-8")
        with LogWriter(self.log, 8) as writer:
            writer.write("bb")
            writer.write("c")
        self.assertEqual(self.files(), {"app.log": "c\n", "app.log.1": "ää\nbb\n"})

    def test_existing_empty_log(self):
        self.log.write_text("", encoding="utf-8")
        with LogWriter(self.log, 4) as writer:
            writer.write("long record")
        self.assertEqual(self.files(), {"app.log": "long record\n"})

    def test_tail_across_many_backups(self):
        with LogWriter(self.log, 4, keep=20) as writer:
            for number in range(100, 115):
                writer.write(str(number))
        self.assertEqual(tail(self.log, 13), [str(number) for number in range(102, 115)])


if __name__ == "__main__":
    unittest.main()
