"""Takes the place of Claude Code: plays the recorded session of a task, in Claude Code's protocol,
and repeats the changes that the session made. sessions.json has a session for each task: a list of
calls of Claude Code's tools, [name, input]."""
import itertools
import json
import pathlib
import subprocess
import sys

SESSION = "00000000-0000-4000-8000-000000000001"
sessions = json.loads(pathlib.Path(__file__).with_name("sessions.json").read_text())
numbers = itertools.count(1)


def send(**message):
    print(json.dumps(message | {"session_id": SESSION}), flush=True)


def receive(wanted):
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == wanted:
            return message
    sys.exit()


def call(tool, given):
    """Asks whether a tool may be called, and calls it."""
    call_id = f"toolu_{next(numbers)}"
    send(type="assistant", message={"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": tool, "input": given}]})
    send(type="control_request", request_id=call_id, request={"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": call_id})
    answer = receive("control_response")["response"]["response"]
    if answer["behavior"] != "allow":
        return answer.get("message", "denied")
    given = answer["updatedInput"]
    path = pathlib.Path(given.get("file_path", ""))
    if tool == "Write":
        path.write_text(given["content"])
    elif tool == "Edit":
        path.write_text(path.read_text().replace(given["old_string"], given["new_string"]))
    elif tool == "Bash":
        subprocess.run(given["command"], shell=True, check=True)
    send(type="user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "done"}]})
    return ""


def play(prompt):
    """Does the task that the prompt names."""
    task = prompt.split(":")[0]
    send(type="system", subtype="init", cwd=str(pathlib.Path.cwd()), tools=["Bash", "Edit", "Write"], model="recorded")
    denied = [why for tool, given in sessions[task] if (why := call(tool, given))]
    text = f"could not finish {task}: {denied[0]}" if denied else f"done: {task}"
    send(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})
    send(type="result", subtype="success", is_error=bool(denied), result=text, num_turns=1, total_cost_usd=0.02,
         usage={"input_tokens": 900, "output_tokens": 100})


if "--version" in sys.argv:
    print("2.1.197 (Claude Code)")
    sys.exit()
first = receive("control_request")
send(type="control_response", response={"subtype": "success", "request_id": first["request_id"], "response": {"commands": []}})
while True:
    play(receive("user")["message"]["content"][0]["text"])
