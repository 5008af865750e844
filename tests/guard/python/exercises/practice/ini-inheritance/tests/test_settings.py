import tempfile
import unittest
from pathlib import Path

from settings import SettingsError, load, parse

LAYERS = """\
# The parents come later in the file.
[staging : base, logging]
host = staging.example.net
Debug = yes

[base : network]
host = example.net
level = base

[logging]
level = info
file = app.log

[network]
host = 0.0.0.0
port = 80
debug = no
"""


class WithoutParentsTest(unittest.TestCase):
    def test_values(self):
        document = parse("[a]\nName = x\nlist = one\n  two\n; comment\n[b]\nname=y\n")
        self.assertEqual(document.sections(), ["a", "b"])
        self.assertEqual(document.get("a", "name"), "x")
        self.assertEqual(document.get("a", "LIST"), "one\ntwo")
        self.assertEqual(document.items("b"), [("name", "y")])
        self.assertIsNone(document.get("b", "list"))
        self.assertEqual(document.get("c", "name", "none"), "none")

    def test_errors(self):
        for text, message in (
            ("a = 1\n", "line 1: setting 'a' before the first section"),
            ("[a\n", "line 1: section header without a closing bracket"),
            ("[a]\n\nx = 1\nX = 2\n", "line 4: setting 'x' is given twice in section 'a'"),
            ("[a]\n[b]\n[a]\n", "line 3: section 'a' already defined on line 1"),
            ("[a]\n  x\n", "line 2: continuation without a setting"),
        ):
            with self.assertRaises(SettingsError) as caught:
                parse(text)
            self.assertEqual(str(caught.exception), message)

    def test_colon_without_spaces_is_part_of_the_name(self):
        document = parse("[host:8080]\na = 1\n[host: 8081]\na = 2\n")
        self.assertEqual(document.sections(), ["host:8080", "host: 8081"])
        self.assertEqual(document.get("host:8080", "a"), "1")

    def test_unknown_section_has_no_items(self):
        with self.assertRaises(KeyError):
            parse("[a]\n").items("b")


class InheritanceTest(unittest.TestCase):
    def test_sections_have_plain_names(self):
        self.assertEqual(parse(LAYERS).sections(), ["staging", "base", "logging", "network"])

    def test_own_value_wins(self):
        document = parse(LAYERS)
        self.assertEqual(document.get("staging", "host"), "staging.example.net")
        self.assertEqual(document.get("staging", "DEBUG"), "yes")
        self.assertEqual(document.get("base", "host"), "example.net")

    def test_left_parent_wins(self):
        self.assertEqual(parse(LAYERS).get("staging", "level"), "base")

    def test_parents_of_the_left_parent_come_before_the_right_parent(self):
        document = parse("[a : b, c]\n[b : d]\n[c]\nx = from c\n[d]\nx = from d\n")
        self.assertEqual(document.get("a", "x"), "from d")

    def test_has(self):
        document = parse(LAYERS)
        self.assertTrue(document.has("staging", "Port"))
        self.assertTrue(document.has("staging", "file"))
        self.assertFalse(document.has("base", "file"))
        self.assertFalse(document.has("nowhere", "file"))

    def test_items(self):
        self.assertEqual(
            parse(LAYERS).items("staging"),
            [("host", "staging.example.net"), ("debug", "yes"), ("level", "base"), ("port", "80"), ("file", "app.log")],
        )

    def test_inherited_values_are_not_copied_into_the_section(self):
        document = parse(LAYERS)
        document.items("staging")
        self.assertEqual(document.items("logging"), [("level", "info"), ("file", "app.log")])
        self.assertEqual(document.items("base"), [("host", "example.net"), ("level", "base"), ("port", "80"), ("debug", "no")])

    def test_two_ways_to_the_same_parent(self):
        document = parse("[a : b, c]\n[b : d]\n[c : d]\ny = c\n[d]\nx = d\ny = d\n")
        self.assertEqual(document.items("a"), [("x", "d"), ("y", "d")])

    def test_spaces_and_names_with_colons(self):
        document = parse("[a\t:  host:80 ,b]\n[host:80]\nx = 1\n[b]\ny = 2\n")
        self.assertEqual(document.sections(), ["a", "host:80", "b"])
        self.assertEqual(document.items("a"), [("x", "1"), ("y", "2")])

    def test_empty_value_is_a_value(self):
        document = parse("[a : b]\nx =\n[b]\nx = 1\n")
        self.assertEqual(document.get("a", "x"), "")

    def test_default(self):
        self.assertEqual(parse(LAYERS).get("staging", "nothing", "default"), "default")


class InheritanceErrorTest(unittest.TestCase):
    def fails(self, text, line, message):
        with self.assertRaises(SettingsError) as caught:
            parse(text)
        self.assertEqual(str(caught.exception), f"line {line}: {message}")
        self.assertEqual(caught.exception.line, line)

    def test_unknown_parent(self):
        self.fails(
            "[base]\nx = 1\n\n[staging : bsae]\n",
            4,
            "section 'staging' inherits from unknown section 'bsae'",
        )

    def test_duplicate_section_with_other_parents(self):
        self.fails("[a]\n[b]\n[a : b]\n", 3, "section 'a' already defined on line 1")

    def test_circle(self):
        self.fails("# circle\n[a : b]\n[b : a]\n", 2, "inheritance in a circle: a -> b -> a")

    def test_section_of_itself(self):
        self.fails("[x]\n[a : x, a]\n", 2, "inheritance in a circle: a -> a")

    def test_section_that_leads_to_a_circle_is_not_blamed(self):
        self.fails(
            "[start : c]\nx = 1\n[b : c]\n[c : d, b]\n[d]\n",
            3,
            "inheritance in a circle: b -> c -> b",
        )

    def test_long_circle(self):
        self.fails("[c : a]\n[b : x, c]\n[x]\n[a : x, b]\n", 1, "inheritance in a circle: c -> a -> b -> c")

    def test_lowest_line_first(self):
        self.fails("[a : b]\n[b : c]\n[c : b]\n[d : e]\n", 2, "inheritance in a circle: b -> c -> b")
        self.fails("[a : e]\n[b : c]\n[c : b]\n", 1, "section 'a' inherits from unknown section 'e'")

    def test_empty_parent(self):
        self.fails("[a : ]\n", 1, "empty parent name in section header")
        self.fails("[b]\n[c]\n[a : b,,c]\n", 3, "empty parent name in section header")
        self.fails("[b]\n[a : b, ]\n", 2, "empty parent name in section header")

    def test_load_names_the_file(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "app.ini")
            path.write_text("[a : b]\n", encoding="utf-8")
            with self.assertRaises(ValueError) as caught:
                load(path)
            self.assertEqual(
                str(caught.exception),
                f"{path}, line 1: section 'a' inherits from unknown section 'b'",
            )


if __name__ == "__main__":
    unittest.main()
