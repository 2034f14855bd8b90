def compose(f, g):
    return lambda x: g(f(x))

def twice(f):
    return lambda x: f(f(x))

def counter(by):
    n = 0
    def tick():
        nonlocal n
        n += by
        return n
    return tick

def fold(xs, init, f):
    acc = init
    for x in xs:
        acc = f(acc, x)
    return acc

def main():
    first = compose(compose(lambda x: x + 1, lambda x: x * 3), lambda x: x % 10007)
    second = twice(lambda x: x + 7)
    third = twice(twice(lambda x: x - 2))
    table = [first, second, third]
    tick = counter(2)
    xs = list(range(1000))
    acc = 0
    for round in range(3000):
        f = table[round % 3]
        acc += fold(xs, 0, lambda sum, x: sum + f(x)) % 1000 + tick()
    return acc

print(main())
