import unittest

from paging import Page, link_header, navigation, summary, window

URL = "https://example.net/search"


class PageTest(unittest.TestCase):
    def test_in_the_middle(self):
        page = Page(2, 10, 25)
        self.assertEqual((page.first, page.last, page.count), (11, 20, 3))
        self.assertEqual(list(range(100))[page.slice], list(range(10, 20)))

    def test_count(self):
        for total, count in ((1, 1), (9, 1), (10, 1), (11, 2), (20, 2), (21, 3)):
            self.assertEqual(Page(1, 10, total).count, count, total)

    def test_no_results(self):
        page = Page(1, 10, 0)
        self.assertEqual((page.count, page.number), (1, 1))
        self.assertEqual([][page.slice], [])
        self.assertEqual(summary(page), "No results")
        self.assertEqual(navigation(page), "[1]")

    def test_last_page(self):
        page = Page(3, 10, 25)
        self.assertEqual((page.first, page.last), (21, 25))
        self.assertEqual(list(range(25))[page.slice], list(range(20, 25)))

    def test_number_is_moved(self):
        self.assertEqual(Page(0, 10, 25).number, 1)
        self.assertEqual(Page(-3, 10, 25).number, 1)
        self.assertEqual(Page(4, 10, 25).number, 3)
        self.assertEqual(Page(3, 10, 20).number, 2)
        self.assertEqual(Page(9, 10, 0).number, 1)

    def test_bad_values(self):
        for size, total in ((0, 1), (1, -1)):
            with self.assertRaises(ValueError):
                Page(1, size, total)


class SummaryTest(unittest.TestCase):
    def test_full_page(self):
        self.assertEqual(summary(Page(1, 10, 25)), "Results 1–10 of 25")

    def test_last_page(self):
        self.assertEqual(summary(Page(3, 10, 25)), "Results 21–25 of 25")

    def test_single_result(self):
        self.assertEqual(summary(Page(3, 10, 21)), "Result 21 of 21")
        self.assertEqual(summary(Page(2, 1, 3)), "Result 2 of 3")


class WindowTest(unittest.TestCase):
    def test_gaps_on_both_sides(self):
        self.assertEqual(window(Page(10, 10, 200)), [1, None, 8, 9, 10, 11, 12, None, 20])

    def test_all_pages(self):
        self.assertEqual(window(Page(2, 10, 35)), [1, 2, 3, 4])
        self.assertEqual(window(Page(3, 10, 50)), [1, 2, 3, 4, 5])

    def test_no_gap_next_to_the_first_page(self):
        self.assertEqual(window(Page(4, 10, 200)), [1, 2, 3, 4, 5, 6, None, 20])

    def test_gap_of_one(self):
        self.assertEqual(window(Page(5, 10, 200)), [1, 2, 3, 4, 5, 6, 7, None, 20])
        self.assertEqual(window(Page(16, 10, 200)), [1, None, 14, 15, 16, 17, 18, 19, 20])

    def test_gap_of_two(self):
        self.assertEqual(window(Page(6, 10, 200)), [1, None, 4, 5, 6, 7, 8, None, 20])
        self.assertEqual(window(Page(15, 10, 200)), [1, None, 13, 14, 15, 16, 17, None, 20])

    def test_ends(self):
        self.assertEqual(window(Page(1, 10, 200)), [1, 2, 3, None, 20])
        self.assertEqual(window(Page(20, 10, 200)), [1, None, 18, 19, 20])

    def test_nothing_around(self):
        self.assertEqual(window(Page(3, 10, 50), 0), [1, 2, 3, 4, 5])
        self.assertEqual(window(Page(4, 10, 70), 0), [1, None, 4, None, 7])

    def test_navigation(self):
        self.assertEqual(navigation(Page(4, 10, 90), 1), "1 2 3 [4] 5 … 9")


class LinkHeaderTest(unittest.TestCase):
    def targets(self, number, url, total=90):
        links = {}
        for link in link_header(Page(number, 10, total), url).split(", "):
            target, _, relation = link.partition("; ")
            links[relation[len('rel="') : -1]] = target[1:-1]
        return links

    def test_in_the_middle(self):
        self.assertEqual(
            link_header(Page(5, 10, 90), URL),
            f'<{URL}?page=1>; rel="first", <{URL}?page=4>; rel="prev", '
            f'<{URL}?page=6>; rel="next", <{URL}?page=9>; rel="last"',
        )

    def test_first_page(self):
        self.assertEqual(
            link_header(Page(1, 10, 11), URL),
            f'<{URL}?page=2>; rel="next", <{URL}?page=2>; rel="last"',
        )

    def test_last_page(self):
        self.assertEqual(
            link_header(Page(2, 10, 20), URL),
            f'<{URL}?page=1>; rel="first", <{URL}?page=1>; rel="prev"',
        )

    def test_single_page(self):
        self.assertEqual(link_header(Page(1, 10, 10), URL), "")

    def test_page_is_added_at_the_end(self):
        self.assertEqual(self.targets(1, f"{URL}?q=tea&sort=date")["next"], f"{URL}?q=tea&sort=date&page=2")

    def test_page_is_replaced_where_it_is(self):
        self.assertEqual(self.targets(2, f"{URL}?q=tea&page=2&sort=date")["next"], f"{URL}?q=tea&page=3&sort=date")

    def test_further_pages_are_removed(self):
        self.assertEqual(self.targets(1, f"{URL}?page=7&q=tea&page=1")["next"], f"{URL}?page=2&q=tea")

    def test_other_parameters_are_not_touched(self):
        query = "q=a+b%20c&tag=x&empty=&flag&tag=%c3%a4&my_page=5&pages=1&tag=~*"
        self.assertEqual(self.targets(1, f"{URL}?{query}")["next"], f"{URL}?{query}&page=2")

    def test_fragment(self):
        self.assertEqual(self.targets(1, f"{URL}?q=tea#list")["last"], f"{URL}?q=tea&page=9#list")

    def test_page_without_a_value(self):
        self.assertEqual(self.targets(1, f"{URL}?page&q=tea")["next"], f"{URL}?page=2&q=tea")


if __name__ == "__main__":
    unittest.main()
