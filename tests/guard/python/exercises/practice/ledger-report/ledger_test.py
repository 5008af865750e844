import io
import os
import tempfile
import unittest

from ledger.cli import main

ENTRIES = """\
date,category,amount
2024-03-02,food,12.50
2024-02-28,Travel,100
2024-02-01,Food,7.255
2024-03-09,,-3.50
2024-03-31,travel,20.00
2023-12-31,food,1
"""

AWKWARD = '''\
date,category,amount
2024-01-01,"books, used",4
2024-01-02,"the ""good"" shop",5
2024-01-03,=SUM(A1),6
2024-01-04,-refund,-7
2024-01-05,it's,8
2024-01-06,"two
lines",9
2024-01-07,"+a,b",1
'''


class Case(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def report(self, entries, *options, code=0):
        path = os.path.join(self.place.name, "entries.csv")
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(entries)
        out, err = io.StringIO(), io.StringIO()
        self.assertEqual(main([path, *options], out, err), code)
        return err.getvalue() if code else out.getvalue()


class PresentOutputTest(Case):
    def test_default(self):
        self.assertEqual(
            self.report(ENTRIES),
            "food     20.76\nTravel  120.00\n(none)   -3.50\ntotal   137.26\n",
        )

    def test_no_entries(self):
        self.assertEqual(self.report("date,category,amount\n"), "total  0.00\n")

    def test_errors(self):
        self.assertEqual(
            self.report("date,category,amount\n2024-02-30,a,1\n", code=1),
            "ledger: line 2: bad date '2024-02-30'\n",
        )
        self.assertEqual(self.report("date,amount\n", code=1), "ledger: no column 'category'\n")


class GroupingTest(Case):
    def test_category_is_the_default(self):
        self.assertEqual(self.report(ENTRIES, "--by", "category"), self.report(ENTRIES))

    def test_month(self):
        self.assertEqual(
            self.report(ENTRIES, "--by", "month"),
            "2023-12    1.00\n2024-02  107.26\n2024-03   29.00\ntotal    137.26\n",
        )

    def test_category_and_month(self):
        rows = [line.split() for line in self.report(ENTRIES, "--by", "category,month").splitlines()]
        self.assertEqual(
            rows,
            [
                ["food", "2023-12", "1.00"],
                ["food", "2024-02", "7.26"],
                ["food", "2024-03", "12.50"],
                ["food", "subtotal", "20.76"],
                ["Travel", "2024-02", "100.00"],
                ["Travel", "2024-03", "20.00"],
                ["Travel", "subtotal", "120.00"],
                ["(none)", "2024-03", "-3.50"],
                ["(none)", "subtotal", "-3.50"],
                ["total", "137.26"],
            ],
        )

    def test_unknown_grouping(self):
        for value in ("year", "month,category", ""):
            self.assertEqual(
                self.report(ENTRIES, "--by", value, code=2),
                f"ledger: cannot group by '{value}'\n",
            )


class CsvTest(Case):
    def test_category(self):
        self.assertEqual(
            self.report(ENTRIES, "--format", "csv"),
            "category,total\nfood,20.76\nTravel,120.00\n(none),-3.50\ntotal,137.26\n",
        )

    def test_month(self):
        self.assertEqual(
            self.report(ENTRIES, "--format", "csv", "--by", "month"),
            "month,total\n2023-12,1.00\n2024-02,107.26\n2024-03,29.00\ntotal,137.26\n",
        )

    def test_category_and_month(self):
        self.assertEqual(
            self.report(ENTRIES, "--by", "category,month", "--format", "csv").splitlines()[4:],
            [
                "food,subtotal,20.76",
                "Travel,2024-02,100.00",
                "Travel,2024-03,20.00",
                "Travel,subtotal,120.00",
                "(none),2024-03,-3.50",
                "(none),subtotal,-3.50",
                "total,,137.26",
            ],
        )

    def test_quoting(self):
        self.assertEqual(
            self.report(AWKWARD, "--format", "csv"),
            "category,total\n"
            '"\'+a,b",1.00\n'
            "'-refund,-7.00\n"
            "'=SUM(A1),6.00\n"
            '"books, used",4.00\n'
            "it's,8.00\n"
            '"the ""good"" shop",5.00\n'
            '"two\nlines",9.00\n'
            "total,26.00\n",
        )

    def test_negative_total(self):
        self.assertEqual(
            self.report("date,category,amount\n2024-01-01,@home,-1\n", "--format", "csv"),
            "category,total\n'@home,-1.00\ntotal,-1.00\n",
        )

    def test_no_entries(self):
        self.assertEqual(
            self.report("date,category,amount\n", "--format", "csv", "--by", "category,month"),
            "category,month,total\ntotal,,0.00\n",
        )


if __name__ == "__main__":
    unittest.main()
