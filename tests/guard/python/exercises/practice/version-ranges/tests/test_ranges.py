import unittest

from versions import Range, RangeError, Version


class Case(unittest.TestCase):
    def check(self, text, yes="", no=""):
        wanted = Range(text)
        for version in yes.split():
            self.assertTrue(wanted.matches(Version.parse(version)), f"{text} must match {version}")
        for version in no.split():
            self.assertFalse(wanted.matches(Version.parse(version)), f"{text} must not match {version}")

    def fails(self, text, message):
        with self.assertRaises(RangeError) as caught:
            Range(text)
        self.assertEqual(str(caught.exception), message)


class ComparatorTest(Case):
    def test_all_must_hold(self):
        self.check(">=1.2 <2", "1.2.0 1.9.9", "1.1.9 2.0.0")
        self.check("  >1.2.3   <=1.3.0 ", "1.2.4 1.3.0", "1.2.3 1.3.1")

    def test_equal(self):
        self.check("1.2.3", "1.2.3 1.2.3+5", "1.2.4")
        self.check("=1.2", "1.2.0", "1.2.1")

    def test_errors(self):
        self.fails("", "empty range")
        self.fails(">=x", "bad comparator '>=x'")
        self.fails(">=1.2 !2", "bad comparator '!2'")
        self.fails("1.2.3.4", "bad comparator '1.2.3.4'")


class SidesTest(Case):
    def test_either_side(self):
        self.check("<1 || >=2 <3 || 4", "0.9.0 2.0.0 2.9.9 4.0.0", "1.0.0 3.0.0 4.0.1")

    def test_without_spaces(self):
        self.check("1.0.0||^2.1", "1.0.0 2.1.0 2.9.0", "1.0.1 2.0.9")

    def test_empty_side(self):
        for text in ("1.2 ||", "|| 1", "1 || || 2", "||"):
            self.fails(text, f"empty side in '{text}'")


class TildeTest(Case):
    def test_patch(self):
        self.check("~1.2.3", "1.2.3 1.2.99", "1.2.2 1.3.0 2.2.3")

    def test_minor(self):
        self.check("~1.2", "1.2.0 1.2.9", "1.1.9 1.3.0")
        self.check("~0.0", "0.0.0 0.0.7", "0.1.0")

    def test_major(self):
        self.check("~1", "1.0.0 1.9.9", "0.9.9 2.0.0")
        self.check("~0", "0.0.0 0.9.9", "1.0.0")

    def test_with_others(self):
        self.check("~1.2 >1.2.4", "1.2.5", "1.2.4 1.3.0")


class CaretTest(Case):
    def test_full(self):
        self.check("^1.2.3", "1.2.3 1.3.0 1.9.9", "1.2.2 2.0.0 0.2.3")
        self.check("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 1.2.3")
        self.check("^0.0.3", "0.0.3", "0.0.2 0.0.4 0.1.0")
        self.check("^0.0.0", "0.0.0", "0.0.1 0.1.0")

    def test_missing_parts(self):
        self.check("^1.2", "1.2.0 1.9.0", "1.1.0 2.0.0")
        self.check("^1", "1.0.0 1.9.0", "0.9.0 2.0.0")
        self.check("^0.2", "0.2.0 0.2.9", "0.1.9 0.3.0")
        self.check("^0.0", "0.0.0 0.0.9", "0.1.0")
        self.check("^0", "0.0.0 0.0.1 0.9.9", "1.0.0")
        self.check("^1.0", "1.0.0 1.5.0", "2.0.0 0.9.9")

    def test_errors(self):
        for text in ("~>1.2", "^", "~", "^x", "^=1", ">~1", "^^1", "^01.2"):
            self.fails(f"1 || {text}", f"bad comparator '{text}'")
        self.fails("^ 1.2", "bad comparator '^'")


class PreReleaseTest(Case):
    def test_not_without_being_named(self):
        self.check("^1.2.3", "1.3.0", "1.2.3-rc 1.3.0-rc 2.0.0-rc")
        self.check(">=1.0.0", "1.0.0 2.0.0", "2.0.0-rc.1 1.0.0-rc")
        self.check("<2", "1.9.9", "2.0.0-rc 1.9.9-rc")
        self.check("~1.2", "1.2.5", "1.2.5-rc 1.3.0-alpha")

    def test_named(self):
        self.check(">=2.0.0-beta", "2.0.0-beta 2.0.0-rc.1 2.0.0 2.1.0", "2.0.0-alpha 2.0.1-rc 1.9.9")
        self.check("2.0.0-rc.1", "2.0.0-rc.1 2.0.0-rc.1+7", "2.0.0-rc.2 2.0.0")

    def test_caret(self):
        self.check("^1.2.3-beta", "1.2.3-beta 1.2.3-rc 1.2.3 1.9.0", "1.2.3-alpha 1.9.0-rc 2.0.0-rc 2.0.0")
        self.check("^0.2.3-beta", "0.2.3-rc 0.2.4", "0.2.4-rc 0.3.0-rc 0.3.0")
        self.check("^0.0.3-beta", "0.0.3-rc 0.0.3", "0.0.4-rc 0.0.4")

    def test_tilde(self):
        self.check("~1.2.3-beta.2", "1.2.3-beta.10 1.2.9", "1.2.3-beta.1 1.2.9-rc 1.3.0-rc")

    def test_named_at_the_upper_end(self):
        self.check(">=1.0 <2.0.0-rc.2", "1.5.0 2.0.0-rc.1", "2.0.0-rc.2 1.5.0-rc 2.0.0")

    def test_named_on_the_other_side_only(self):
        self.check("^1.2.3 || 1.5.0-beta", "1.5.0-beta 1.5.0", "1.5.0-rc 1.2.3-beta")
        self.check(">=1.5.0-beta <1.5.0 || ^1.2.3", "1.5.0-rc", "1.6.0-rc")


if __name__ == "__main__":
    unittest.main()
