"""A host that builds what it is told, as far as physics allows."""
from protocol import ask, send, serve


def build(task):
    thing = task.removeprefix("Build: ")
    send(type="progress", message="drawing " + thing)
    drive = ask(type="question", id="drive", question="rope or hydraulics?", options=["rope", "hydraulics"])
    if "perpetual" in thing:
        raise RuntimeError("cannot build " + thing)
    oiled = ask(type="approval", id="oil", description="Oil the bearings", risk_level="low")
    return {"text": thing + " with " + drive + " drive" + (", oiled" if oiled == "yes" else "")}


serve(build)
