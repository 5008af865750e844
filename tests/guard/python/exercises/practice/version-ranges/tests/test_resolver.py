import unittest

from versions import RangeError, Version, VersionError, best
from versions.resolver import matching


class OrderTest(unittest.TestCase):
    def test_order(self):
        ordered = ["1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1"]
        self.assertEqual(sorted(reversed(ordered), key=Version.parse), ordered)

    def test_matching_is_strict(self):
        self.assertEqual(matching(["2.0.0", "1.0.0", "3.0.0"], "<3"), ["2.0.0", "1.0.0"])
        with self.assertRaises(VersionError):
            matching(["latest"], ">=1")


class BestTest(unittest.TestCase):
    def test_last_is_highest(self):
        self.assertEqual(best(["1.0.0", "1.2.0"], ">=1"), "1.2.0")

    def test_none(self):
        self.assertIsNone(best([], ">=1"))
        self.assertIsNone(best(["0.9.0"], ">=1"))

    def test_any_order(self):
        self.assertEqual(best(["1.9.0", "1.10.0", "2.0.0", "1.2.0"], "<2"), "1.10.0")

    def test_caret(self):
        self.assertEqual(best(["2.0.0", "1.9.0", "1.10.0-rc", "1.3.0"], "^1.2 || ^0.5"), "1.9.0")

    def test_first_build_wins(self):
        self.assertEqual(best(["1.0.0+b", "1.0.0+a", "1.0.0", "0.9.0"], ">=0.9"), "1.0.0+b")

    def test_no_versions_are_skipped(self):
        self.assertEqual(best(["latest", "1.0", "1.0.0", "v2.0.0"], ">=1"), "1.0.0")

    def test_from_an_iterator(self):
        self.assertEqual(best(iter(["1.5.0", "1.4.0"]), "^1"), "1.5.0")

    def test_bad_range(self):
        with self.assertRaises(RangeError):
            best([], "newest")


if __name__ == "__main__":
    unittest.main()
