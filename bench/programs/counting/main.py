def make():
    lines, seed = [], 42
    for _ in range(130000):
        line = []
        for _ in range(11):
            seed = (seed * 3877 + 29573) % 139968
            line.append(f"word{seed % 5000}")
        lines.append(" ".join(line))
    return "\n".join(lines)


def main():
    counts = {}
    for line in make().split("\n"):
        for word in line.split(" "):
            counts[word] = counts.get(word, 0) + 1
    order = sorted(counts.items(), key=lambda e: (-e[1], e[0]))
    print(len(counts), " ".join(f"{word} {n}" for word, n in order[:5]))


main()
