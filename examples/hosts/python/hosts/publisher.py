"""A host that publishes the next version of a package, or would. It asks how large the change is, looks up the last
version with the program's tool, and publishes only what it is allowed to."""
from concerto_host import serve

PLACES = ["major", "minor", "patch"]


def publish(task):
    task.progress("looking up the last version", percent=10)
    last = task.call("last_version", {"name": task.text})
    size = task.ask(f"{task.text} {last} is the last. How large is the change?", options=PLACES)
    place = PLACES.index(size)
    numbers = [int(n) for n in last.split(".")]
    version = ".".join(str(n) for n in numbers[:place] + [numbers[place] + 1] + [0] * (2 - place))
    may = task.approve(f"publish {task.text} {version}", tool="publish", args={"version": version}, kind="execute", risk_level="high")
    if not may.allow:
        return {"text": f"not published: {may.reason}"}
    print("this goes to the log, as a host's prints do")
    task.partial("uploaded, ")
    return {"text": f"{task.text} {may.input['version']} is out", "version": may.input["version"]}


serve(publish, capabilities=["cancel"], testable=True)
