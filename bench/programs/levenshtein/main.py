def distance(a, b):
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            best = diagonal if letter == b[j] else diagonal + 1
            if above + 1 < best:
                best = above + 1
            if row[j] + 1 < best:
                best = row[j] + 1
            row[j + 1] = best
            diagonal = above
    return row[len(b)]


def main():
    letters, words, seed = "abcdefghij", [], 42
    for i in range(120):
        word = []
        for _ in range(12 + i % 17):
            seed = (seed * 3877 + 29573) % 139968
            word.append(letters[seed * 10 // 139968])
        words.append(word)
    print(sum(distance(a, b) for a in words for b in words))


main()
