from shop.cart import total


def receipt(prices):
    return "total: %d" % total(prices)


def check():
    assert receipt([1, 2]) == "total: 3"
