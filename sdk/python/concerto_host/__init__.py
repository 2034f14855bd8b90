"""A host for Concerto in a few lines: no dependencies, Python 3.8 or newer. This file can
also be copied as concerto_host.py.

    from concerto_host import serve

    def work(task):
        style = task.ask("Tabs or spaces?", options=["tabs", "spaces"])
        return {"text": f"done, with {style}"}

    serve(work, capabilities=["cancel"])

serve() reads prompts from standard input until it ends. The handler's return value
is the result of the exchange, and its exception the error. Prints go to standard
error and thus to the run's log, because standard output carries only messages.
The protocol is spec/host-protocol.md.
"""
from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional

__all__ = ["serve", "Task", "Decision", "Refused"]

_GRACE = 5.0  # seconds that a handler has after the end of standard input
_BLANK = " \t\r\n"
_YES = frozenset("yes y ok okay allow approve approved accept once true".split())
_NO = frozenset(["", "no", "n", "deny", "denied", "reject", "rejected", "decline", "false"])
_SCOPES = ("once", "session", "always")
_CHECK = "concerto test: "  # begins the prompts of `concerto host test`


class Refused(Exception):
    """A request got no answer: no handler exists, the handler failed, the request was
    withdrawn, or the exchange was cancelled. The text has the cause."""


@dataclass(frozen=True)
class Decision:
    """The answer to an approval. Only a clear yes allows."""

    allow: bool
    reason: str = ""  # of a denial
    input: Any = None  # the arguments to use: the original ones, or those the answer changed
    scope: str = "once"  # of the approval: once, session or always


def _decide(value: Any, args: Any) -> Decision:
    if value is True:
        return Decision(True, input=args)
    if value is False:
        return Decision(False, "denied")
    if isinstance(value, str):
        word = value.strip(_BLANK + ".!").lower()
        if word in _YES:
            return Decision(True, input=args)
        if word in _SCOPES:
            return Decision(True, input=args, scope=word)
        return Decision(False, "denied" if word in _NO else value.strip(_BLANK))
    if isinstance(value, dict) and value.get("decision") in ("allow", "deny"):
        reason = value["reason"] if isinstance(value.get("reason"), str) else ""
        scope = value["scope"] if value.get("scope") in _SCOPES else "once"
        if value["decision"] == "deny":
            return Decision(False, reason or "denied", scope=scope)
        return Decision(True, reason, args if value.get("input") is None else value["input"], scope)
    return Decision(False, "not a decision: " + _encode(value))


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _without_none(members: dict[str, Any]) -> dict[str, Any]:
    """Members that are not None."""
    return {k: v for k, v in members.items() if v is not None}


class Task:
    """One prompt. Its methods are safe to call from any thread."""

    def __init__(self, server: "_Server", prompt: dict[str, Any]):
        self.text: str = prompt.get("text", "")
        self.context: Any = prompt.get("context")  # None if there is none
        self.schema: Any = prompt.get("schema")  # the JSON Schema of the expected result, or None
        self.params: dict[str, Any] = server.params  # of the manifest, as passed to init
        self.session: Optional[str] = prompt.get("session")  # the conversation to continue
        self.tools: list[dict[str, Any]] = prompt.get("tools") or []  # the callable tools, each {"name", "description", "parameters"}
        self.queued: bool = prompt.get("queued") is True  # it continues the exchange of the last prompt
        self.cancelled: threading.Event = threading.Event()  # set when the result is no longer needed
        self._server = server
        self._reason = ""  # why no further requests are possible
        self._open: dict[str, Any] = {}  # requests without an answer: id to waiter
        self._messages: list[str] = []  # received, and not returned by messages()

    def progress(self, message: str, percent: Optional[float] = None, stage: Optional[str] = None, usage: Optional[Mapping[str, int]] = None,
                 cost_usd: Optional[float] = None, turns: Optional[int] = None) -> None:
        """Report progress; percent is rounded to an integer. usage, cost_usd and turns are totals
        since the exchange began."""
        if percent is not None:
            percent = round(percent)
        self._notify("progress", message=message, percent=percent, stage=stage, usage=usage, cost_usd=cost_usd, turns=turns)

    def plan_limit(self, window: str, status: str, used_percent: Optional[float] = None, resets_at: Optional[str] = None) -> None:
        """Report a limit of the plan under which the host works. The window is "5h", "week" or
        another text, the status "near" or "reached", and resets_at a time as in RFC 3339."""
        self._notify("plan_limit", window=window, status=status, used_percent=used_percent, resets_at=resets_at)

    def log(self, level: str, message: str) -> None:
        """Send a log line to the program. The level is debug, info, warn or error."""
        self._notify("log", level=level, message=message)

    def partial(self, text: str, message: Optional[str] = None) -> None:
        """Send a part of the result. message is the id of the message to which it belongs."""
        self._notify("partial", text=text, message=message)

    def retract(self, messages: Iterable[str]) -> None:
        """Remove the parts of these messages from the result."""
        self._notify("retract", messages=list(messages))

    def ask(self, question: str, options: Optional[Iterable[str]] = None, questions: Optional[Iterable[Any]] = None,
            schema: Any = None, id: Optional[str] = None) -> Any:
        """Ask the program and return its answer, any JSON value. Raises Refused."""
        return self._request("question", id, question=question, options=options if options is None else list(options),
                             questions=questions if questions is None else list(questions), schema=schema)

    def approve(self, description: str, tool: Optional[str] = None, args: Any = None, kind: Optional[str] = None,
                risk_level: Optional[str] = None, id: Optional[str] = None) -> Decision:
        """Ask whether an action is allowed. Raises Refused if there is no answer."""
        value = self._request("approval", id, description=description, tool=tool, args=args, kind=kind, risk_level=risk_level)
        return _decide(value, args)

    def call(self, tool: str, args: Any, id: Optional[str] = None) -> Any:
        """Call one of the program's tools and return its result. Raises Refused."""
        return self._request("tool_call", id, tool=tool, args=args)

    def messages(self) -> list[str]:
        """Return the texts that the program has sent to this task since the last call.
        Only hosts with the capability "steer" receive them."""
        with self._server.lock:
            received, self._messages = self._messages, []
        return received

    def withdraw(self, *ids: str) -> None:
        """Withdraw the requests with these ids, or all open ones. Their callers get
        Refused."""
        server = self._server
        with server.lock:
            for id in ids or list(self._open):
                waiter = self._open.pop(id, None)
                if waiter is not None:
                    server.write("withdraw", {"id": id})
                    waiter.put(("error", "withdrawn"))

    def _notify(self, type: str, **members: Any) -> None:
        with self._server.lock:
            if not self._server.ended(self):
                self._server.write(type, _without_none(members))

    def _request(self, type: str, id: Optional[str], **members: Any) -> Any:
        waiter: queue.SimpleQueue[Any] = queue.SimpleQueue()
        server = self._server
        with server.lock:
            if self._reason:
                raise Refused(self._reason)
            if id is None:
                server.requests += 1
                id = f"{type[0]}{server.requests}"
            if id in self._open:
                raise ValueError(f"a request with the id {id!r} is waiting already")
            server.write(type, {"id": id, **_without_none(members)})
            self._open[id] = waiter
        outcome, value = waiter.get()
        if outcome == "error":
            raise Refused(value)
        return value

    def _stop(self, reason: str) -> None:
        """Refuse open and future requests. The caller holds the lock."""
        self._reason = self._reason or reason
        for waiter in self._open.values():
            waiter.put(("error", reason))
        self._open.clear()


class _Server:
    def __init__(self, handler: Callable[..., Any], init: Optional[Callable[[dict[str, Any]], Optional[Mapping[str, Any]]]], capabilities: Iterable[str], testable: bool):
        self.handler: Callable[[Task], Any] = handler
        self.init: Optional[Callable[[dict[str, Any]], Optional[Mapping[str, Any]]]] = init
        self.capabilities: list[str] = list(capabilities) + (["testable"] if testable else [])
        self.testable = testable
        self.params: dict[str, Any] = {}
        self.requests = 0
        self.lock: Any = threading.RLock()
        self.current: Optional[Task] = None  # of the newest prompt
        self.jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # The streams carry only the protocol: prints and children write to stderr.
        sys.stdout.flush()
        self.input: int = os.dup(0)
        self.output: int = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = sys.stderr

    def run(self) -> None:
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            job = self.jobs.get()
            if job is None:
                return
            job()

    def read(self) -> None:
        for line in self.lines():
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict) or not isinstance(message.get("type"), str):
                message = {"type": "prompt", "text": line.decode("utf-8", "replace")}  # input_format = "text"
            self.dispatch(message)
        timer = threading.Timer(_GRACE, os._exit, [0])
        timer.daemon = True
        timer.start()
        self.cancel("the program has ended")
        self.jobs.put(None)

    def lines(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        while True:
            chunk = os.read(self.input, 1 << 16)
            if not chunk:
                return
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                parts.append(line)
                line = b"".join(parts)
                parts = []
                if line.strip():
                    yield line
            parts.append(rest)

    def dispatch(self, message: dict[str, Any]) -> None:
        type = message["type"]
        if type == "response":
            with self.lock:
                open = self.current._open if self.current else {}
                waiter = open.pop(message.get("answer_to", ""), None)
            if waiter is not None:
                failed = isinstance(message.get("error"), str)
                waiter.put(("error", message["error"]) if failed else ("value", message.get("value")))
        elif type == "prompt":
            with self.lock:
                task = self.current = Task(self, message)
            self.jobs.put(lambda: self.work(task))
        elif type == "steer":
            with self.lock:
                if self.current is not None:
                    self.current._messages.append(str(message.get("text", "")))
        elif type == "cancel":
            self.cancel("cancelled: " + str(message.get("reason", "")))
        elif type == "init":
            self.params = message.get("params") or {}
            self.jobs.put(self.acknowledge)

    def cancel(self, reason: str) -> None:
        with self.lock:
            if self.current is not None:
                self.current.cancelled.set()  # first, so that refused callers see it
                self.current._stop(reason)

    def acknowledge(self) -> None:
        try:
            more = (self.init(self.params) if self.init else None) or {}
            self.send("init_ack", {"capabilities": self.capabilities, **more})
        except Exception as e:
            self.failed(e)

    def work(self, task: Task) -> None:
        handler = self.handler
        if self.testable and task.text.startswith(_CHECK):
            handler = _CHECKS.get(task.text[len(_CHECK):], handler)
        try:
            value = handler(task)
            if value is None:
                value = {}
            elif isinstance(value, str):
                value = {"text": value}
            elif not isinstance(value, dict):
                value = {"value": value}
            self.send("result", value, task)
        except Exception as e:
            self.failed(e, task)

    def failed(self, e: Exception, task: Optional[Task] = None) -> None:
        if not isinstance(e, Refused):
            traceback.print_exception(e.__class__, e, e.__traceback__)
        code = getattr(e, "code", None)
        recoverable = getattr(e, "recoverable", None)
        self.send("error", _without_none({"message": str(e) or e.__class__.__name__, "code": code if isinstance(code, str) else None,
                                   "recoverable": recoverable if isinstance(recoverable, bool) else None}), task)

    def ended(self, task: Task) -> bool:
        return self.current is not task

    def send(self, type: str, members: dict[str, Any], task: Optional[Task] = None) -> None:
        """Write a message; with a task, the one that ends its exchange."""
        with self.lock:
            self.write(type, members)
            if task is not None:
                task._stop("the exchange has ended")
                if self.current is task:
                    self.current = None

    def write(self, type: str, members: dict[str, Any]) -> None:
        """Write a line. The caller holds the lock."""
        message = {**members, "type": type} if "type" in members else {"type": type, **members}
        data = memoryview((_encode(message) + "\n").encode("utf-8", "replace"))
        try:
            while data:
                data = data[os.write(self.output, data):]
        except BrokenPipeError:
            os._exit(1)  # the program has closed the stream


def serve(handler: Callable[[Task], Any], init: Optional[Callable[[dict[str, Any]], Optional[Mapping[str, Any]]]] = None,
          capabilities: Iterable[str] = (), testable: bool = False) -> None:
    """Handle prompts one at a time on this thread until standard input ends.

    init receives the parameters of the manifest. Its result, such as
    {"version": "1.2.0"}, is added to init_ack; its exception rejects the parameters.
    capabilities are announced in init_ack; "cancel" means that the handler checks
    task.cancelled, and "steer" that it reads task.messages(). With testable, serve answers the prompts of `concerto host test`
    without calling the handler. At the end of standard input, the running handler is
    cancelled.
    """
    _Server(handler, init, capabilities, testable).run()


def _test_progress(task: Task) -> Any:
    task.progress("half done", percent=50, stage="test")
    return "progress"


def _test_approval(task: Task) -> Any:
    decisions = [task.approve(n, tool="concerto_test", args={"n": n}, kind="other", risk_level="low") for n in ("one", "two")]
    return {"allowed": [a.allow for a in decisions], "reason": decisions[1].reason}


def _test_tool_call(task: Task) -> Any:
    value = task.call("concerto_test", {"n": 1})
    try:
        task.call("concerto_test", {"n": 2})
    except Refused as e:
        return {"value": value, "refused": str(e)}
    return {"value": value}


def _test_error(task: Task) -> Any:
    raise Refused("concerto test")


def _test_cancel(task: Task) -> Any:
    task.progress("waiting")
    task.cancelled.wait()
    return "cancelled"


def _test_text(task: Task) -> Any:
    print("a remark, not a message")
    return "text"


_CHECKS = {
    "prompt": lambda task: "prompt",
    "progress": _test_progress,
    "question": lambda task: {"text": task.ask("Which one?", options=["one", "two"])},
    "approval": _test_approval,
    "tool_call": _test_tool_call,
    "error": _test_error,
    "cancel": _test_cancel,
    "text": _test_text,
    "big_line": lambda task: {"text": task.context["text"]},
    "utf8": lambda task: {"text": task.context["text"]},
}
