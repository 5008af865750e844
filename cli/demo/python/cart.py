"""A shopping cart. Prices are in cents."""


def subtotal(items):
    """The sum of all (price, quantity) pairs."""
    return sum(price for price, quantity in items)


def total(items, discount):
    """The sum less a discount in percent."""
    amount = subtotal(items)
    return amount - amount * discount // 100
