import math


def decompose(a):
    n, sign = len(a), 1.0
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(a[i][j]) > abs(a[pivot][j]):
                pivot = i
        if pivot != j:
            a[pivot], a[j] = a[j], a[pivot]
            sign = -sign
        for i in range(j + 1, n):
            row, upper = a[i], a[j]
            factor = row[j] / upper[j]
            row[j] = factor
            for k in range(j + 1, n):
                row[k] -= factor * upper[k]
    return sum(math.sqrt(abs(a[i][i])) * sign for i in range(n))


def main():
    n, a, seed = 360, [], 42
    for _ in range(n):
        row = []
        for _ in range(n):
            seed = (seed * 3877 + 29573) % 139968
            row.append(seed / 139968.0)
        a.append(row)
    print(f"{decompose(a):.6f}")


main()
