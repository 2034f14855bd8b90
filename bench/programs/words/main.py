def main():
    counts = {}
    total = 0
    for i in range(1000000):
        key = "w" + str(i * 7919 % 1000)
        counts[key] = counts.get(key, 0) + 1
        total += len(key)
    return total + counts["w7"]

print(main())
