import json
import re
import sys
import time


def doc():
    return open("doc.json", encoding="utf-8").read()


def log():
    return open("log.txt", encoding="utf-8").read()


def numbers():
    x, xs = 12345, []
    for _ in range(1000000):
        x = (x * 1103515245 + 12345) % 2147483648
        xs.append(x)
    return xs


# By operation: what it is done to, the operation, what its result comes to.
operations = {
    "json-parse": (doc, json.loads, len),
    "json-stringify": (lambda: json.loads(doc()), lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":")), len),
    "sort": (numbers, sorted, lambda xs: xs[500000]),
    "split": (log, lambda s: s.split(" "), len),
    "join": (lambda: log().split(" "), " ".join, len),
    "find-digits": (log, lambda s: re.findall(r"\d+", s), len),
    "find-address": (log, lambda s: re.findall(r"[a-z]+\.\d+@[a-z]+\.com", s), len),
    "find-groups": (log, lambda s: list(re.finditer(r"user=(\S+) took (\d+) ms", s)), len),
    "find-nothing": (log, lambda s: re.findall("(?i)fatal|panic|abort", s), len),
    "match-lines": (lambda: log().split("\n"), lambda lines: sum(1 for l in lines if re.search(r"ERROR .* took \d{4} ms", l)), int),
    "replace": (log, lambda s: re.sub(r"\d+ ms", "N ms", s), len),
    "split-expression": (log, lambda s: re.split(r"[ \n]+", s), len),
}

prepare, operation, result = operations[sys.argv[1]]
value = prepare()
start = time.perf_counter()
value = operation(value)
ms = (time.perf_counter() - start) * 1000
print(round(ms), result(value))
