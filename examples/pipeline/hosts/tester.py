"""A host that tests what another host has built."""
from protocol import ask, serve


def test(task):
    load = ask(type="question", id="load", question="Is an empty car enough?")
    risky = ask(type="approval", id="cut", description="Cut the rope", risk_level="high")
    skipped = 0 if risky == "yes" else 1
    return {"text": task.removeprefix("Test: ") + " (" + load + ")", "passed": 12, "skipped": skipped}


serve(test)
