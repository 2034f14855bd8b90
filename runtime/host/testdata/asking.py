"""A host as its author would write it in Python: blocking reads, flushed prints."""
import json
import os
import sys


def say(message):
    print(json.dumps(message), flush=True)


def main():
    params, count = {}, 0
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "init":
            params = message["params"]
            say({"type": "init_ack", "version": "1.0.0", "capabilities": ["streaming"]})
            continue
        count += 1
        print("working on", message["text"], file=sys.stderr, flush=True)
        say({"type": "progress", "message": "Überblick", "percent": 10})
        say({"type": "question", "id": "q%d" % count, "question": "keep “it”?", "options": ["yes", "no"]})
        answer = json.loads(sys.stdin.readline())
        if answer.get("value") == "fail":
            os._exit(3)
        say({"type": "result", "text": "%s: %s" % (params.get("model"), answer["value"]), "count": count,
             "context": message.get("context")})


main()
