"""Run Concerto programs from an application and provide tools to them.

No dependencies, Python 3.10 or newer. This file can also be copied as concerto.py.

    import asyncio
    from concerto import Concerto

    async def main():
        async with await Concerto.stdio() as c:
            @c.tool(description="Pieces in stock")
            async def stock(sku: str, ctx) -> int:
                await ctx.progress(1, 2, "counting")
                return 7
            session = await c.run("main.conc", inputs={"sku": "a1"})
            print(await session.result())

    asyncio.run(main())

Concerto.stdio() starts `concerto serve`; Concerto.connect(url, token) connects to a
running one: http(s) is HTTP with server-sent events, ws(s) is WebSocket. Both
reconnect after a loss and then receive everything that the server still has.
The protocol is spec/22-serve.md.

    python3 concerto.py tool MODULE:FUNCTION
    python3 -m concerto tool MODULE:FUNCTION

run a function as the `command` of a tool: it gets (input, context), and what it
returns is the tool's answer.
"""
from __future__ import annotations

import asyncio
import base64
import bisect
import collections
import collections.abc
import contextlib
import dataclasses
import enum
import functools
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import logging
import os
import random
import re
import shutil
import signal
import ssl as tls
import sys
import threading
import time
import types
import typing
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Optional, Sequence, TypeVar, Union, overload

__all__ = ["Concerto", "Session", "Event", "ToolContext", "ToolResult", "ConcertoError", "RequestError", "ConnectionLost",
           "SessionError", "ToolError"]

__version__ = "0.1.0"
_PROTOCOL = 1
_log = logging.getLogger("concerto")
_F = TypeVar("_F", bound=Callable[..., Any])


# ---- Errors --------------------------------------------------------------------------


class ConcertoError(Exception):
    """The base class of all errors of this module."""


class RequestError(ConcertoError):
    """The server refused a request. code is JSON-RPC's or the protocol's, such as
    -32010 for a duplicate tool name; data is the server's additional data, or
    {}."""

    def __init__(self, message: str, code: int = 0, data: Any = None):
        super().__init__(message)
        self.code = code
        self.data: Any = data or {}


class ConnectionLost(ConcertoError, ConnectionError):
    """The server is not reachable, or no longer."""


class SessionError(ConcertoError):
    """A session ended without a result. kind is that of the program's error,
    "cancelled", "limit" (over its budget), "panic", or "lost" if the server no longer
    knows it. trace has {function, file, line, column}, innermost first."""

    def __init__(self, kind: str, message: str, trace: Optional[list[dict[str, Any]]] = None):
        super().__init__(f"{kind}: {message}")
        self.kind: str = kind
        self.message: str = message
        self.trace: list[dict[str, Any]] = trace or []


class ToolError(ConcertoError):
    """A tool call failed. outcome is failed, arguments, not_found, denied, timeout,
    cancelled, unavailable or limit. A handler may raise it to fail without a
    traceback."""

    def __init__(self, message: str, outcome: str = "failed", metadata: Optional[dict[str, Any]] = None):
        super().__init__(message)
        self.message: str = message
        self.outcome: str = outcome
        self.metadata: dict[str, Any] = metadata or {}


def _refusal(error: Any) -> RequestError:
    """The exception for the error of a response."""
    if not isinstance(error, dict):
        return RequestError(f"the server answered with an invalid error: {error!r}")
    data: Any = error.get("data")
    if not isinstance(data, dict):
        data = {}
    message = str(error.get("message", "the server refused"))
    for d in _diagnostics(data.get("diagnostics")):
        message += "\n" + d
    return RequestError(message, error.get("code", 0), data)


def _diagnostics(found: Any) -> Iterable[str]:
    """The output of `concerto check --format json` as lines."""
    for d in found if isinstance(found, list) else []:
        if isinstance(d, dict):
            at = ":".join(str(d[k]) for k in ("file", "line", "column") if k in d)
            yield f"{at}: {d.get('severity', 'error')}[{d.get('code', '')}]: {d.get('message', '')}"
            yield from (f"  hint: {h}" for h in d.get("hints") or [])


# ---- Contexts and results of tools -----------------------------------------------------


@dataclass
class ToolResult:
    """The result of a tool. Any other return value of a handler is the output of a
    successful call."""

    success: bool = True
    output: Any = None  # any JSON value
    error: Optional[str] = None
    metadata: dict[str, Any] = field(default_factory=dict)


class _Flag(threading.Event):
    """An event that is true once it is set."""

    def __bool__(self) -> bool:
        return self.is_set()


@dataclass
class ToolContext:
    """One call of a tool. environment is what the application passed for the session,
    not the environment of this process."""

    session_id: str = ""
    cwd: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    call_id: str = ""  # the same for each attempt: a key for actions that must happen once
    tool: str = ""
    version: int = 1
    by: str = ""  # the caller
    route: str = ""  # agent, host, dispatch, mcp, client or tool
    chain: list[str] = field(default_factory=list)  # names of the enclosing calls
    timeout_s: float = 0.0
    cancelled: _Flag = field(default_factory=_Flag, repr=False)  # set when the result is no longer needed
    _peer: Any = field(default=None, repr=False)

    def progress(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> Awaitable[None]:
        """Report the progress of the call. Awaiting the result is optional."""
        return self._notify("tool/progress", progress=progress, total=total, message=message)

    def emit(self, channel: str, payload: Any = None) -> Awaitable[None]:
        """Emit an event on a channel of the session."""
        _encode(payload)  # raises here if it is not JSON
        return self._notify("tool/emit", keep_none=True, channel=channel, payload=payload)

    def call(self, name: str, args: Optional[Mapping[str, Any]] = None) -> Any:
        """Call another tool and return its output; raises ToolError. Async handlers
        must await it; in other handlers it returns the output directly."""
        if self._peer is None:
            raise ConcertoError("a command that is started for each call cannot call other tools: set `answer: lines` for the tool")
        answer = self._peer.call_tool(name, args, parent=self.call_id)
        try:
            on_loop = asyncio.get_running_loop() is self._peer.loop
        except RuntimeError:
            on_loop = False
        return answer if on_loop else asyncio.run_coroutine_threadsafe(answer, self._peer.loop).result()

    def _notify(self, method: str, keep_none: bool = False, **members: Any) -> Awaitable[None]:
        if self._peer is not None:
            params = {"call_id": self.call_id, **(members if keep_none else _without_none(members))}
            self._peer.on_loop(self._peer.notify, method, params)
        return _Done()


class _Done:
    """An awaitable for something that is already done."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.sleep(0).__await__()


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    """Members that are not None."""
    return {k: v for k, v in members.items() if v is not None}


def _plain(value: Any) -> Any:
    """For json: the obvious JSON value of an object."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair becomes its escape


def _result(value: Any) -> dict[str, Any]:
    """The wire form of a handler's return value."""
    if not isinstance(value, dict) and isinstance(getattr(value, "success", None), bool) and hasattr(value, "output"):
        value = {"success": value.success, "output": value.output, "error": getattr(value, "error", None),
                 "metadata": getattr(value, "metadata", None)}
    elif not (isinstance(value, dict) and isinstance(value.get("success"), bool) and value.keys() <= {"success", "output", "error", "metadata"}):
        value = {"success": True, "output": value}
    result = {"success": value["success"], "output": value.get("output")}
    if value.get("error") is not None:
        result["error"] = str(value["error"])
    if value.get("metadata"):
        result["metadata"] = dict(value["metadata"])
    try:
        _encode(result)
    except (TypeError, ValueError) as e:
        return {"success": False, "output": None, "error": f"the handler returned a value that is not JSON: {e}"}
    return result


def _failure(name: str, e: BaseException) -> dict[str, Any]:
    """The result of a handler that raised."""
    if isinstance(e, ToolError):
        return {"success": False, "output": None, "error": e.message, **({"metadata": e.metadata} if e.metadata else {})}
    own = e.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next
    _log.warning("tool '%s' failed", name, exc_info=(type(e), e, own))
    return {"success": False, "output": None, "error": str(e) or type(e).__name__}


async def _work(f: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function: a coroutine function on this loop, any other in its own thread,
    so that it may block. When cancelled, it does not wait for the thread."""
    if inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(getattr(f, "__call__", None)):
        return await f(*args, **named)
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def settle(ok: bool, value: Any) -> None:
        if not done.done():
            (done.set_result if ok else done.set_exception)(value)

    def body() -> None:
        try:
            outcome = (True, f(*args, **named))
        except BaseException as e:  # StopIteration cannot be set on a future
            outcome = (False, RuntimeError(repr(e)) if isinstance(e, (StopIteration, SystemExit, KeyboardInterrupt)) else e)
        with contextlib.suppress(RuntimeError):  # the loop may be closed
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=body, daemon=True, name="concerto handler").start()
    value = await done
    return await value if inspect.isawaitable(value) else value


# ---- Schemas of type hints -----------------------------------------------------------


_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_TEACH = ("use str, int, float, bool, list[T], dict[str, T], Optional[T], Literal[…], an Enum, a dataclass or a TypedDict, "
          "or pass `parameters`, a JSON Schema")


class _Hints:
    """The schema of type hints, and values of the hinted types from JSON."""

    def __init__(self, where: str):
        self.where = where
        self.defs: dict[str, Any] = {}

    def schema(self, hint: Any, at: str) -> dict[str, Any]:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if hint is Any or hint is inspect.Parameter.empty:
            return {}
        if hint in _SCALARS:
            return {"type": _SCALARS[hint]}
        if origin is typing.Annotated:
            notes = [n for n in args[1:] if isinstance(n, str)]
            return {**self.schema(args[0], at), **({"description": notes[0]} if notes else {})}
        if origin is typing.Literal:
            return {"enum": list(args)}
        if origin in (Union, types.UnionType):
            return self._union(args, at)
        if hint is list or origin in (list, collections.abc.Sequence, collections.abc.Iterable):
            return {"type": "array", **({"items": self.schema(args[0], at + "[]")} if args else {})}
        if hint is dict or origin in (dict, collections.abc.Mapping):
            if args and args[0] is not str:
                raise TypeError(f"{self.where}: {at}: the keys of a JSON object are strings, not {_named(args[0])}")
            return {"type": "object", **({"additionalProperties": self.schema(args[1], at + ".*")} if args else {})}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return {"enum": [m.value for m in hint]}
        if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
            return self._record(hint, at)
        if isinstance(origin, type) and typing.is_typeddict(origin):
            return self._record(origin, at)
        raise TypeError(f"{self.where}: {at}: {_named(hint)} has no JSON Schema: {_TEACH}")

    def _union(self, args: tuple[Any, ...], at: str) -> dict[str, Any]:
        parts = [self.schema(a, at) for a in args]
        if all(set(p) == {"type"} for p in parts):
            return {"type": [p["type"] for p in parts]}
        return {"anyOf": parts}

    def _record(self, hint: Any, at: str) -> dict[str, Any]:
        name = hint.__name__
        ref = {"$ref": f"#/$defs/{name}"}
        defined = self.defs.get(name)
        if defined is not None:
            if defined[0] is not hint:
                raise TypeError(f"{self.where}: {at}: two types are called {name}: rename one")
            return ref
        self.defs[name] = (hint, None)
        fields = _fields(hint, self.where)
        body = {"type": "object", "properties": {n: self._described(t, d, f"{at}.{n}") for n, (t, _, d) in fields.items()},
                "required": [n for n, (_, required, _) in fields.items() if required], "additionalProperties": False}
        self.defs[name] = (hint, _doc(hint, body))
        return ref

    def _described(self, hint: Any, default: Any, at: str) -> dict[str, Any]:
        s = self.schema(hint, at)
        if default is not inspect.Parameter.empty and default is not None:
            with contextlib.suppress(TypeError, ValueError):
                s = {**s, "default": json.loads(_encode(default))}
        return s

    def parameters(self, fields: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The schema of an object with these members: hint, required, default."""
        properties = {n: self._described(t, d, n) for n, (t, _, d) in fields.items()}
        s: dict[str, Any] = {"type": "object", "properties": properties, "required": [n for n, (_, r, _) in fields.items() if r],
                   "additionalProperties": False}
        if self.defs:
            s["$defs"] = {n: body for n, (_, body) in self.defs.items()}
        return s


def _named(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def _doc(hint: type, body: dict[str, Any]) -> dict[str, Any]:
    doc = inspect.cleandoc(hint.__dict__.get("__doc__") or "")
    made = doc.startswith(hint.__name__ + "(")  # generated by dataclass
    return {"description": doc, **body} if doc and not made else body


def _resolved(x: Any, where: str) -> dict[str, Any]:
    """The resolved type hints of a function or class."""
    try:
        return typing.get_type_hints(x, include_extras=True)
    except NameError as e:
        raise TypeError(f"{where}: could not resolve the type hint {e.name!r}: define it at the top level of its module, or pass `parameters`") from None


def _fields(hint: type, where: str) -> dict[str, Any]:
    """name: (hint, required, default) of a dataclass or TypedDict."""
    hints, empty = _resolved(hint, where), inspect.Parameter.empty
    if not dataclasses.is_dataclass(hint):
        bare = {n: (typing.get_args(t)[0] if str(typing.get_origin(t)).endswith(("Required", "NotRequired")) else t) for n, t in hints.items()}
        return {n: (t, n in hint.__required_keys__, empty) for n, t in bare.items()}
    out = {}
    for f in dataclasses.fields(hint):
        if f.init:
            optional = f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
            out[f.name] = (hints[f.name], not optional and not _optional(hints[f.name]), f.default if f.default is not dataclasses.MISSING else empty)
    return out


def _optional(hint: Any) -> bool:
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    return typing.get_origin(hint) in (Union, types.UnionType) and type(None) in typing.get_args(hint)


def _value(hint: Any, v: Any) -> Any:
    """The value of the hinted type for a JSON value that fits the schema."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _value(args[0], v)
    if hint is float and isinstance(v, int) and not isinstance(v, bool):
        return float(v)
    if hint is int and isinstance(v, float):
        return int(v)  # 2.0 is an integer in JSON Schema
    if origin in (Union, types.UnionType):
        return _either(args, v)
    if isinstance(v, list) and args and origin in (list, collections.abc.Sequence, collections.abc.Iterable):
        return [_value(args[0], x) for x in v]
    if isinstance(v, dict) and args and origin in (dict, collections.abc.Mapping):
        return {k: _value(args[1], x) for k, x in v.items()}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(v)
    if isinstance(v, dict) and (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)):
        fields = _fields(hint, _named(hint))
        members = {n: _value(fields[n][0], x) for n, x in v.items()}
        if dataclasses.is_dataclass(hint):
            members.update({n: None for n, (t, _, d) in fields.items() if n not in v and _optional(t) and not _has_default(hint, n)})
            return hint(**members)
        return members
    return v


def _has_default(hint: type, name: str) -> bool:
    f = hint.__dataclass_fields__[name]
    return f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING


def _either(args: tuple[Any, ...], v: Any) -> Any:
    """The value for the first of several types that fits."""
    for hint in args:
        plain = {bool: bool, int: (int, float), float: (int, float), str: str, type(None): type(None)}.get(hint)
        if plain is not None and (not isinstance(v, plain) or isinstance(v, bool) and hint is not bool):
            continue
        try:
            return _value(hint, v)
        except (TypeError, ValueError, KeyError):
            continue
    return v


# ---- Tools -----------------------------------------------------------------------------


class _Tool:
    """A tool: its definition for the server, and its handler."""

    def __init__(self, f: Callable[..., Any], keys: dict[str, Any], session_id: Optional[str]):
        if not callable(f):
            raise TypeError(f"a tool is a function, not {f!r}: write @c.tool(…) above one")
        name = keys.get("name") or getattr(f, "__name__", "")
        doc = inspect.cleandoc(getattr(f, "__doc__", None) or "").split("\n\n")[0].replace("\n", " ")
        description = keys.get("description") or doc
        if not description:
            raise TypeError(f"tool '{name}' has no description: write @c.tool(description=\"…\") or a docstring, so that models know when to call it")
        self.f, self.session_id = f, session_id
        self.raw = keys.get("parameters") is not None
        self.signature = self._signature(name)
        parameters = keys["parameters"] if self.raw else self._derived(name)
        self.spec = {**_without_none(keys), "name": name, "description": description, "parameters": parameters}

    @property
    def key(self) -> tuple[Any, ...]:
        return self.spec["name"], self.spec.get("version", 1), self.session_id

    def _signature(self, name: str) -> list[Any]:
        """The parameters of the function."""
        ps = list(inspect.signature(self.f).parameters.values())
        for p in ps:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and not self.raw:
                raise TypeError(f"tool '{name}': *{p.name} has no schema: name the parameters, or pass `parameters`, a JSON Schema")
        plain = [p for p in ps if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        needed = [p for p in plain if p.default is p.empty]
        if self.raw and (len(needed) > 2 or not plain and not any(p.kind == p.VAR_POSITIONAL for p in ps)):
            raise TypeError(f"tool '{name}': with `parameters` the function must accept (input, ctx), and it accepts {inspect.signature(self.f)}")
        return ps

    def _derived(self, name: str) -> dict[str, Any]:
        """The schema of the function's hints, without the context parameter."""
        where = f"tool '{name}'"
        hints = _resolved(self.f, where)
        self.context = next((p.name for p in self.signature if hints.get(p.name) is ToolContext), None) or next(
            (p.name for p in self.signature if p.name in ("ctx", "context") and p.name not in hints), None)
        self.hints = {p.name: hints.get(p.name, p.empty) for p in self.signature if p.name != self.context}
        self.absent = {p.name for p in self.signature if p.default is p.empty and _optional(hints.get(p.name))}
        return _Hints(where).parameters({p.name: (self.hints[p.name], p.default is p.empty and p.name not in self.absent, p.default)
                                         for p in self.signature if p.name != self.context})

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> Any:
        if self.raw:
            two = len([p for p in self.signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]) > 1
            two = two or any(p.kind == p.VAR_POSITIONAL for p in self.signature)
            return await _work(self.f, *((args, ctx) if two else (args,)))
        named = {n: _value(self.hints[n], v) for n, v in args.items() if n in self.hints}
        named.update({n: None for n in self.absent if n not in named})
        if self.context:
            named[self.context] = ctx
        positional = [named.pop(p.name) for p in self.signature if p.kind == p.POSITIONAL_ONLY and p.name in named]
        return await _work(self.f, *positional, **named)


# ---- JSON-RPC --------------------------------------------------------------------------


class _Waiting:
    """A request without an answer."""

    def __init__(self, message: dict[str, Any], answer: asyncio.Future[Any]):
        self.message: dict[str, Any] = message
        self.answer: asyncio.Future[Any] = answer
        self.after = 0  # how many answers were sent before it
        self.probed = False  # the server was asked whether it has it


# Requests that must not be executed twice.
_ONCE = ("sessions/create", "tools/call")


class _Peer:
    """JSON-RPC 2.0 in both directions on any transport. It belongs to one event
    loop."""

    _max_answer_bytes = 8 << 20  # bytes of answers that may have to be sent again

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._working: dict[Any, tuple[asyncio.Task[Any], _Flag]] = {}
        self._sent_answers: dict[Any, tuple[int, str]] = {}  # by id: the answer and its number
        self._answer_bytes = 0
        self._answers = self._arrived = 0  # sent answers, and those the server certainly received
        self._tools: dict[tuple[Any, ...], _Tool] = {}
        self._lost: Optional[ConcertoError] = None  # why nothing works any more
        self._closed: Optional[ConcertoError] = None  # why no further requests are possible

    def send(self, text: str, message: dict[str, Any]) -> None:
        """Queue a message. Does not wait."""
        raise NotImplementedError

    def on_loop(self, f: Callable[..., Any], *args: Any) -> None:
        """Call f on the loop's thread, directly if this is it."""
        try:
            here = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            here = False
        if here:
            f(*args)
        else:
            with contextlib.suppress(RuntimeError):  # the loop may be closed
                self.loop.call_soon_threadsafe(f, *args)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if self._lost is None:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            self.send(_encode(message), message)

    def ask(self, method: str, params: dict[str, Any]) -> tuple[int, asyncio.Future[Any]]:
        """Send a request. The future gets its result, RequestError or
        ConnectionLost."""
        id, answer = next(self._ids), self.loop.create_future()
        if (why := self._closed or self._lost) is not None:
            answer.set_exception(why)
            return id, answer
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        text = _encode(message)
        self._waiting[id] = w = _Waiting(message, answer)
        w.after = self._answers
        self.send(text, message)
        return id, answer

    async def request(self, method: str, params: Optional[dict[str, Any]] = None) -> Any:
        """Send a request and return its result. Cancelling it cancels the request."""
        id, answer = self.ask(method, params or {})
        try:
            return await answer
        except asyncio.CancelledError:
            if id in self._waiting:
                self.notify("$/cancelRequest", {"id": id})
            raise

    async def call_tool(self, name: str, args: Optional[Mapping[str, Any]], **more: Any) -> Any:
        result = await self.request("tools/call", {"name": name, "args": dict(args or {}), **_without_none(more)})
        if not isinstance(result, dict) or result.get("success") is not True:
            result = result if isinstance(result, dict) else {}
            metadata = result.get("metadata") or {}
            raise ToolError(result.get("error") or f"tool '{name}' failed", (metadata.get("concerto") or {}).get("outcome", "failed"), metadata)
        return result.get("output")

    def handle_message(self, message: Any) -> None:
        """Handle a message of the server. Unknown messages are ignored."""
        if not isinstance(message, dict):
            return
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if method is None:
            self._answered(message)
        elif "id" in message:
            self._handle_request(message["id"], method, params)
        elif method == "$/cancelRequest":
            if (working := self._working.get(params.get("id"))) is not None:
                task, flag = working
                flag.set()
                task.cancel()
        else:
            self.handle_notification(method, params)

    def handle_notification(self, method: str, params: dict[str, Any]) -> None:
        """Handle a notification."""

    def _answered(self, message: dict[str, Any]) -> None:
        waiting = self._waiting.get(message.get("id", 0))
        if waiting is None:
            return
        self._arrived = max(self._arrived, waiting.after)
        error = message.get("error")
        if waiting.probed and self._probed(waiting, error, message.get("result")):
            return
        del self._waiting[message["id"]]
        if waiting.answer.done():
            return
        if error is not None:
            waiting.answer.set_exception(_refusal(error))
        else:
            waiting.answer.set_result(message.get("result"))

    def _probed(self, waiting: _Waiting, error: Any, result: Any) -> bool:
        """Whether this answers probe()'s ping."""
        if isinstance(error, dict) and error.get("code") == -32600:
            waiting.probed = False  # the server is processing it
            return True
        if error is None and result == {}:
            waiting.probed = False
            self.never(waiting)
            return True
        return False

    def never(self, waiting: _Waiting) -> None:
        """Send a request again that the server did not receive."""
        self.send(_encode(waiting.message), waiting.message)

    def probe(self) -> None:
        """Find out, on a new connection, which unanswered requests the server has. The
        server refuses a ping with the id of a request that it is processing; if it has
        answered the request, it repeats the answer before the ping's."""
        for id, w in self._waiting.items():
            w.probed = True
            ping = {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {}}
            self.send(_encode(ping), ping)

    def _handle_request(self, id: Any, method: str, params: dict[str, Any]) -> None:
        if id in self._sent_answers:
            self.send(self._sent_answers[id][1], {"id": id})  # the answer was lost
            return
        if id in self._working:
            return
        flag = _Flag()
        task = self.loop.create_task(self._serve(id, method, params, flag))
        self._working[id] = (task, flag)

    async def _serve(self, id: Any, method: str, params: dict[str, Any], flag: _Flag) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id}
        try:
            message["result"] = await self.serve(method, params, flag)
            text = _encode(message)
        except asyncio.CancelledError:
            text = _encode({"jsonrpc": "2.0", "id": id, "error": {"code": -32005, "message": "the request was withdrawn"}})
        except Exception as e:
            code = e.code if isinstance(e, RequestError) and e.code else -32603
            text = _encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": str(e) or type(e).__name__}})
        if self._working.pop(id, None) is not None and self._lost is None:
            self._keep(id, text)
            self.send(text, {"id": id})

    def _keep(self, id: Any, text: str) -> None:
        self._answers += 1
        self._sent_answers[id] = self._answers, text
        self._answer_bytes += len(text)
        while (self._answer_bytes > self._max_answer_bytes or len(self._sent_answers) > 1024) and len(self._sent_answers) > 1:
            self._answer_bytes -= len(self._sent_answers.pop(next(iter(self._sent_answers)))[1])

    def repeat(self) -> None:
        """Send answers again that the server may not have received."""
        for id, (number, text) in self._sent_answers.items():
            if number > self._arrived:
                self.send(text, {"id": id})

    async def serve(self, method: str, params: dict[str, Any], flag: _Flag) -> Any:
        """Answer a request of the server."""
        if method == "tool/call":
            return await self._call(params, flag)
        raise RequestError(f"unknown method '{method}'", -32601)

    async def _call(self, p: dict[str, Any], flag: _Flag) -> dict[str, Any]:
        name, version, args = p.get("name", ""), p.get("version", 1), p.get("args")
        tool = self._tools.get((name, version, p.get("session_id"))) or self._tools.get((name, version, None))
        if tool is None:
            return {"success": False, "output": None, "error": f"this client has no tool '{name}@{version}'"}
        c = p.get("context") or {}
        ctx = ToolContext(p.get("session_id") or "", c.get("cwd", ""), c.get("environment") or {}, c.get("metadata") or {}, p.get("call_id", ""),
                          name, version, p.get("by", ""), p.get("route", ""), p.get("chain") or [], p.get("timeout_s") or 0.0, flag, self)
        try:
            return _result(await tool.call(args if isinstance(args, dict) else {}, ctx))
        except asyncio.CancelledError:
            if flag:
                raise
            return {"success": False, "output": None, "error": "the handler was cancelled"}
        except Exception as e:
            return _failure(name, e)

    def forget(self) -> None:
        """Cancel the handlers that work for a client that the server no longer
        knows."""
        working, self._working, self._sent_answers, self._answer_bytes = self._working, {}, {}, 0
        for task, flag in working.values():
            flag.set()
            task.cancel()

    def end(self, why: ConcertoError) -> None:
        """Fail open and future requests."""
        if self._lost is None:
            self._lost = why
        self.forget()
        waiting, self._waiting = self._waiting, {}
        for w in waiting.values():
            if not w.answer.done():
                w.answer.set_exception(self._lost)
                w.answer.exception()  # the caller may not await it


# ---- Sessions --------------------------------------------------------------------------


class Event(dict[str, Any]):
    """An event of a session as defined by the protocol: session_id, seq, ts, type, and
    the members of the type, which are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"an event of type {self.get('type')!r} has no {name!r}: it has {', '.join(self)}") from None


_FINAL = ("done", "failed", "cancelled")


class Session:
    """A run of a program. `async for event in session` yields its events from the first
    to the last, which has type "state". It keeps the last 10,000 events; an event of
    type "gap" replaces older ones."""

    _most = 10_000

    def __init__(self, client: "Concerto", id: str):
        self.id = id
        self.state: str = "running"  # later done, failed or cancelled
        self.usage: Optional[dict[str, Any]] = None  # of models, after the end
        self.cursor: int = 0  # the number of the last received event
        self._client = client
        self._events: list[Event] = []
        self._wake = client.loop.create_future()
        self._end: Optional[dict[str, Any]] = None
        self._lost: Optional[ConcertoError] = None
        self._claimed = False

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.state}>"

    async def __aiter__(self) -> AsyncIterator[Event]:
        seq = 0
        while True:
            first = self._events[0]["seq"] if self._events else seq + 1
            if self._events and first > seq + 1 and self._events[0]["type"] != "gap":
                yield Event(session_id=self.id, seq=first - 1, type="gap", **{"from": seq + 1, "to": first - 1})
                seq = first - 1
            for e in self._events[bisect.bisect_right(self._events, seq, key=lambda e: e["seq"]):]:
                seq = e["seq"]
                yield e
            if self._end is not None and seq >= self.cursor:
                return
            if self._lost is not None:
                raise self._lost
            if seq >= self.cursor:
                await asyncio.shield(self._wake)

    async def result(self) -> Any:
        """Wait for the end and return the result of `main`. Raises SessionError, or
        ConnectionLost if the server no longer answers."""
        while self._end is None:
            if self._lost is not None:
                raise self._lost
            await asyncio.shield(self._wake)
        if self.state == "done":
            return self._end.get("result")
        e = self._end.get("error") or {}
        raise SessionError(e.get("kind", self.state), e.get("message", f"the session is {self.state}"), e.get("trace"))

    async def cancel(self, reason: Optional[str] = None) -> None:
        """Stop the session as Ctrl-C does, and wait until it has ended. No effect on an
        ended session."""
        await self._client.request("sessions/cancel", {"session_id": self.id, **_without_none({"reason": reason})})

    def _add(self, event: Event) -> None:
        seq = event.get("to", 0) if event.get("type") == "gap" else event.get("seq", 0)
        if not isinstance(seq, int) or seq <= self.cursor or self._end is not None:
            return  # a duplicate
        self.cursor = event["seq"] = seq
        self._events.append(event)
        if len(self._events) > 2 * self._most:
            del self._events[:-self._most]
        if event.get("type") == "state" and event.get("state") in _FINAL:
            self._finish(event)
        self._change()

    def _finish(self, end: dict[str, Any]) -> None:
        self._end, self.state, self.usage = end, end["state"], end.get("usage")
        self._client._finished(self)

    def _lose(self, why: ConcertoError) -> None:
        if self._end is None and self._lost is None:
            self._lost = why
            self._change()

    def _change(self) -> None:
        wake, self._wake = self._wake, self._client.loop.create_future()
        if not wake.done():
            wake.set_result(None)


# ---- The client --------------------------------------------------------------------------


class Concerto(_Peer):
    """A client of a server, with the tools of this application. Created by stdio() or
    connect(); use it only in the event loop that created it."""

    def __init__(self, link: "_Link"):
        super().__init__()
        self.client_id: str = ""
        self.limits: dict[str, Any] = {}  # of the server: max_message, max_sessions
        self._link = link
        self._sessions: dict[str, Session] = {}
        self._awaits: dict[str, Callable[..., Any]] = {}
        self._missing = False  # some messages during the loss are missing
        self._registering: dict[asyncio.Future[Any], _Tool] = {}
        link.client = self

    @classmethod
    async def stdio(cls, *flags: str, command: Union[str, Sequence[str], None] = None, cwd: Optional[str] = None,
                    env: Optional[Mapping[str, str]] = None, name: str = "python", version: str = __version__,
                    render: Sequence[str] = ()) -> "Concerto":
        """Start `concerto serve --stdio` with further flags: stdio("--root", "flows").
        command is the concerto binary, by default the variable CONCERTO, else the one
        in PATH; env is its environment, by default this process's. render lists what
        the application can display, such as "render:image/png"."""
        found = [command] if isinstance(command, str) else list(command or [os.environ.get("CONCERTO") or "concerto"])
        link = _Stdio([*found, "serve", "--stdio", *flags], cwd, env)
        return await cls._opened(link, name, version, render)

    @classmethod
    async def connect(cls, url: str, token: Optional[str] = None, *, patience: float = 60.0, ssl: Optional[tls.SSLContext] = None,
                      name: str = "python", version: str = __version__, render: Sequence[str] = ()) -> "Concerto":
        """Connect to `concerto serve --http`: http(s)://HOST:PORT or ws(s)://HOST:PORT.
        token is the token that the server printed, or that its --token-env names. After
        a loss, it tries to reconnect for `patience` seconds."""
        u = urllib.parse.urlsplit(url)
        if u.scheme not in ("http", "https", "ws", "wss") or not u.hostname:
            raise ValueError(f"connect requires http://HOST:PORT, https, ws or wss, not {url!r}")
        link = (_Sse if u.scheme.startswith("http") else _WebSocket)(u, token, patience, ssl)
        return await cls._opened(link, name, version, render)

    @classmethod
    async def _opened(cls, link: "_Link", name: str, version: str, render: Sequence[str]) -> "Concerto":
        c = cls(link)
        link.hello = {"protocol": _PROTOCOL, "client": {"name": name, "version": version}, "capabilities": {"awaits": True, "render": list(render)}}
        try:
            await link.start()
        except BaseException:
            await link.close()
            raise
        return c

    async def __aenter__(self) -> "Concerto":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection. A server started by stdio() stops, after up to --drain
        seconds for running sessions; other servers remove the tools."""
        if self._lost is None and isinstance(self._link, _Net) and self._tools:
            with contextlib.suppress(ConcertoError, asyncio.TimeoutError):
                await asyncio.wait_for(self.request("tools/unregister", {"names": sorted({n for n, _, _ in self._tools})}), 2)
        self._closed = self._closed or ConnectionLost("this connection to concerto was closed")
        await self._link.close()  # handlers continue to run
        self.lost(self._closed)

    # -- tools

    @overload
    def tool(self, f: _F, *, name: Optional[str] = None, description: Optional[str] = None, parameters: Optional[dict[str, Any]] = None,
             output: Optional[dict[str, Any]] = None, version: Optional[int] = None, scope: Optional[str] = None, category: Optional[str] = None,
             requires_approval: Optional[bool] = None, approval_timeout: Optional[float] = None, on_timeout: Optional[str] = None,
             timeout: Optional[float] = None, idle_timeout: Optional[float] = None, sequential: Optional[bool] = None,
             max_concurrent: Optional[int] = None, requires: Optional[Sequence[str]] = None, replace: bool = False,
             session: Union["Session", str, None] = None) -> _F: ...

    @overload
    def tool(self, f: None = None, *, name: Optional[str] = None, description: Optional[str] = None, parameters: Optional[dict[str, Any]] = None,
             output: Optional[dict[str, Any]] = None, version: Optional[int] = None, scope: Optional[str] = None, category: Optional[str] = None,
             requires_approval: Optional[bool] = None, approval_timeout: Optional[float] = None, on_timeout: Optional[str] = None,
             timeout: Optional[float] = None, idle_timeout: Optional[float] = None, sequential: Optional[bool] = None,
             max_concurrent: Optional[int] = None, requires: Optional[Sequence[str]] = None, replace: bool = False,
             session: Union["Session", str, None] = None) -> Callable[[_F], _F]: ...

    def tool(self, f: Optional[Callable[..., Any]] = None, *, name: Optional[str] = None, description: Optional[str] = None, parameters: Optional[dict[str, Any]] = None,
             output: Optional[dict[str, Any]] = None, version: Optional[int] = None, scope: Optional[str] = None, category: Optional[str] = None,
             requires_approval: Optional[bool] = None, approval_timeout: Optional[float] = None, on_timeout: Optional[str] = None,
             timeout: Optional[float] = None, idle_timeout: Optional[float] = None, sequential: Optional[bool] = None,
             max_concurrent: Optional[int] = None, requires: Optional[Sequence[str]] = None, replace: bool = False,
             session: Union["Session", str, None] = None) -> Any:
        """Register the decorated function as a tool for agents and programs.

        Its schema comes from the type hints, without the parameter `ctx`, which receives
        the ToolContext; the docstring is the default description. With `parameters`, a
        JSON Schema, the function receives (input, ctx). The other keys are those of the
        protocol; times are in seconds. replace replaces a tool of this name; session
        limits the tool to one session. The function may be async. Its return value is the
        output, and its exception the tool's failure. registered() raises an error of the
        registration, as do run() and call(), which wait for it."""
        keys = dict(name=name, description=description, parameters=parameters, output=output, version=version, scope=scope, category=category,
                    requires_approval=requires_approval, approval_timeout=approval_timeout, on_timeout=on_timeout, timeout=timeout,
                    idle_timeout=idle_timeout, sequential=sequential, max_concurrent=max_concurrent, requires=requires)
        if f is None:
            return functools.partial(self.tool, **keys, replace=replace, session=session)
        tool = _Tool(f, keys, session.id if isinstance(session, Session) else session)
        self._register(tool, replace)
        return f

    def _register(self, tool: _Tool, replace: bool) -> None:
        before = self._tools.get(tool.key)
        self._tools[tool.key] = tool
        _, answer = self.ask("tools/register", _registration([tool], replace))
        self._registering[answer] = tool

        def registered(answer: asyncio.Future[Any]) -> None:
            error = None if answer.cancelled() else answer.exception()
            if error is None:
                self._registering.pop(answer, None)
            else:
                _log.error("tool '%s' is not registered: %s", tool.spec["name"], error)
                if self._tools.get(tool.key) is tool:
                    self._tools.pop(tool.key)
                    if before is not None:
                        self._tools[tool.key] = before

        answer.add_done_callback(registered)

    async def registered(self) -> None:
        """Wait until all tools are registered. Raises the RequestError of one that
        failed."""
        for answer in list(self._registering):
            try:
                await asyncio.shield(answer)
            finally:
                if answer.done():
                    self._registering.pop(answer, None)

    async def unregister(self, name: str) -> bool:
        """Remove a tool of this application, "x" in every version or "x@2", and return
        whether it existed. Running calls continue."""
        await self.registered()
        answer = await self.request("tools/unregister", {"names": [name]})
        base, _, version = name.partition("@")
        for key in [k for k in self._tools if k[0] == base and version in ("", str(k[1]))]:
            del self._tools[key]
        return bool(answer.get("unregistered"))

    async def tools(self, session: Union["Session", str, None] = None, category: Optional[str] = None) -> list[dict[str, Any]]:
        """The existing tools, as `tools/list` returns them."""
        await self.registered()
        params = _without_none({"session_id": session.id if isinstance(session, Session) else session, "category": category})
        found, answer = [], {"next": None}
        while "next" in answer:
            answer = await self.request("tools/list", {**params, **_without_none({"after": answer["next"]})})
            found += answer["tools"]
        return found

    async def call(self, name: str, args: Optional[Mapping[str, Any]] = None, session: Union["Session", str, None] = None) -> Any:
        """Call a tool of any application and return its output. Raises ToolError."""
        await self.registered()
        return await self.call_tool(name, args, session_id=session.id if isinstance(session, Session) else session)

    # -- sessions

    async def run(self, program: Union[str, os.PathLike[str], Mapping[str, Any]], *, inputs: Optional[Mapping[str, Any]] = None, cwd: Union[str, os.PathLike[str], None] = None,
                  environment: Optional[Mapping[str, str]] = None, metadata: Optional[Mapping[str, Any]] = None, budget: Optional[Mapping[str, Any]] = None,
                  args: Optional[Sequence[str]] = None, tools: Union[bool, Sequence[str], None] = None, **more: Any) -> Session:
        """Start a program: a path as for `concerto run`, or {"source": text} or {"ir": object}.

        inputs is the result of std::app's inputs(), cwd the working directory,
        environment adds variables, and metadata is visible to std::app's session() and
        to tools. budget has max_run_seconds, max_tokens, max_cost_usd and max_tool_calls.
        tools selects the application's tools: all, none (False), or the named ones.
        linger_s=None lets the session continue without this client. Raises RequestError;
        for a program with errors it lists all of them."""
        await self.registered()
        if isinstance(program, (str, os.PathLike)):
            program = {"path": os.fspath(program)}
        unknown = more.keys() - {"linger_s"}
        if unknown:
            raise TypeError(f"run() has no option {', '.join(sorted(unknown))}")
        params = {"program": dict(program), **_without_none(dict(inputs=inputs, cwd=None if cwd is None else os.fspath(cwd), environment=environment, metadata=metadata, budget=budget,
                                                          args=None if args is None else list(args), tools=tools)), **more}
        created = await self.request("sessions/create", params)
        return self._claim(created["session_id"])

    async def session(self, id: str, after: int = 0) -> Session:
        """Attach to a running session: its events after a number, and its awaited
        emits."""
        await self.request("sessions/subscribe", {"session_id": id, "after": after, "answers": True})
        return self._claim(id)

    @overload
    def on_await(self, channel: str, f: _F) -> _F: ...

    @overload
    def on_await(self, channel: str, f: None = None) -> Callable[[_F], _F]: ...

    def on_await(self, channel: str, f: Optional[Callable[..., Any]] = None) -> Any:
        """Answer awaited emits on a channel: f(payload), async or not, returns the
        value of the emit; its exception is the program's EmitError. Without f, a
        decorator."""
        if f is None:
            return functools.partial(self.on_await, channel)
        self._awaits[channel] = f
        return f

    def _claim(self, id: str) -> Session:
        s = self._of(id)
        s._claimed = True
        if s._end is not None:
            self._finished(s)
        return s

    def _of(self, id: str) -> Session:
        """The session of an event, which may arrive before the answer that names it."""
        if id not in self._sessions:
            self._sessions[id] = Session(self, id)
        return self._sessions[id]

    def _finished(self, s: Session) -> None:
        if s._claimed:
            self._sessions.pop(s.id, None)

    def handle_notification(self, method: str, params: dict[str, Any]) -> None:
        if _hole(method, params):
            self._missing = True
            for s in list(self._sessions.values()):
                self._resubscribe(s)
        elif method == "session/event" and isinstance(params.get("session_id"), str):
            self._of(params["session_id"])._add(Event(params))

    def _resubscribe(self, s: Session) -> None:
        """Subscribe to a session after its last received event."""
        _, answer = self.ask("sessions/subscribe", {"session_id": s.id, "after": s.cursor, "answers": True})
        answer.add_done_callback(functools.partial(_resubscribed, s))

    async def serve(self, method: str, params: dict[str, Any], flag: _Flag) -> Any:
        if method != "emit/await":
            return await super().serve(method, params, flag)
        channel = params.get("channel", "")
        f = self._awaits.get(channel)
        if f is None:
            raise RequestError(f"no handler for channel '{channel}': define one with c.on_await({_encode(channel)}, f)", -32601)
        value = await _work(f, params.get("payload"))
        try:
            _encode(value)
        except (TypeError, ValueError) as e:
            raise ConcertoError(f"the answer on channel '{channel}' is not JSON: {e}") from None
        return {"value": value}

    # -- the connection

    def send(self, text: str, message: dict[str, Any]) -> None:
        most = self.limits.get("max_message", 0)
        if most and len(text) > most // 4 and len(_utf8(text)) > most:
            why = f"a message of {len(_utf8(text))} bytes exceeds the server's limit of {most} (--max-message)"
            if "method" not in message:
                text = _encode({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32004, "message": why}})
            elif "id" not in message:
                return _log.error("%s is not sent: %s", message["method"], why)
            else:
                return self.handle_message({"id": message["id"], "error": {"code": -32004, "message": why, "data": {"limit": "max_message"}}})
        self._link.send(text, message)

    def welcome(self, w: dict[str, Any]) -> None:
        self.client_id = str(w["client_id"])
        self.limits = w.get("limits", {})

    def resumed(self) -> None:
        """The server still knew this client: it repeats the missed messages."""
        self._missing = False
        if self._link.loses:
            self.repeat()
            self.probe()

    def never(self, waiting: _Waiting) -> None:
        if self._missing and waiting.message["method"] in _ONCE:
            self._waiting.pop(waiting.message["id"], None)
            waiting.answer.set_exception(_unknown(waiting.message["method"]))
        else:
            super().never(waiting)

    def renewed(self) -> None:
        """The server no longer knew this client: register the tools again, subscribe to
        the sessions after their last events, and do not repeat what may have been
        executed."""
        self.forget()
        self._link.clear()
        waiting, self._waiting = self._waiting, {}
        by_session = collections.defaultdict(list)
        missing = [t for t in self._tools.values() if t not in self._registering.values()]
        for t in missing:
            by_session[t.session_id].append(t)
        for tools in by_session.values():
            self.ask("tools/register", _registration(tools, True))[1].add_done_callback(_told("tools are not registered any more"))
        for s in list(self._sessions.values()):
            self._resubscribe(s)
        for id, w in waiting.items():
            method = w.message["method"]
            if method in _ONCE:
                w.answer.set_exception(_unknown(method))
                continue
            self._waiting[id] = w
            self.send(_encode(w.message), w.message)

    def lost(self, why: ConcertoError) -> None:
        self.end(self._closed or why)
        for s in list(self._sessions.values()):
            s._lose(self._closed or why)


def _registration(tools: Sequence[_Tool], replace: bool) -> dict[str, Any]:
    params: dict[str, Any] = {"tools": [t.spec for t in tools]}
    if replace:
        params["replace"] = True
    if tools[0].session_id is not None:
        params["session_id"] = tools[0].session_id
    return params


def _unknown(method: str) -> ConnectionLost:
    return ConnectionLost(f"the connection was lost during {method}: it is unknown whether it took effect")


def _hole(method: Any, params: Any) -> int:
    """The number of the last message that the server has dropped, if this notification
    reports it, else 0."""
    if method == "session/event" and isinstance(params, dict) and not params.get("session_id") and params.get("type") == "gap":
        return int(params.get("to", 0))
    return 0


def _told(what: str) -> Callable[..., Any]:
    def done(answer: asyncio.Future[Any]) -> None:
        if not answer.cancelled() and answer.exception() is not None:
            _log.error("%s: %s", what, answer.exception())
    return done


def _resubscribed(s: Session, answer: asyncio.Future[Any]) -> None:
    e = None if answer.cancelled() else answer.exception()
    if isinstance(e, ConcertoError):
        s._lose(SessionError("lost", f"the server does not know session {s.id} any more: {e}") if isinstance(e, RequestError) else e)


# ---- Connections ---------------------------------------------------------------------


class _Link:
    """A connection, or several in succession."""

    client: Concerto
    hello: dict[str, Any]  # the parameters of initialize
    loses = False  # sent messages may be lost

    async def start(self) -> None:
        """Connect and initialize."""
        raise NotImplementedError

    def send(self, text: str, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        """Drop unsent messages."""

    async def close(self) -> None:
        raise NotImplementedError


def _hello(params: dict[str, Any], **more: Any) -> str:
    return _encode({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {**params, **more}})


def _welcome(message: Any) -> dict[str, Any]:
    """The result of initialize."""
    if isinstance(message, dict) and message.get("error") is not None:
        raise _refusal(message["error"])
    w = message.get("result") if isinstance(message, dict) else None
    if not isinstance(w, dict) or not isinstance(w.get("client_id"), str):
        raise ConnectionLost(f"the process is not `concerto serve`; it answered: {_encode(message)[:200]}")
    return w


async def _ended(*tasks: Optional[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for them."""
    for t in tasks:
        if t is not None and t is not asyncio.current_task():
            t.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await t


class _Stdio(_Link):
    """A server started by this process, on its stdin and stdout."""

    def __init__(self, argv: list[str], cwd: Optional[str], env: Optional[Mapping[str, str]]):
        self.argv, self.cwd, self.env = argv, cwd, env
        self.process: Any = None  # an asyncio.subprocess.Process with three pipes
        self.tail = b""  # of its stderr
        self.tasks: list[asyncio.Task[Any]] = []

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        path = (self.env or os.environ).get("PATH")
        try:
            if shutil.which(self.argv[0], path=path) is None and os.sep not in self.argv[0]:
                raise FileNotFoundError(2, "not found")
            # In its own session: Ctrl-C goes to this process, and close() stops the server in
            # order.
            self.process = await asyncio.create_subprocess_exec(*self.argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.cwd, env=self.env,
                                                                start_new_session=True)
        except OSError as e:
            raise ConnectionLost(f"could not start {self.argv[0]}: {e.strerror}: install concerto, or set its path with "
                                 "Concerto.stdio(command=…) or the variable CONCERTO") from None
        errors = asyncio.create_task(self._errors())
        self._write(_hello(self.hello))
        lines = self._lines()
        first = await anext(lines, None)
        if first is None:
            raise await self._why(errors)
        self.client.welcome(_welcome(first))
        self.tasks = [asyncio.create_task(self._read(lines, errors)), errors]

    async def _lines(self) -> AsyncIterator[Any]:
        parts: list[bytes] = []
        while chunk := await self.process.stdout.read(1 << 18):
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                text = b"".join([*parts, line])
                parts = []
                if text.strip():
                    try:
                        yield json.loads(text)
                    except ValueError:
                        raise ConnectionLost(f"{self.argv[0]} printed an invalid message: {text[:200]!r}") from None
            parts.append(rest)

    async def _read(self, lines: AsyncIterator[Any], errors: asyncio.Task[Any]) -> None:
        try:
            async for message in lines:
                self.client.handle_message(message)
            self.client.lost(await self._why(errors))
        except ConnectionLost as e:
            self.client.lost(e)
        except Exception as e:
            self.client.lost(ConnectionLost(f"this is a bug of concerto.py: {e!r}"))
            raise

    async def _why(self, errors: asyncio.Task[Any]) -> ConnectionLost:
        """The reason for the end of the server's output."""
        code = await self.process.wait()
        await asyncio.wait([errors], timeout=1)  # a child of the server may keep the pipe open
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        tail = self.tail.decode("utf-8", "replace").strip()
        return ConnectionLost(f"`{' '.join(self.argv)}` {how}" + (f": {tail}" if tail else ""))

    async def _errors(self) -> None:
        while chunk := await self.process.stderr.read(1 << 16):
            self.tail = (self.tail + chunk)[-2048:]
            sys.stderr.write(chunk.decode("utf-8", "replace"))
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        if not self.process.stdin.is_closing():
            self.process.stdin.write(_utf8(text) + b"\n")

    def send(self, text: str, message: dict[str, Any]) -> None:
        self._write(text)

    async def close(self) -> None:
        if self.process is None:
            return
        try:
            self.process.stdin.close()
            for end, patience in ((None, 30.0), (self.process.terminate, 12.0)):
                if self.process.returncode is None and end is not None:
                    end()
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.process.wait(), patience)
                if self.process.returncode is not None:
                    break
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=1)
        await _ended(*self.tasks)


class _Cut(Exception):
    """A connection has ended."""


_BROKEN = (_Cut, OSError, EOFError, asyncio.TimeoutError)  # the last is no OSError before Python 3.11


class _Net(_Link):
    """Network connections that are reestablished after a loss."""

    def __init__(self, url: urllib.parse.SplitResult, token: Optional[str], patience: float, ssl: Optional[tls.SSLContext]):
        self.url, self.token, self.patience = url, token, patience
        secure = url.scheme in ("https", "wss")
        self.ssl: Any = (ssl or True) if secure else None
        self.port = url.port or (443 if secure else 80)
        self.at = f"{url.scheme}://{url.netloc}"
        self.cursor = 0  # the number of the server's last message
        self.queue: collections.deque[tuple[str, dict[str, Any]]] = collections.deque()
        self.more = asyncio.Event()
        self.tasks: list[asyncio.Task[Any]] = []

    async def start(self) -> None:
        try:
            await self._initialize(None)
        except _BROKEN as e:
            raise ConnectionLost(f"nothing answers at {self.at}: {_cause(e)}: start it with `concerto serve --http {self.url.netloc}`") from None
        self.tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._pump())]

    async def close(self) -> None:
        tasks, self.tasks = self.tasks, []
        await _ended(*tasks)

    def send(self, text: str, message: dict[str, Any]) -> None:
        self.queue.append((text, message))
        self.more.set()

    def clear(self) -> None:
        self.queue.clear()

    async def _initialize(self, resume: Optional[dict[str, Any]]) -> None:
        raise NotImplementedError

    async def _read(self) -> None:
        """Receive messages until the connection ends: _Cut, OSError or EOFError."""
        raise NotImplementedError

    async def _pump(self) -> None:
        """Send the queued messages in order."""
        raise NotImplementedError

    async def _resume(self) -> bool:
        """Resume the client's state at the server; False if the server does not know
        it."""
        raise NotImplementedError

    async def _run(self) -> None:
        try:
            while True:
                try:
                    await self._read()
                except _BROKEN as e:
                    await self._reconnect(e)
        except ConcertoError as e:
            self.client.lost(e)
        except Exception as e:
            self.client.lost(ConnectionLost(f"this is a bug of concerto.py: {e!r}"))
            raise

    async def _reconnect(self, why: Exception) -> None:
        _log.info("the connection to %s was cut: %s", self.at, _cause(why))
        began = time.monotonic()
        for attempt in itertools.count():
            try:
                resumed = await self._resume()
                if not resumed:
                    await self._initialize(None)
                return self.client.resumed() if resumed else self.client.renewed()
            except _BROKEN as e:
                why = e
            left = began + self.patience - time.monotonic()
            if left <= 0:
                raise ConnectionLost(f"the connection to {self.at} was lost and could not be restored within {self.patience:g} s: {_cause(why)}")
            await asyncio.sleep(min(left, 5.0, 0.05 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0))

    def _headers(self) -> dict[str, str]:
        host = self.url.netloc.rpartition("@")[2]
        return {"Host": host, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.wait_for(asyncio.open_connection(self.url.hostname, self.port, ssl=self.ssl), 10)

    def _refused(self, status: int, body: bytes) -> Exception:
        """The exception for an unexpected HTTP status."""
        text = body.decode("utf-8", "replace").strip()
        with contextlib.suppress(ValueError):
            message = json.loads(text)
            if isinstance(message, dict) and isinstance(message.get("error"), dict):
                return _refusal(message["error"])
        if status == 401:
            return ConnectionLost(f"the server at {self.at} refused the token: pass connect(url, token) the token that the server prints when it starts, or that of its --token-env")
        if status in (502, 503, 504):
            return _Cut(f"status {status} {text[:200]}".strip())
        return ConnectionLost(f"{self.at} answered with status {status}: {text[:200]}")


def _cause(e: BaseException) -> str:
    if isinstance(e, (asyncio.TimeoutError, TimeoutError)):
        return "no answer in time"
    if isinstance(e, OSError) and e.strerror:
        return e.strerror
    return str(e) or {"IncompleteReadError": "the connection has ended"}.get(type(e).__name__, type(e).__name__)


@dataclass
class _Response:
    """The head of an HTTP response, and the connection with its body."""

    status: int
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in chunks as they arrive."""
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            while size := _hex((await self.reader.readuntil(b"\r\n")).split(b";")[0]):
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            while await self.reader.readuntil(b"\r\n") != b"\r\n":
                pass  # trailers
        elif "content-length" in self.headers:
            yield await self.reader.readexactly(int(self.headers["content-length"]))
        elif self.status not in (101, 204):
            while chunk := await self.reader.read(1 << 16):
                yield chunk

    async def body(self) -> bytes:
        return b"".join([c async for c in self.chunks()])

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.writer.close()


def _hex(text: bytes) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise _Cut("the answer is not HTTP") from None


async def _send_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> _Response:
    head = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
    writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)
    await writer.drain()
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
    except (ValueError, IndexError, asyncio.LimitOverrunError):
        raise _Cut("the answer is not HTTP") from None
    fields = (line.partition(":") for line in lines[1:] if line)
    return _Response(status, {k.strip().lower(): v.strip() for k, _, v in fields}, reader, writer)


class _EventStream:
    """A decoder of server-sent events, which may arrive in chunks that end at any byte. Lines end
    with CRLF, LF or CR. The end of the stream drops an event that no blank line follows, with its
    number, so that the server repeats it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of the current line
        self._after_cr = False  # an LF that comes next belongs to the last line
        self._first = True  # a byte order mark may come next
        self._number: Optional[int] = None
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[tuple[Optional[int], Optional[bytes]]]:
        """Yield the number and the data of each event that a chunk completes."""
        if not chunk:
            return
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        *lines, rest = re.split(rb"\r\n|\r|\n", chunk)
        self._after_cr = chunk.endswith(b"\r")
        for line in lines:
            self._parts.append(line)
            text = b"".join(self._parts)
            self._parts = []
            if self._first:
                text = text.removeprefix(b"\xef\xbb\xbf")
                self._first = False
            if text:
                self._field(text)
            elif self._data or self._number is not None:
                event = self._number, b"\n".join(self._data) if self._data else None
                self._number, self._data = None, []
                yield event
        self._parts.append(rest)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and value.isdigit():
            self._number = int(value)


class _Sse(_Net):
    """HTTP: each message to the server is a POST, its messages are server-sent
    events."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.base = self.url.path.rstrip("/")
        self.events: Optional[_Response] = None
        self.posts: set[asyncio.Task[Any]] = set()
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def close(self) -> None:
        await super().close()
        await _ended(*self.posts)
        for _, writer in self.idle:
            writer.close()
        if self.events is not None:
            self.events.close()

    async def _initialize(self, resume: Optional[dict[str, Any]]) -> None:
        status, body = await self._post(_hello(self.hello), named=False, once=False)
        if status != 200:
            raise self._refused(status, body)
        w = _welcome(_parsed(body))
        self.cursor = w.get("cursor", 0)
        self.client.welcome(w)
        if not await self._resume():
            raise ConnectionLost(f"{self.at} does not recognise the client that it has just created")

    async def _resume(self) -> bool:
        if self.events is not None:
            self.events.close()
        reader, writer = await self._open()
        headers = {**self._headers(), "Accept": "text/event-stream", "Concerto-Client": self.client.client_id, "Last-Event-ID": str(self.cursor)}
        r = self.events = await _send_http(reader, writer, "GET", self.base + "/events", headers)
        if r.status == 200:
            return True
        body = await r.body()
        r.close()
        refused = self._refused(r.status, body)
        if isinstance(refused, RequestError) and refused.code == -32001:
            return False
        raise refused

    async def _read(self) -> None:
        assert self.events is not None
        stream = _EventStream()
        async for chunk in self.events.chunks():
            for number, data in stream.feed(chunk):
                if number is not None:
                    self.cursor = number
                if data is not None:
                    self.client.handle_message(_parsed(data))
        raise _Cut("the stream of events has ended")

    async def _ask(self, text: str, message: dict[str, Any]) -> None:
        waiting = self.client._waiting.get(message["id"])
        answer = await self._deliver(text, message["method"] in _ONCE, lambda: self.client._waiting.get(message["id"]) is waiting)
        if answer is not None:
            self.client.handle_message({**answer, "id": message["id"]})

    async def _pump(self) -> None:
        while True:
            await self.more.wait()
            self.more.clear()
            while self.queue:
                text, message = self.queue.popleft()
                if "method" in message and "id" in message:  # a slow request must not block others
                    task = asyncio.create_task(self._ask(text, message))
                    self.posts.add(task)
                    task.add_done_callback(self.posts.discard)
                else:
                    await self._deliver(text, False, lambda: True)

    async def _deliver(self, text: str, once: bool, is_waiting: Callable[[], bool]) -> Optional[dict[str, Any]]:
        """Post a message until it is delivered; returns the answer to a request."""
        for attempt in itertools.count():
            try:
                status, body = await self._post(text, once=once)
                if status in (200, 202):
                    return _parsed(body) if body.strip() else None
                raise self._refused(status, body)
            except RequestError as e:
                if e.code == -32001:
                    self._drop()  # the reader of the events notices and repeats what is open
                    return None
                return {"error": {"code": e.code, "message": str(e), "data": e.data}}
            except _Lost as e:
                return {"error": {"code": -32603, "message": str(e)}}
            except _BROKEN:
                pass
            except ConcertoError as e:
                self.client.lost(e)
            if self.client._lost is not None or not is_waiting():
                return None
            await asyncio.sleep(min(5.0, 0.05 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0))

    def _drop(self) -> None:
        if self.events is not None:
            self.events.close()

    async def _post(self, text: str, named: bool = True, once: bool = False) -> tuple[int, bytes]:
        body = _utf8(text)
        headers = {**self._headers(), "Content-Type": "application/json", "Content-Length": str(len(body)),
                   **({"Concerto-Client": self.client.client_id} if named else {})}
        used = bool(self.idle) and not once  # a used connection may have been closed
        reader, writer = self.idle.pop() if used else await self._open()
        try:
            r = await _send_http(reader, writer, "POST", self.base + "/rpc", headers, body)
            answer = await r.body()
        except _BROKEN as e:
            writer.close()
            if once:
                raise _Lost(f"the connection was lost before the answer arrived: it is unknown whether the request took effect ({_cause(e)})") from None
            if used:
                return await self._post(text, named)
            raise
        except BaseException:
            writer.close()
            raise
        if r.headers.get("connection", "").lower() == "close" or len(self.idle) >= 8:
            writer.close()
        else:
            self.idle.append((reader, writer))
        return r.status, answer


class _Lost(Exception):
    """It is unknown whether the request was executed."""


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise _Cut(f"received an invalid message: {text[:200]!r}") from None


class _WebSocket(_Net):
    """WebSocket (RFC 6455): one message in each text frame."""

    loses = True
    _quiet = 20.0  # seconds of silence before the client pings the server

    def __init__(self, *args: Any):
        super().__init__(*args)
        path = self.url.path.rstrip("/")
        self.path = path if path.endswith("/ws") else path + "/ws"
        self.streams: Optional[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = None

    async def close(self) -> None:
        if self.streams is not None:
            with contextlib.suppress(Exception):
                self._frame(8, (1000).to_bytes(2, "big"))
                await asyncio.wait_for(self.streams[1].drain(), 1)
        await super().close()
        self._hang_up()

    def _hang_up(self) -> None:
        if self.streams is not None:
            with contextlib.suppress(Exception):
                self.streams[1].close()
        self.streams = None

    async def _dial(self) -> None:
        self._hang_up()
        reader, writer = await self._open()
        key = base64.b64encode(os.urandom(16)).decode()
        headers = {**self._headers(), "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Protocol": "concerto.v1"}
        try:
            r = await _send_http(reader, writer, "GET", self.path, headers)
            if r.status != 101:
                raise self._refused(r.status, await r.body())
            want = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            if r.headers.get("sec-websocket-accept") != want or r.headers.get("sec-websocket-protocol") != "concerto.v1":
                raise ConnectionLost(f"the server at {self.at}{self.path} is not `concerto serve`")
        except BaseException:
            writer.close()
            raise
        self.streams = reader, writer

    async def _initialize(self, resume: Optional[dict[str, Any]]) -> None:
        await self._dial()
        self._frame(1, _utf8(_hello(self.hello, **({"resume": resume} if resume else {}))))
        try:
            w = _welcome(_parsed(await asyncio.wait_for(self._message(), 10)))
        except BaseException:
            self._hang_up()
            raise
        self.cursor = w.get("cursor", 0)
        self.client.welcome(w)
        self.more.set()

    async def _resume(self) -> bool:
        try:
            await self._initialize({"client_id": self.client.client_id, "after": self.cursor})
            return True
        except RequestError as e:
            if e.code != -32001:
                raise
            return False

    async def _read(self) -> None:
        while True:
            message = _parsed(await self._message())
            hole = isinstance(message, dict) and _hole(message.get("method"), message.get("params"))
            self.cursor = hole or self.cursor + 1
            self.client.handle_message(message)

    async def _pump(self) -> None:
        while True:
            await self.more.wait()
            self.more.clear()
            while self.queue and self.streams is not None:
                text, _ = self.queue.popleft()
                with contextlib.suppress(OSError):  # the reader notices
                    self._frame(1, _utf8(text))
                    await self.streams[1].drain()

    async def _message(self) -> bytes:
        """The next message."""
        parts: list[bytes] = []
        while True:
            opcode, final, data = await self._next_frame()
            if opcode == 8:
                code = int.from_bytes(data[:2], "big") if len(data) >= 2 else 1005
                with contextlib.suppress(OSError):
                    self._frame(8, data[:2])
                raise _Cut(f"the server has closed the connection: {code} {data[2:].decode('utf-8', 'replace')}".strip())
            if opcode == 9:
                self._frame(10, data)
            elif opcode == 10:
                pass
            elif opcode not in (0, 1) or (opcode == 0) != bool(parts):
                raise _Cut(f"unexpected frame with the opcode {opcode}")
            else:
                parts.append(data)
                if final:
                    return b"".join(parts)

    async def _next_frame(self) -> tuple[int, bool, bytes]:
        """opcode, whether it is the last frame of its message, payload."""
        if self.streams is None:
            raise _Cut("the connection has ended")
        reader = self.streams[0]
        first, second = await self._awaited(reader.readexactly(2))
        size = second & 0x7F
        if first & 0x70 or second & 0x80:
            raise _Cut("invalid frame from the server")
        if size > 125:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
        return first & 0x0F, bool(first & 0x80), await reader.readexactly(size)

    async def _awaited(self, read: Awaitable[bytes]) -> bytes:
        """Read. After a silence, ping the server."""
        task = asyncio.ensure_future(read)
        try:
            for _ in range(2):
                done, _pending = await asyncio.wait([task], timeout=self._quiet)
                if done:
                    return task.result()
                self._frame(9, b"")
            raise _Cut(f"the server has sent nothing for {2 * self._quiet:g} s")
        finally:
            task.cancel()

    def _frame(self, opcode: int, data: bytes) -> None:
        """Write a frame, masked as required for clients."""
        if self.streams is None:
            return
        n = len(data)
        size = bytes([0x80 | n]) if n < 126 else b"\xfe" + n.to_bytes(2, "big") if n < 1 << 16 else b"\xff" + n.to_bytes(8, "big")
        mask = os.urandom(4)
        key = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        self.streams[1].write(bytes([0x80 | opcode]) + size + mask + (int.from_bytes(data, "big") ^ key).to_bytes(n, "big"))


# ---- A function as a command --------------------------------------------------------


_USAGE = """usage: python3 concerto.py tool MODULE:FUNCTION

Runs a function as a tool's command: command: [python3, concerto.py, tool, "myapp.tools:query"].
MODULE is found from the working directory, then beside this file; or it is a file, tools/db.py:query.
The function gets (input, context), is async or not, and returns the output or a ToolResult."""


class _ToolScope(str, enum.Enum):
    GLOBAL = "global"
    SESSION = "session"


@dataclass
class _HostToolDefinition:
    name: str
    description: str
    parameters: dict[str, Any]
    handler: Callable[..., Any]
    scope: _ToolScope = _ToolScope.GLOBAL
    category: Optional[str] = None
    requires_approval: bool = False
    timeout: Optional[float] = None


def _amplifier() -> None:
    """Let modules written for Amplifier import what their handlers use."""
    try:
        if importlib.util.find_spec("amplifier_app_runtime") is not None:
            return
    except ValueError:
        return
    package, tools = types.ModuleType("amplifier_app_runtime"), types.ModuleType("amplifier_app_runtime.host_tools")
    package.__path__ = []  # it is a package
    tools.__dict__.update(ToolContext=ToolContext, ToolResult=ToolResult, ToolScope=_ToolScope, HostToolDefinition=_HostToolDefinition,
                          ToolHandler=Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]])
    package.__dict__["host_tools"] = tools
    sys.modules.update({"amplifier_app_runtime": package, "amplifier_app_runtime.host_tools": tools})


def _fail(message: str) -> typing.NoReturn:
    print(f"concerto.py: {message}", file=sys.stderr)
    raise SystemExit(2)


def _handler(name: str) -> Callable[..., Any]:
    module_name, _, function = name.rpartition(":")
    if not module_name or not function:
        _fail(f"{name!r} is no MODULE:FUNCTION, such as myapp.tools.database:query_handler")
    sys.path.insert(0, os.getcwd())
    sys.modules.setdefault("concerto", sys.modules["__main__"])  # for modules that import it
    _amplifier()
    try:
        if module_name.endswith(".py") or os.sep in module_name:
            path = os.path.abspath(module_name)
            if not os.path.exists(path):
                _fail(f"there is no file {module_name}")
            sys.path.insert(0, os.path.dirname(path))
            module_name = os.path.splitext(os.path.basename(path))[0]
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as e:
        if e.name is None or not (module_name + ".").startswith(e.name + "."):
            raise
        _fail(f"there is no module {module_name!r} in {os.getcwd()} or beside {__file__}: set `cwd`, or PYTHONPATH in `env` of the tool's command")
    f: Any = module
    for part in function.split("."):
        f = getattr(f, part, None)
    f = getattr(f, "handler", f)  # the function of a definition
    if not callable(f):
        have = sorted(n for n, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__)
        _fail(f"{module_name} has no function {function!r}" + (f"; it has {', '.join(have)}" if have else ""))
    return f


class _Command(_Peer):
    """A process started for a tool: for one call or, with `answer: lines`, for all
    calls of a session by JSON-RPC."""

    def __init__(self, f: Callable[..., Any], output: int):
        super().__init__()
        self.output = output
        self.one = _Tool(f, {"name": getattr(f, "__name__", "tool"), "description": "a command", "parameters": {}}, None)

    def send(self, text: str, message: dict[str, Any]) -> None:
        data = memoryview(_utf8(text) + b"\n")
        while data:
            data = data[os.write(self.output, data):]

    async def _call(self, p: dict[str, Any], flag: _Flag) -> dict[str, Any]:
        self._tools[p.get("name", ""), p.get("version", 1), None] = self.one
        return await super()._call(p, flag)

    async def run(self) -> None:
        lines: asyncio.Queue[Any] = asyncio.Queue()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        task = asyncio.current_task()
        assert task is not None
        with contextlib.suppress(NotImplementedError):  # Windows
            self.loop.add_signal_handler(signal.SIGTERM, task.cancel)
        first = await lines.get()
        if first is None:
            _fail("nothing came on standard input: it is the `command` of a tool, and gets {\"input\": …, \"context\": …}\n" + _USAGE)
        message = self._parsed(first)
        if message.get("jsonrpc") != "2.0":
            self.send(_encode(await self._single(message)), {})
            return
        while message is not None:
            self.handle_message(message)
            line = await lines.get()
            message = self._parsed(line) if line is not None else None
        self.end(ConnectionLost("the session has ended"))

    def _read(self, lines: asyncio.Queue[Any]) -> None:
        # Not sys.stdin: the interpreter closes it at exit, and aborts if another thread is reading
        # it.
        for line in open(os.dup(0), "rb"):
            if line.strip():
                self.loop.call_soon_threadsafe(lines.put_nowait, line)
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(lines.put_nowait, None)

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except ValueError as e:
            _fail(f"standard input is no JSON: {e}")
        if not isinstance(message, dict):
            _fail("standard input is no JSON object")
        return message

    async def _single(self, message: dict[str, Any]) -> dict[str, Any]:
        c = message.get("context") or {}
        ctx = ToolContext(**{k: c[k] for k in ("session_id", "cwd", "environment", "metadata", "call_id", "tool", "version", "by", "route") if k in c})
        try:
            return _result(await self.one.call(message.get("input") or {}, ctx))
        except Exception as e:
            return _failure(ctx.tool or "tool", e)


def _main(argv: list[str]) -> int:
    if len(argv) != 2 or argv[0] != "tool":
        print(_USAGE, file=sys.stderr)
        return 2
    # Standard output carries only the answer: handlers and their children print to standard error.
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    logging.basicConfig(format="%(message)s")
    f = _handler(argv[1])

    async def run() -> None:
        await _Command(f, output).run()

    try:
        asyncio.run(run())
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
