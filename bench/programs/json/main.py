import json

def build(n):
    records = []
    for i in range(n):
        records.append({
            "id": i,
            "name": f'user "{i}"',
            "score": i + 0.25,
            "active": i % 3 != 0,
            "tags": ["alpha", "beta", f"t{i % 17}"],
            "address": {"city": "Zürich", "zip": 8000 + i % 100, "extra": None},
        })
    return records

# The sum of all ints and of the lengths of all strings.
def weigh(v):
    kind = type(v)
    if kind is int:
        return v
    if kind is str:
        return len(v)
    if kind is list:
        sum = 0
        for item in v:
            sum += weigh(item)
        return sum
    if kind is dict:
        sum = 0
        for key, item in v.items():
            sum += len(key) + weigh(item)
        return sum
    return 1

def select(records):
    kept = []
    for r in records:
        if r["active"] and r["id"] % 2 == 0:
            kept.append({"id": r["id"], "label": r["name"] + "/" + r["address"]["city"], "twice": r["score"] * 2.0 + 0.25})
    return kept

def stringify(v):
    return json.dumps(v, ensure_ascii=False, separators=(",", ":"))

def main():
    text = stringify(build(36000))
    data = json.loads(text)
    out = stringify(select(data))
    return f"{len(text)} {weigh(data)} {len(out)}"

print(main())
