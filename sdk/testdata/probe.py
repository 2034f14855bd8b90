"""Does what a test asks for by its prompt, with every part of the SDK."""
import threading

from concerto_host import Refused, serve


class Broken(Exception):
    code = "E7"


def work(task):
    what, _, rest = task.text.partition(" ")
    if what == "ask":
        for i in range(int(rest)):
            if task.ask(f"question {i}") != f"question {i}":
                raise Exception(f"question {i} has another's answer")
        return {"answered": int(rest)}
    if what == "decide":
        d = task.approve("do it", args={"a": 1})
        return {"allow": d.allow, "reason": d.reason, "input": d.input, "scope": d.scope}
    if what == "say":
        print("printed")
        task.progress("half", percent=49.6, stage="s", usage={"tokens_in": 3, "tokens_out": 2, "tokens_cached": 1}, cost_usd=0.5, turns=4)
        task.plan_limit("5h", "near", used_percent=81.5, resets_at="2026-02-18T05:00:00Z")
        task.log("warn", "careful")
        task.partial("piece", message="m")
        task.retract(["m"])
        return [task.call("sum", [1, 2]), "é\u2028"]
    if what == "withdraw":
        out = []

        def ask():
            try:
                task.ask("taken back", options=["a"], questions=[{"question": "b"}], schema={"type": "string"}, id="w")
            except Refused as e:
                out.append(str(e))

        t = threading.Thread(target=ask)
        t.start()
        task.ask("go on?")
        task.withdraw("w")
        t.join()
        return out[0]
    if what == "refused":
        try:
            task.ask("anything")
        except Refused as e:
            return {"refused": str(e), "cancelled": task.cancelled.is_set()}
    if what == "fail":
        raise Broken("no disk")
    if what == "steered":
        task.ask("go on?")
        return {"messages": task.messages(), "rest": task.messages(), "queued": task.queued}
    if what == "given":
        return {"context": task.context, "schema": task.schema, "params": task.params, "session": task.session, "tools": task.tools}
    return "as text: " + task.text


def init(params):
    if params.get("model") == "unknown":
        raise Exception("there is no such model")
    return {"version": "1.2.3"}


serve(work, init=init, capabilities=["cancel", "tools"])
