def main():
    lines = []
    for i in range(225000):
        lines.append(f"line {i}: the quick brown fox, number {i * 31 % 1009}")
    text = "\n".join(lines)
    words = 0
    out = []
    for line in text.split("\n"):
        parts = line.replace("quick", "slow").split(" ")
        words += len(parts)
        out.append(f"{parts[1]}{parts[7]} {parts[5].upper()}")
    joined = ";".join(out)
    return f"{len(text)} {words} {len(joined)} {joined.count('FOX')} {joined.find('224999:')}"

print(main())
