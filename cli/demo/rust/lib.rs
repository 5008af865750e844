//! A shopping cart. Prices are in cents.

/// An item in the cart.
pub struct Item {
    pub price: u64,
    pub quantity: u64,
}

/// The sum of all items.
pub fn subtotal(items: &[Item]) -> u64 {
    items.iter().map(|item| item.price).sum()
}

/// The sum less a discount in percent.
pub fn total(items: &[Item], discount: u64) -> u64 {
    let sum = subtotal(items);
    sum - sum * discount / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cart() -> Vec<Item> {
        vec![Item { price: 250, quantity: 4 }, Item { price: 1000, quantity: 1 }]
    }

    #[test]
    fn quantities_count() {
        assert_eq!(subtotal(&cart()), 2000);
    }

    #[test]
    fn a_discount_is_taken_off() {
        assert_eq!(total(&cart(), 10), 1800);
    }
}
