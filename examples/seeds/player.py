"""A host that plays a script: `player.py SCRIPT.json`.

A prompt is a message or, for hosts without formats, a plain line. The script is an array of messages: for each prompt
they are sent in turn up to a `result` or `error`; the next prompt goes on from there, and begins anew after the last
one. After a question, approval or tool_call the player waits for the answer with its id in `answer_to`, and takes its
`value`; `{id}` in a later text stands for it.
"""
import json
import sys

WANT_ANSWER = ("question", "approval", "tool_call")


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return {"type": "prompt", "text": line}


def answer_to(id):
    while True:
        message = receive()
        if message.get("answer_to") == id:
            return message.get("value", "error: " + str(message.get("error")))


def filled(text, answers):
    for id, value in answers.items():
        text = text.replace("{" + id + "}", value if isinstance(value, str) else json.dumps(value))
    return text


def main():
    with open(sys.argv[1]) as f:
        script = json.load(f)
    at = 0
    answers = {}
    while True:
        if receive()["type"] != "prompt":
            continue
        done = False
        while not done:
            message = dict(script[at % len(script)])
            at += 1
            if "text" in message:
                message["text"] = filled(message["text"], answers)
            print(json.dumps(message), flush=True)
            if message["type"] in WANT_ANSWER:
                answers[message["id"]] = answer_to(message["id"])
            done = message["type"] in ("result", "error")


main()
