def main():
    s = 0
    for i in range(3000):
        for j in range(10000):
            s = (s + i * j) % 1000003
    return s

print(main())
