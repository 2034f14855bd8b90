def make():
    t = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = (c >> 1) ^ 3988292384 if c & 1 else c >> 1
        t.append(c)
    return t


def crc(data, t):
    c = 4294967295
    for b in data:
        c = t[(c ^ b) & 255] ^ (c >> 8)
    return c ^ 4294967295


def main():
    data, x = [], 2463534242
    for _ in range(500000):
        x ^= (x << 13) & 4294967295
        x ^= x >> 17
        x ^= (x << 5) & 4294967295
        data.append(x & 255)
    t, total = make(), 0
    for i in range(25):
        total = (total * 31 + crc(data, t) + i) % 1000003
    print(total, x)


main()
