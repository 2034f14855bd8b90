"""The host protocol in a few lines, shared by the hosts of this example."""
import json
import sys


def send(**message):
    print(json.dumps(message), flush=True)


def receive():
    """The next message, or None when there are no more."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def ask(**message):
    """Sends a question or approval and returns the answer."""
    send(**message)
    while (reply := receive()) is not None:
        if reply.get("answer_to") == message["id"]:
            if "error" in reply:
                raise RuntimeError(reply["error"])
            return reply["value"]
    sys.exit("no answer to " + message["id"])


def serve(work):
    """Calls work with the text of each prompt and sends its return value as the result."""
    while (message := receive()) is not None:
        if message["type"] == "prompt":
            try:
                send(type="result", **work(message["text"]))
            except RuntimeError as e:
                send(type="error", message=str(e))
