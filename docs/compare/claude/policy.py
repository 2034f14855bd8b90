# The hook of settings.json: it denies `git push` and .env, and allows the tests.
import json
import sys


def deny(reason):
    print(reason, file=sys.stderr)
    sys.exit(2)


call = json.load(sys.stdin)
tool, arguments = call["tool_name"], call["tool_input"]
if tool == "Read" and arguments["file_path"].endswith(".env"):
    deny("reading .env is not allowed")
if tool == "Bash":
    command = arguments["command"]
    if command.startswith("git push"):
        deny("git push is not allowed")
    if command.startswith("go test"):
        print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}))
