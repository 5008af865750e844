import unittest

from cachebox import Cache, Stats


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()

    def cache(self, capacity, lifetime=None, keys=""):
        cache = Cache(capacity, lifetime, self.clock)
        for key in keys:
            cache.put(key, key.upper())
        return cache

    def test_get_and_put(self):
        cache = self.cache(2, keys="a")
        self.assertEqual(cache.get("a"), "A")
        self.assertEqual(cache.get("b", "none"), "none")
        self.assertEqual(cache.stats, Stats(hits=1, misses=1))

    def test_least_recently_used_goes(self):
        cache = self.cache(3, keys="abc")
        cache.get("a")
        cache.put("d", "D")
        self.assertEqual(cache.keys(), ["c", "a", "d"])
        self.assertEqual(cache.stats.evictions, 1)

    def test_replacing_throws_nothing_out(self):
        cache = self.cache(2, keys="ab")
        cache.put("a", 1)
        self.assertEqual(cache.keys(), ["b", "a"])
        self.assertEqual(cache.peek("a"), 1)
        self.assertEqual(cache.stats.evictions, 0)

    def test_replacing_makes_recent_before_the_cache_is_full(self):
        cache = self.cache(3, keys="ab")
        cache.put("a", 1)
        self.assertEqual(cache.keys(), ["b", "a"])

    def test_replacing_starts_a_new_lifetime(self):
        cache = self.cache(2, 10, keys="a")
        self.clock.now = 8
        cache.put("a", 1)
        self.clock.now = 17
        self.assertEqual(cache.get("a"), 1)

    def test_replacing_an_expired_entry(self):
        cache = self.cache(2, 10, keys="ab")
        self.clock.now = 12
        cache.put("a", 1)
        self.assertEqual(cache.keys(), ["a"])
        self.assertEqual(cache.stats.evictions, 0)

    def test_lifetime(self):
        cache = self.cache(2, 10, keys="a")
        self.clock.now = 9.9
        self.assertEqual(cache.get("a"), "A")
        self.clock.now = 10
        self.assertIsNone(cache.get("a"))
        self.assertEqual(cache.stats, Stats(hits=1, misses=1))

    def test_expired_entries_go_first(self):
        cache = self.cache(3, keys="a")
        cache.put("b", "B", lifetime=5)
        cache.put("c", "C", lifetime=5)
        self.clock.now = 6
        cache.put("d", "D")
        self.assertEqual(cache.keys(), ["a", "d"])
        cache.put("e", "E")
        self.assertEqual(cache.keys(), ["a", "d", "e"])
        self.assertEqual(cache.stats.evictions, 0)
        cache.put("f", "F")
        self.assertEqual(cache.keys(), ["d", "e", "f"])
        self.assertEqual(cache.stats.evictions, 1)

    def test_contains_leaves_no_trace(self):
        cache = self.cache(2, keys="ab")
        self.assertIn("a", cache)
        self.assertNotIn("c", cache)
        self.assertEqual(cache.keys(), ["a", "b"])
        cache.put("c", "C")
        self.assertEqual(cache.keys(), ["b", "c"])
        self.assertEqual((cache.stats.hits, cache.stats.misses), (0, 0))

    def test_peek_leaves_no_trace(self):
        cache = self.cache(2, keys="ab")
        self.assertEqual(cache.peek("a"), "A")
        self.assertEqual(cache.peek("c", 0), 0)
        self.assertEqual(cache.keys(), ["a", "b"])
        self.assertEqual(cache.stats, Stats())

    def test_expired_is_absent(self):
        cache = self.cache(3, 10, keys="ab")
        self.clock.now = 5
        cache.put("c", "C")
        self.clock.now = 10
        self.assertEqual(len(cache), 1)
        self.assertNotIn("a", cache)
        self.assertIsNone(cache.peek("a"))
        self.assertFalse(cache.discard("b"))
        self.assertTrue(cache.discard("c"))
        self.assertEqual(len(cache), 0)

    def test_capacity(self):
        with self.assertRaises(ValueError):
            Cache(0)


if __name__ == "__main__":
    unittest.main()
