import sys

sys.setrecursionlimit(10000)

def sum(xs):
    match xs:
        case []:
            return 0
        case [x, *rest]:
            return x + sum(rest)

def main():
    all = 0
    for i in range(20):
        all += sum(list(range(i, i + 2000)))
    return all

print(main())
