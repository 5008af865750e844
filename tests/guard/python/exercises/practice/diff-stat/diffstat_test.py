import unittest

from diffstat import DiffError, FileStat, parse, render

SIMPLE = """\
--- a/one.txt
+++ b/one.txt
@@ -1,3 +1,4 @@
 first
-second
+Second
+and a half
 third
@@ -10 +11,2 @@
 tenth
+eleventh
"""


def hunk(header, *lines, name="one.txt"):
    return "\n".join([f"--- a/{name}", f"+++ b/{name}", header, *lines]) + "\n"


class CountTest(unittest.TestCase):
    def counts(self, text):
        return [(stat.added, stat.removed) for stat in parse(text)]

    def test_simple(self):
        self.assertEqual(self.counts(SIMPLE), [(3, 1)])

    def test_empty(self):
        self.assertEqual(parse(""), [])

    def test_removed_line_that_looks_like_a_header(self):
        text = hunk("@@ -1,3 +1,2 @@", "--- an SQL comment", " select 1", "--- another", "+-- the last")
        self.assertEqual(self.counts(text), [(1, 2)])

    def test_added_line_that_looks_like_a_header(self):
        text = hunk("@@ -1 +1,3 @@", "+++ counter", " x", "+++ b/two.txt")
        self.assertEqual(self.counts(text), [(2, 0)])

    def test_both_look_like_headers(self):
        text = hunk("@@ -1 +1 @@", "--- a/two.txt", "+++ b/two.txt")
        self.assertEqual([(stat.name, stat.added, stat.removed) for stat in parse(text)], [("one.txt", 1, 1)])

    def test_no_newline_at_the_end(self):
        note = "\\ No newline at end of file"
        text = hunk("@@ -1 +1 @@", "-x", note, "+y", note)
        self.assertEqual(self.counts(text), [(1, 1)])

    def test_lines_after_the_hunk(self):
        text = hunk("@@ -1 +1 @@ def main():", "-x", "+y", "-- ", "2.39.1", "+ not part of it")
        self.assertEqual(self.counts(text), [(1, 1)])

    def test_empty_context_line(self):
        text = hunk("@@ -1,3 +1,3 @@", " a", "", "-b", "+c")
        self.assertEqual(self.counts(text), [(1, 1)])

    def test_new_and_empty_ranges(self):
        text = hunk("@@ -0,0 +1,2 @@", "+a", "+b") + hunk("@@ -1,2 +0,0 @@", "-a", "-b", name="two.txt")
        self.assertEqual(self.counts(text), [(2, 0), (0, 2)])

    def test_text_before_the_diff(self):
        text = "Subject: fix\n\n- one\n+ two\n@@ -1 +1 @@\n---\n one.txt | 2 +-\n\n" + SIMPLE
        self.assertEqual(self.counts(text), [(3, 1)])


class NameTest(unittest.TestCase):
    def names(self, text):
        return [stat.name for stat in parse(text)]

    def test_prefix(self):
        self.assertEqual(self.names(SIMPLE), ["one.txt"])

    def test_without_prefix(self):
        text = SIMPLE.replace("a/one.txt", "a.txt").replace("b/one.txt", "b.txt")
        self.assertEqual(self.names(text), ["b.txt"])

    def test_time_stamp(self):
        text = "--- one two.txt\t2024-01-01\n+++ one two.txt\t2024-01-02 10:00\n@@ -1 +1 @@\n-x\n+y\n"
        self.assertEqual(self.names(text), ["one two.txt"])

    def test_new_and_deleted(self):
        new = SIMPLE.replace("a/one.txt", "/dev/null")
        deleted = SIMPLE.replace("b/one.txt", "/dev/null").replace("one", "two")
        self.assertEqual(self.names(new + deleted), ["one.txt", "two.txt"])

    def test_rename(self):
        text = (
            "diff --git a/a/one.txt b/two.txt\nsimilarity index 90%\nrename from a/one.txt\nrename to two.txt\n"
            "--- a/a/one.txt\n+++ b/two.txt\n@@ -1 +1 @@\n-x\n+y\n"
        )
        self.assertEqual(parse(text), [FileStat("a/one.txt => two.txt", 1, 1)])

    def test_rename_without_a_hunk(self):
        text = (
            "diff --git a/one b/two\nsimilarity index 100%\nrename from one\nrename to two\n"
            "diff --git a/three b/three\n--- a/three\n+++ b/three\n@@ -1 +1 @@\n-x\n+y\n"
        )
        self.assertEqual(parse(text), [FileStat("one => two", 0, 0), FileStat("three", 1, 1)])

    def test_files_without_hunks(self):
        text = (
            "diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n"
            "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
        )
        self.assertEqual(self.names(text + SIMPLE), ["one.txt"])


class IncompleteTest(unittest.TestCase):
    def fails(self, text, message):
        with self.assertRaises(DiffError) as caught:
            parse(text)
        self.assertEqual(str(caught.exception), message)

    def test_end_of_the_diff(self):
        self.fails(hunk("@@ -1,2 +1,2 @@", " a", "-b"), "line 3: hunk of 'one.txt' is incomplete")

    def test_next_file(self):
        self.fails(SIMPLE.replace("+eleventh\n", "") + "diff --git a/x b/x\n", "line 9: hunk of 'one.txt' is incomplete")

    def test_too_many_of_one_kind(self):
        self.fails(hunk("@@ -1,2 +1 @@", "+a", "+b", "-c"), "line 3: hunk of 'one.txt' is incomplete")


class RenderTest(unittest.TestCase):
    def test_unscaled(self):
        stats = [FileStat("one.txt", 3, 1), FileStat("long-name.txt", 10, 0), FileStat("old => new")]
        self.assertEqual(
            render(stats),
            " one.txt       |  4 +++-\n"
            " long-name.txt | 10 ++++++++++\n"
            " old => new    |  0\n"
            " 3 files changed, 13 insertions(+), 1 deletion(-)\n",
        )

    def bars(self, *changes, width):
        stats = [FileStat("x", added, removed) for added, removed in changes]
        return [line.split(" | ")[1].lstrip("0123456789 ") for line in render(stats, width).splitlines()[:-1]]

    def test_exactly_the_width(self):
        self.assertEqual(self.bars((6, 4), (1, 0), width=10), ["++++++----", "+"])

    def test_rounded_half_up(self):
        self.assertEqual(self.bars((15, 5), (3, 0), (1, 4), width=10), ["++++++++---", "++", "+--"])

    def test_nothing_disappears(self):
        self.assertEqual(self.bars((1000, 0), (1, 1), (0, 2), (0, 0), width=10), ["+" * 10, "+-", "-", ""])

    def test_no_files(self):
        self.assertEqual(render([]), " 0 files changed\n")


if __name__ == "__main__":
    unittest.main()
