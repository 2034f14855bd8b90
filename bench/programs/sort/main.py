def sift(xs, start, end):
    root = start
    while True:
        child = root * 2 + 1
        if child >= end:
            return
        if child + 1 < end and xs[child] < xs[child + 1]:
            child += 1
        if xs[root] >= xs[child]:
            return
        xs[root], xs[child] = xs[child], xs[root]
        root = child

def heapsort(xs):
    out = list(xs)
    n = len(out)
    for start in range(n // 2 - 1, -1, -1):
        sift(out, start, n)
    for end in range(n - 1, 0, -1):
        out[end], out[0] = out[0], out[end]
        sift(out, 0, end)
    return out

def main():
    xs = []
    seed = 42
    for i in range(200000):
        seed = seed * 16807 % 2147483647
        xs.append(seed)
    ours = heapsort(xs)
    library = sorted(xs)
    check = 0
    for i in range(len(ours)):
        if ours[i] != library[i]:
            raise AssertionError(f"they differ at {i}")
        check = (check * 31 + ours[i]) % 1000000007
    return check

print(main())
