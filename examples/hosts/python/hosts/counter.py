"""A host that counts words. Everything it prints is a message of the protocol; what it wants to say otherwise goes to
stderr. flush=True matters: a line in a buffer is a line that nobody reads."""
import json
import sys


def send(message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] != "prompt":
        continue
    words = message["text"].split()
    send({"type": "question", "id": "case", "question": "Count The and the as two words?"})
    answer = json.loads(sys.stdin.readline())
    if answer.get("value") != "yes":
        words = [word.lower() for word in words]
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    send({"type": "result", "text": f"{len(counts)} different words", "counts": counts})
