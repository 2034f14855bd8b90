def fannkuch(n):
    first, count = list(range(n)), list(range(n))
    most, total, even, r = 0, 0, True, n
    while True:
        while r > 1:
            count[r - 1] = r
            r -= 1
        p = first[:]
        flips, k = 0, p[0]
        while k > 0:
            i, j = 0, k
            while i < j:
                p[i], p[j] = p[j], p[i]
                i += 1
                j -= 1
            flips += 1
            k = p[0]
        if flips > most:
            most = flips
        total += flips if even else -flips
        while True:
            if r == n:
                return total, most
            moved = first[0]
            for i in range(r):
                first[i] = first[i + 1]
            first[r] = moved
            count[r] -= 1
            if count[r] > 0:
                break
            r += 1
        even = not even


print(*fannkuch(9))
