def matrix(n, seed):
    out = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append((i * seed + j * 7) % 13 / 4.0)
        out.append(row)
    return out

def product(a, b, n):
    out = matrix(n, 0)
    for i in range(n):
        row = a[i]
        to = out[i]
        for j in range(n):
            sum = 0.0
            for k in range(n):
                sum += row[k] * b[k][j]
            to[j] = sum
    return out

def main():
    n = 300
    c = product(matrix(n, 3), matrix(n, 5), n)
    trace = 0.0
    for i in range(n):
        trace += c[i][i] + c[i][n - 1 - i]
    return int(trace)

print(main())
