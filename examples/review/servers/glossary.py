"""A small MCP server over standard streams: a glossary with two tools."""
import json
import sys

TERMS = {"host": "a program that works for the program", "agent": "a model behind a connection"}

TOOLS = [
    {
        "name": "define",
        "description": "Defines a term",
        "inputSchema": {"type": "object", "properties": {"term": {"type": "string"}}, "required": ["term"]},
    },
    {"name": "terms", "description": "All terms", "inputSchema": {"type": "object", "properties": {}}},
]


def text(value, error=False):
    return {"content": [{"type": "text", "text": value}], "isError": error}


def call(name, args):
    if name == "terms":
        return text(json.dumps(sorted(TERMS)))
    term = args.get("term", "")
    if term in TERMS:
        return text(TERMS[term])
    return text(f"there is no term {term}", error=True)


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "glossary", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message)
    if result is None:
        reply["error"] = {"code": -32601, "message": "method not found"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
