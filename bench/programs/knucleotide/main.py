def make(n):
    letters, parts, seed = "ACGT", [], 42
    for _ in range(n):
        seed = (seed * 3877 + 29573) % 139968
        parts.append(letters[seed * 4 // 139968])
    return "".join(parts)


def count(text, size):
    found = {}
    for i in range(len(text) - size + 1):
        key = text[i:i + size]
        found[key] = found.get(key, 0) + 1
    return found


def main():
    text, total = make(500000), 0
    for size in range(1, 7):
        found = count(text, size)
        for n in found.values():
            total = (total * 31 + n * size) % 1000003
        total += len(found) + found.get("GGT", 0) + found.get("ACGTAC", 0)
    print(total)


main()
