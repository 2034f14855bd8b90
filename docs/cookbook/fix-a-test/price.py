def total(prices, discount=0):
    """The sum of the prices, less a discount in percent."""
    return sum(prices) - discount
