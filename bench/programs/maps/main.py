def by_int(n):
    m = {}
    for i in range(n):
        m[i * 7919 % 10000019] = i
    sum = 0
    for i in range(n):
        key = i * 7919 % 10000019
        m[key] += 1
        sum += m[key]
    for i in range(n):
        if i % 2 == 0:
            del m[i * 7919 % 10000019]
    for key, v in m.items():
        sum += key % 10 + v
    return sum + len(m)

def by_string(n):
    m = {}
    for i in range(n):
        m[f"key {i}"] = i
    sum = 0
    for i in range(n):
        sum += m.get(f"key {i * 7 % n}", 0)
    for key, v in m.items():
        sum += len(key) + v
    return sum + len(m)

print(f"{by_int(1000000)} {by_string(1000000)}")
