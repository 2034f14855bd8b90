def fmap(xs, f):
    out = []
    for x in xs:
        out.append(f(x))
    return out

def ffilter(xs, f):
    out = []
    for x in xs:
        if f(x):
            out.append(x)
    return out

def freduce(xs, init, f):
    acc = init
    for x in xs:
        acc = f(acc, x)
    return acc

def main():
    xs = []
    for i in range(1000000):
        xs.append(i)
    k = 3
    sum = 0
    for r in range(1, 4):
        doubled = fmap(xs, lambda x: x * 2 + r)
        kept = ffilter(doubled, lambda x: x % k == 0)
        sum = sum + freduce(kept, 0, lambda a, b: a + b)
    return sum

print(main())
