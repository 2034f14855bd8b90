def sieve(n):
    prime = []
    for i in range(n + 1):
        prime.append(True)
    i = 2
    while i * i <= n:
        if prime[i]:
            j = i * i
            while j <= n:
                prime[j] = False
                j += i
        i += 1
    count = 0
    for k in range(2, n + 1):
        if prime[k]:
            count += 1
    return count

print(sieve(2000000))
