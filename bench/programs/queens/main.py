class Board:
    def __init__(self, size):
        self.size = size
        self.columns, self.up, self.down = [False] * size, [False] * (2 * size), [False] * (2 * size + 1)

    def place(self, row):
        n = self.size
        if row == n:
            return 1
        columns, up, down, found = self.columns, self.up, self.down, 0
        for c in range(n):
            if columns[c] or up[row + c] or down[row - c + n]:
                continue
            columns[c] = up[row + c] = down[row - c + n] = True
            found += self.place(row + 1)
            columns[c] = up[row + c] = down[row - c + n] = False
        return found


print(Board(12).place(0))
