"""A host that builds the prompt's order, within the limits of physics."""
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
