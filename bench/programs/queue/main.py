def main():
    queue = []
    for i in range(1000):
        queue.append(i)
    sum = 0
    for i in range(200000):
        first = queue.pop(0)
        sum = (sum * 3 + first) % 1000003
        queue.append((first * 7 + i) % 10007)
    return sum + len(queue)

print(main())
