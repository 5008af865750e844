import unittest

from wrapping import reflow
from wrapping.cli import main


class Case(unittest.TestCase):
    def check(self, text, width, *lines):
        self.assertEqual(reflow(text, width).splitlines(), list(lines))


class ParagraphTest(Case):
    def test_short(self):
        self.check("one two\n", 20, "one two")

    def test_lines_are_joined(self):
        self.check("one\ntwo\nthree\n", 20, "one two three")

    def test_empty(self):
        self.assertEqual(reflow("", 10), "")

    def test_exact_fit(self):
        self.check("one two three\n", 7, "one two", "three")
        self.check("one two three\n", 13, "one two three")
        self.check("one two three\n", 12, "one two", "three")

    def test_one_word_that_fits_exactly(self):
        self.check("exact words\n", 5, "exact", "words")

    def test_spaces_and_tabs(self):
        self.check(" one \t two\tthree  \n", 9, "one two", "three")

    def test_blank_lines_are_kept(self):
        self.check("one\n\n \n\ntwo\n\n", 9, "one", "", "", "", "two", "")

    def test_width(self):
        with self.assertRaises(ValueError):
            reflow("one", 0)


class BreakTest(Case):
    def test_no_break_space(self):
        self.check("about 10\u00a0km to go\n", 9, "about", "10\u00a0km to", "go")
        self.check("see p.\u00a0\u00a05 now\n", 6, "see", "p.\u00a0\u00a05", "now")

    def test_compound(self):
        self.check("a well-known fact\n", 8, "a well-", "known", "fact")
        self.check("a well-known fact\n", 7, "a well-", "known", "fact")
        self.check("a well-known fact\n", 6, "a", "well-", "known", "fact")

    def test_compound_of_many_words(self):
        self.check("state-of-the-art\n", 9, "state-of-", "the-art")
        self.check("state-of-the-art\n", 12, "state-of-", "the-art")
        self.check("state-of-the-art\n", 13, "state-of-the-", "art")

    def test_letters_outside_ascii(self):
        self.check("für S-Bahn-Züge\n", 11, "für S-Bahn-", "Züge")
        self.check("blå-øy\n", 5, "blå-", "øy")

    def test_option(self):
        self.check("use --dry-run now\n", 6, "use", "--dry-", "run", "now")
        self.check("use --dry-run now\n", 10, "use --dry-", "run now")
        self.check("say -x --no\n", 5, "say", "-x", "--no")

    def test_numbers(self):
        self.check("on 2024-05-01 it\n", 8, "on", "2024-05-01", "it")
        self.check("is x-1 or 1-x or x_-y\n", 4, "is", "x-1", "or", "1-x", "or", "x_-y")

    def test_dashes_at_the_end(self):
        self.check("a trailing- one\n", 11, "a trailing-", "one")
        self.check("now trailing- or a--b c\n", 10, "now", "trailing-", "or a--b c")
        self.check("or a--b c\n", 6, "or", "a--b c")


class LongPieceTest(Case):
    def test_own_line(self):
        self.check("go incomprehensible on\n", 5, "go", "incomprehensible", "on")

    def test_first(self):
        self.check("incomprehensible on\n", 5, "incomprehensible", "on")

    def test_part_of_a_compound(self):
        self.check("a self-incomprehensible-x b\n", 7, "a self-", "incomprehensible-", "x b")

    def test_first_of_an_item(self):
        self.check("- incomprehensible on\n", 6, "- incomprehensible", "  on")


class ItemTest(Case):
    def test_dash(self):
        self.check("- one two three\n- four\n", 9, "- one two", "  three", "- four")

    def test_number(self):
        self.check("9. one two\n10. one two\n", 9, "9. one", "   two", "10. one", "    two")

    def test_indent(self):
        self.check("  *  one two three\n", 12, "  *  one two", "     three")

    def test_nested_under_an_item(self):
        self.check("- one\n    - two three\n", 11, "- one", "    - two", "      three")

    def test_continued_lines_are_joined(self):
        self.check("- one\n  two\nthree\n", 30, "- one two three")

    def test_empty_item(self):
        self.check("- \n- one\n", 9, "-", "- one")

    def test_item_ends_the_paragraph_before_it(self):
        self.check("one\n- two\n", 9, "one", "- two")

    def test_not_an_item(self):
        self.check("-one\n1.two\n--- three\n", 30, "-one 1.two --- three")


class CodeTest(Case):
    def test_after_a_blank_line(self):
        self.check("run\n\n    make   all  \n      install\n\nnow\n", 8, "run", "", "    make   all  ", "      install", "", "now")

    def test_at_the_start(self):
        self.check("    a  b\nnow\nthen\n", 20, "    a  b", "now then")

    def test_looks_like_an_item(self):
        self.check("\n    - a  b c\n    * d\n- e\n", 8, "", "    - a  b c", "    * d", "- e")

    def test_blank_line_inside(self):
        self.check("    a  b\n\n    c  d\n", 4, "    a  b", "", "    c  d")

    def test_continues_a_paragraph(self):
        self.check("one\n    two\n", 20, "one two")

    def test_three_spaces_are_not_code(self):
        self.check("\n   one  two\n", 20, "", "one two")


class CommandLineTest(unittest.TestCase):
    def test_usage(self):
        self.assertEqual(main(["0"]), 2)


if __name__ == "__main__":
    unittest.main()
