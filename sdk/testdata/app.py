"""An application for the tests of concerto.py: does what its first argument says, at
the server that the others name, and prints what comes of it, a JSON array a line."""
import asyncio
import json
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, TypedDict

from concerto import *

PLAIN = {"type": "object"}


def say(*what):
    print(json.dumps(what, ensure_ascii=False), flush=True)


async def server(**more):
    if sys.argv[2] == "stdio":
        return await Concerto.stdio("--max-message", "1000000", *os.environ.get("FLAG", "").split(), cwd="testdata/app")
    return await Concerto.connect(sys.argv[2], sys.argv[3], **more)


async def outcome(work):
    """What comes of something, or goes wrong with it."""
    try:
        return await work
    except ToolError as e:
        return ["ToolError", e.outcome, str(e)]
    except SessionError as e:
        return ["SessionError", e.kind, e.message, [p["function"] for p in e.trace]]
    except RequestError as e:
        return ["RequestError", e.code, str(e)]
    except ConnectionLost as e:
        return ["ConnectionLost", str(e)]


def seen(e):
    """Of an event, what is the same each time."""
    if e.type == "tool":
        return [e.type, e.phase, e.tool, e.by, e.route, e.get("outcome")]
    if e.type == "state":
        return [e.type, e.state, e.get("result")]
    payload = e.get("payload")
    if isinstance(payload, dict):
        payload.pop("call_id", None)
    return [e.type, e.get("channel"), payload if e.type == "emit" else e.get("text", e.get("message")), e.get("awaited", False)]


async def streams():
    """Print the events of a session of each server that the test plays, whose addresses come by
    standard input."""
    for address in sys.stdin:
        async with await Concerto.connect(address.strip()) as c:
            async for e in await c.session("s1"):
                say(e.seq, e.type, e.get("text"))


async def flow():
    async with await server() as c:
        ids = []

        @c.tool(description="Pieces in stock", category="shop")
        async def stock(sku: str, ctx) -> int:
            ids.append(ctx.session_id)  # the call may come before run() gives the session
            await ctx.progress(1, 2, "counting")
            await ctx.emit("shelf", [ctx.environment, ctx.metadata, ctx.by, ctx.route, ctx.chain])
            return await ctx.call("double", {"text": sku})

        @c.tool(description="Doubles", parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
        def double(input, ctx):
            ctx.emit("route", [ctx.route, ctx.by, ctx.chain])
            return {"twice": input["text"] * 2}

        @c.tool(description="Fails")
        def fails():
            raise ValueError("no disk")

        @c.tool(description="Refuses", parameters=PLAIN)
        async def refuses(input, ctx):
            return {"success": False, "error": "not today"}

        @c.tool(description="Gives what is no JSON")
        def no_json():
            return lambda: 1

        @c.tool(description="Gives much")
        def large():
            return "é" * 100_000

        @c.tool(description="Gives too much")
        def too_large():
            return "x" * 1_000_001

        c.on_await("approve", lambda a: "yes, " + a["sku"])

        @c.on_await("broken")
        async def broken(n):
            raise ValueError(f"broken {n}")

        session = await c.run("flow.conc", inputs={"n": 9007199254740991}, environment={"TEAM": "a"}, metadata={"user": "ada"})
        events = [e async for e in session]
        say("dense", [e.seq for e in events] == list(range(1, len(events) + 1)))
        for e in events:
            say(*seen(e))
        say("result", await outcome(session.result()), session.state, session.usage["calls"])
        say("again", len([e async for e in session]) == len(events), ids == [session.id])
        say("tools", [t["name"] for t in await c.tools()], [t["name"] for t in await c.tools(category="shop")])
        say("call", await outcome(c.call("double", {"text": "a"})))
        say("arguments", await outcome(c.call("double", {"text": 1})))
        say("missing", await outcome(c.call("treble")))
        say("too large", await outcome(c.call("too_large")))
        say("unregister", await c.unregister("double"), await c.unregister("double"))
        say("gone", await outcome(c.call("double", {"text": "a"})))
        c.tool(fails, description="Fails again")
        say("duplicate", await outcome(c.registered()))
        say("fails", await outcome((await c.run("fails.conc")).result()))
        say("wrong", await outcome(c.run("wrong.conc")))
        say("no program", await outcome(c.run("none.conc")))
        say("budget", await outcome(c.run("hangs.conc", budget={"max_tokens": -1})))
        begun, ended = asyncio.Event(), asyncio.Event()

        @c.tool(description="Waits")
        async def hangs(ctx):
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                say("cancelled", bool(ctx.cancelled))
                ended.set()

        session = await c.run("hangs.conc")
        await begun.wait()
        await session.cancel("enough of it")
        await ended.wait()
        say("cancel", await outcome(session.result()), session.state)
        begun.clear()
        ended.clear()
        call = asyncio.ensure_future(c.call("hangs"))
        await begun.wait()
        call.cancel()
        await ended.wait()
        await asyncio.wait([call])
        say("taken back", call.cancelled())
    say("closed", await outcome(c.run("flow.conc")))


async def steps():
    """A session in which the test cuts the connection at each step that it wants to."""
    c = await server()
    loop = asyncio.get_running_loop()
    # The first call may arrive before the answer to the start of the session. If the test cut the
    # connection in between, it would be unknown whether the session was started.
    started = asyncio.Event()

    @c.tool(description="A step")
    async def step(i: int, ctx) -> int:
        await started.wait()
        await ctx.progress(i)
        say("step", i)
        await loop.run_in_executor(None, sys.stdin.readline)
        return i * 10

    session = await c.run("steps.conc")
    started.set()
    events = [e async for e in session]
    say("dense", [e.seq for e in events] == list(range(1, len(events) + 1)))
    say("steps", [e.payload for e in events if e.type == "emit" and e.channel == "step"])
    say("result", await session.result())
    await c.close()


async def renewed():
    """The test replaces the server by another one."""
    c = await server()

    @c.tool(description="A step")
    async def step(i: int) -> int:
        return i

    @c.tool(description="Waits")
    async def hangs(ctx) -> int:
        say("hangs")
        await asyncio.Event().wait()

    session = await c.run("hangs.conc")
    before = c.client_id
    call = asyncio.ensure_future(outcome(session.result()))
    lost = await call
    say("lost", lost[:2], lost[2].startswith(f"the server does not know session {session.id} any more"), c.client_id != before)
    say("again", await (await c.run("steps.conc")).result())
    await c.close()


async def dies():
    """The test kills the server."""
    c = await server(**({} if sys.argv[2] == "stdio" else {"patience": 0.1}))

    @c.tool(description="Waits")
    async def hangs(ctx):
        say("hangs")
        await asyncio.Event().wait()

    session = await c.run("hangs.conc")
    say("result", await outcome(session.result()))
    say("events", await outcome(last(session)))
    say("call", await outcome(c.call("hangs")))
    await c.close()


async def last(session):
    async for e in session:
        pass


async def connects():
    say(*await outcome(server()))


# -- the schemas of type hints


@dataclass
class Place:
    """Where it stands."""
    shelf: int
    box: Optional[str] = None
    next: Optional["Place"] = None


class Filter(TypedDict, total=False):
    colour: str


async def hints():
    async with await server() as c:
        @c.tool
        async def find(sku: Annotated[str, "its number"], ctx: ToolContext, count: int, price: float = 1.5, kind: Literal["a", "b"] = "a",
                       places: Optional[list[Place]] = None, note: Optional[str] = None, *, filter: Filter, more: dict[str, bool], any=None):
            """Finds a thing.

            This is not for models."""
            return [sku, count, [type(price).__name__, price], kind, places and [type(p).__name__ for p in places], places and places[0].next.box, note, filter, more, any]

        found = (await c.tools())[0]
        say(found["description"], found["parameters"])
        say(await c.call("find", {"sku": "a", "count": 2, "price": 3, "places": [{"shelf": 1, "next": {"shelf": 2, "box": "x"}}], "filter": {"colour": "red"}, "more": {"a": True}}))
        say(await c.call("find", {"sku": "a", "count": 2, "filter": {}, "more": {}}))
        for args in ({}, {"sku": 1, "count": 1.5, "kind": "c", "filter": {"size": 1}, "more": {"a": 1}, "other": 1}):
            say(await outcome(c.call("find", args)))

        def date(d: complex): ""
        def nothing(a): pass
        def many(*args): ""
        def three(a, b, c): ""
        for f, more in ((date, {"description": "x"}), (nothing, {}), (many, {"description": "x"}), (three, {"description": "x", "parameters": {}})):
            try:
                c.tool(f, **more)
            except TypeError as e:
                say(str(e))


asyncio.run(globals()[sys.argv[1]]())
