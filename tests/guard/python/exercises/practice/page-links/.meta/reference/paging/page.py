"""One page of a list of results."""


class Page:
    """`number` counts from 1."""

    def __init__(self, number, size, total):
        if size < 1:
            raise ValueError("the page size must be at least 1")
        if total < 0:
            raise ValueError("there cannot be fewer than no results")
        self.size = size
        self.total = total
        self.number = min(max(number, 1), self.count)

    @property
    def count(self):
        """How many pages there are."""
        return max(-(-self.total // self.size), 1)

    @property
    def first(self):
        return min((self.number - 1) * self.size + 1, self.total)

    @property
    def last(self):
        return min(self.number * self.size, self.total)

    @property
    def slice(self):
        """Picks the results of the page out of the whole list."""
        return slice((self.number - 1) * self.size, self.last)

    def __repr__(self):
        return f"Page({self.number} of {self.count})"
