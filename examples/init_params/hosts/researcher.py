"""A host that is configured by parameters: it acknowledges `init` first."""
import json
import sys


def send(message):
    print(json.dumps(message), flush=True)


def main():
    params = {}
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "init":
            params = message["params"]
            send({"type": "init_ack", "version": "1.0.0", "capabilities": []})
        elif message["type"] == "prompt" and "schema" in message:
            known = {name: value for name, value in params.items() if name != "token"}
            known["token_length"] = len(params["token"])
            send({"type": "result", "text": json.dumps(known)})
        elif message["type"] == "prompt":
            send({"type": "log", "level": "debug", "message": "asking " + params["model"]})
            send({"type": "result", "text": "Joseph Paxton, says " + params["sources"][0]})


main()
