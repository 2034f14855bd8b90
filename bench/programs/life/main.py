def step(cells, n):
    after = []
    for y in range(n):
        above, here, below = cells[(y + n - 1) % n], cells[y], cells[(y + 1) % n]
        row = []
        for x in range(n):
            left, right = (x + n - 1) % n, (x + 1) % n
            near = (above[left] + above[x] + above[right] + here[left] + here[right]
                    + below[left] + below[x] + below[right])
            row.append(1 if near == 3 or near == 2 and here[x] == 1 else 0)
        after.append(row)
    return after


def main():
    n, cells, seed = 128, [], 42
    for _ in range(n):
        row = []
        for _ in range(n):
            seed = (seed * 3877 + 29573) % 139968
            row.append(1 if seed % 10 < 3 else 0)
        cells.append(row)
    for _ in range(200):
        cells = step(cells, n)
    total = 0
    for row in cells:
        for cell in row:
            total = (total * 3 + cell) % 1000003
    print(total)


main()
