import json


class Mismatch(Exception):
    pass


class Item:
    __slots__ = ("sku", "count", "price", "tags")


class Address:
    __slots__ = ("street", "city", "zip")


class Order:
    __slots__ = ("id", "customer", "kind", "address", "items", "note")


def need(v, kind, name):
    x = v.get(name)
    if type(x) is not kind:
        raise Mismatch(name)
    return x


def read_item(v):
    if type(v) is not dict:
        raise Mismatch("item")
    x = Item()
    x.sku, x.count = need(v, str, "sku"), need(v, int, "count")
    price = v.get("price")
    if type(price) is int:
        price = float(price)
    elif type(price) is not float:
        raise Mismatch("price")
    x.price, x.tags = price, need(v, list, "tags")
    for t in x.tags:
        if type(t) is not str:
            raise Mismatch("tags")
    return x


def read_address(v):
    x = Address()
    x.street, x.city, x.zip = need(v, str, "street"), need(v, str, "city"), need(v, int, "zip")
    return x


def read_order(text):
    v = json.loads(text)
    if type(v) is not dict:
        raise Mismatch("order")
    x = Order()
    x.id, x.customer, x.kind = need(v, int, "id"), need(v, str, "customer"), need(v, str, "kind")
    if x.kind not in ("new", "returned"):
        raise Mismatch("kind")
    x.address = read_address(need(v, dict, "address"))
    x.items = [read_item(i) for i in need(v, list, "items")]
    note = v.get("note")
    if note is not None and type(note) is not str:
        raise Mismatch("note")
    x.note = note
    return x


def item(i, k):
    return f'{{"sku": "item-{i % 97}-{k}", "count": {k + 1}, "price": {i % 50}.25, "tags": ["small", "t{k}"]}}'


def reply(i):
    items = []
    for k in range(5):
        items.append(item(i, k))
    kind = "returned" if i % 3 == 0 else "new"
    note = ', "note": "leave it at the door"' if i % 2 == 0 else ""
    return f'{{"id": {i}, "customer": "user {i % 1000}", "kind": "{kind}", "address": {{"street": "Main Street {i % 200}", "city": "Zürich", "zip": {8000 + i % 100}}}, "items": [{", ".join(items)}]{note}}}'


def main():
    pieces, total, length = 0, 0.0, 0
    for i in range(10000):
        order = read_order(reply(i))
        for x in order.items:
            pieces += x.count
            total += x.price * float(x.count)
            length += len(x.sku) + len(x.tags)
        if order.kind == "returned":
            pieces -= 1
        if order.note is not None:
            length += len(order.note)
        length += len(order.customer) + len(order.address.city) + order.address.zip % 7
    return f"{pieces} {total:.2f} {length}"


print(main())
