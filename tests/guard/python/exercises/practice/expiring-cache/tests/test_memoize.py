import unittest

from cachebox import memoize


class MemoizeTest(unittest.TestCase):
    def setUp(self):
        self.calls = []

        @memoize(capacity=8)
        def shout(*args, **kwargs):
            """Says it again."""
            self.calls.append((args, kwargs))
            return repr(args or kwargs)

        self.shout = shout

    def test_remembers(self):
        self.assertEqual(self.shout("a"), "('a',)")
        self.assertEqual(self.shout("a"), "('a',)")
        self.assertEqual(len(self.calls), 1)
        self.assertEqual(self.shout.__doc__, "Says it again.")

    def test_remembers_none(self):
        calls = []

        @memoize()
        def nothing(value):
            calls.append(value)

        self.assertIsNone(nothing(1))
        self.assertIsNone(nothing(1))
        self.assertEqual(calls, [1])
        self.assertEqual(nothing.cache.stats.hits, 1)

    def test_types_differ(self):
        self.assertEqual(self.shout(1), "(1,)")
        self.assertEqual(self.shout(1.0), "(1.0,)")
        self.assertEqual(self.shout(True), "(True,)")
        self.assertEqual(self.shout(1), "(1,)")
        self.assertEqual(len(self.calls), 3)

    def test_types_of_keyword_arguments_differ(self):
        self.assertEqual(self.shout(a=1), "{'a': 1}")
        self.assertEqual(self.shout(a=True), "{'a': True}")
        self.assertEqual(len(self.calls), 2)

    def test_order_of_keyword_arguments(self):
        self.shout(a=1, b=2)
        self.shout(b=2, a=1)
        self.assertEqual(len(self.calls), 1)

    def test_positional_and_keyword_arguments_differ(self):
        self.shout("a", 1)
        self.shout(a=1)
        self.shout(("a", 1))
        self.assertEqual(len(self.calls), 3)

    def test_failures_are_not_remembered(self):
        @memoize()
        def fail():
            self.calls.append(None)
            raise OSError("no")

        for _ in range(2):
            with self.assertRaises(OSError):
                fail()
        self.assertEqual(len(self.calls), 2)


if __name__ == "__main__":
    unittest.main()
