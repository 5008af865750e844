import unittest
from fractions import Fraction

from quantities import Limits, QuantityError, grammar, parse_duration, parse_size


class Case(unittest.TestCase):
    def fails(self, parse, text, reason, column):
        kind = {parse_size: "size", parse_duration: "duration"}[parse]
        with self.assertRaises(QuantityError) as caught:
            parse(text)
        self.assertEqual(str(caught.exception), f"bad {kind} {text!r}: {reason} at column {column}")
        self.assertEqual(caught.exception.column, column)


class ReadTest(Case):
    def test_parts(self):
        self.assertEqual(
            list(grammar.read("thing", " 1a 2.5 B3_0.1b", {"a": 1, "b": 2})),
            [(1, "a", 2), (Fraction(5, 2), "b", 5), (Fraction(301, 10), "b", 10)],
        )

    def test_no_unit(self):
        self.assertEqual(list(grammar.read("thing", "0.1 ", {})), [(Fraction(1, 10), None, 1)])

    def test_exact_match_has_precedence(self):
        units = {"m": 1, "M": 2, "Kb": 3}
        self.assertEqual([part[1] for part in grammar.read("thing", "1M 1m 1kB", units)], ["M", "m", "Kb"])

    def test_kind_is_named(self):
        with self.assertRaises(QuantityError) as caught:
            list(grammar.read("weight", "5kg", {"g": 1}))
        self.assertEqual(str(caught.exception), "bad weight '5kg': unknown unit 'kg' at column 2")


class SizeTest(Case):
    def test_as_before(self):
        for text, size in (("0", 0), ("12", 12), ("64k", 65536), ("10 MB", 10485760), (" 1Gb ", 1 << 30), ("7b", 7)):
            self.assertEqual(parse_size(text), size)

    def test_decimals(self):
        self.assertEqual(parse_size("1.5k"), 1536)
        self.assertEqual(parse_size("0.0009765625 kb"), 1)
        self.assertEqual(parse_size("2.0"), 2)
        self.assertIsInstance(parse_size("1.5k"), int)

    def test_large(self):
        self.assertEqual(parse_size("9007199254740993.5k"), 9223372036854777344)

    def test_underscores(self):
        self.assertEqual(parse_size("1_000_000 b"), 1000000)

    def test_space(self):
        self.assertEqual(parse_size("\t10 \n k "), 10240)

    def test_errors(self):
        self.fails(parse_size, "", "expected a number", 1)
        self.fails(parse_size, "k", "expected a number", 1)
        self.fails(parse_size, "-5", "expected a number", 1)
        self.fails(parse_size, " 10 Qb", "unknown unit 'Qb'", 5)
        self.fails(parse_size, "1k 2b", "more than one part", 4)
        self.fails(parse_size, "1k 2q", "unknown unit 'q'", 5)
        self.fails(parse_size, "1k 2b x", "more than one part", 4)
        self.fails(parse_size, "5 1k", "expected a unit", 1)

    def test_not_whole(self):
        self.fails(parse_size, "0.3k", "not a whole number of bytes", 1)
        self.fails(parse_size, " 0.3", "not a whole number of bytes", 2)

    def test_bad_numbers(self):
        for text in ("1__0", "_1", "1_", "1.", ".5", "1.2.3", "1_.5", "1._5"):
            self.fails(parse_size, text, f"bad number {text!r}", 1)
        self.fails(parse_size, "٣k", "expected a number", 1)


class DurationTest(Case):
    def test_as_before(self):
        for text, seconds in (("0", 0), ("90", 90), ("90s", 90), ("1h30m", 5400), ("1d2h3m4s", 93784)):
            self.assertEqual(parse_duration(text), seconds)
        self.assertIsInstance(parse_duration("90"), float)

    def test_decimals(self):
        self.assertEqual(parse_duration("1.5h"), 5400.0)
        self.assertEqual(parse_duration("0.25"), 0.25)
        self.assertEqual(parse_duration("1m 0.1s"), 60.1)

    def test_space_and_case(self):
        self.assertEqual(parse_duration(" 1 H  30m "), 5400)

    def test_order(self):
        self.fails(parse_duration, "1m 2h", "unit 'h' out of order", 4)
        self.fails(parse_duration, "1m2m", "unit 'm' out of order", 3)
        self.fails(parse_duration, "1h 1m 1m", "unit 'm' out of order", 7)

    def test_first_mistake(self):
        self.fails(parse_duration, "1m 2h x", "unit 'h' out of order", 4)
        self.fails(parse_duration, "1m 2q 3h", "unknown unit 'q'", 5)
        self.fails(parse_duration, "1m 2. 3x", "bad number '2.'", 4)

    def test_errors(self):
        self.fails(parse_duration, "", "expected a number", 1)
        self.fails(parse_duration, "1h x", "expected a number", 4)
        self.fails(parse_duration, "1h-5m", "expected a number", 3)
        self.fails(parse_duration, "5 1h", "expected a unit", 1)
        self.fails(parse_duration, "1h 30", "expected a unit", 4)
        self.fails(parse_duration, "3 weeks", "unknown unit 'weeks'", 3)


class LimitsTest(unittest.TestCase):
    def test_defaults(self):
        self.assertEqual(Limits.from_settings({}), Limits(536870912, 30.0))

    def test_settings(self):
        self.assertEqual(
            Limits.from_settings({"memory": "0.5 GB", "timeout": "1m 30s"}),
            Limits(536870912, 90.0),
        )

    def test_error_is_a_value_error(self):
        with self.assertRaises(ValueError):
            Limits.from_settings({"memory": "much"})


if __name__ == "__main__":
    unittest.main()
