import unittest

from cart import subtotal, total

CART = [(250, 4), (1000, 1)]


class CartTest(unittest.TestCase):
    def test_quantities_count(self):
        self.assertEqual(subtotal(CART), 2000)

    def test_a_discount_is_taken_off(self):
        self.assertEqual(total(CART, 10), 1800)


if __name__ == "__main__":
    unittest.main()
