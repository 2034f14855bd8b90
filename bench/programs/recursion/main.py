import sys

sys.setrecursionlimit(20000)

def down(n, acc):
    if n == 0:
        return acc
    below = down(n - 1, (acc * 3 + n) % 1000003)
    return below + n % 3

def main():
    sum = 0
    for i in range(500):
        sum += down(10000, i)
    return sum

print(main())
