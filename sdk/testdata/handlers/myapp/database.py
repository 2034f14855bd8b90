"""Handlers as they are written for Amplifier, and others."""
import asyncio
import subprocess
from typing import Any

from amplifier_app_runtime.host_tools import HostToolDefinition, ToolContext, ToolResult, ToolScope


async def query_handler(input: dict[str, Any], context: ToolContext) -> ToolResult:
    print("printed")
    subprocess.run(["echo", "printed by a child"])
    return ToolResult(success=True, output={"sql": input["sql"], "cwd": context.cwd, "user": context.metadata["user"]}, metadata={"rows": 1})


def refuses(input, context):
    return ToolResult(success=False, error=f"no table {input['sql']}")


def plain(input):
    return [input["sql"], None]


def raises(input, context):
    raise ValueError("no database")


def no_json(input, context):
    return {1, 2}


async def waits(input, context):
    try:
        print("waiting", flush=True)
        await asyncio.sleep(3600)
    finally:
        print("tidied up")


async def stays(input, context):
    await context.progress(1, 2, "half")
    try:
        return {"inner": await context.call("other", {"n": input["n"]})}
    except Exception as e:
        return f"{type(e).__name__} {e.outcome}: {e}"


definition = HostToolDefinition(name="q", description="d", parameters={}, handler=plain, scope=ToolScope.GLOBAL)
