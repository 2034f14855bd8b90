"""A scripted coding agent. It reads a prompt such as "tax: add a tax", changes files of its working
directory, and reports progress and what the work has cost. A real agent, such as Claude Code, takes
its place without changes to main.conc."""
import json
import pathlib
import re
import sys

MODULE = '''{imports}def {name}({params}):
    return {value}


def check():
    assert {name}({example}) == {result}
'''


def send(**message):
    print(json.dumps(message), flush=True)


def module(name, params, value, example, result, imports=""):
    text = MODULE.format(name=name, params=params, value=value, example=example, result=result, imports=imports)
    pathlib.Path("shop", name + ".py").write_text(text)


def news(line):
    path = pathlib.Path("NEWS.md")
    text = path.read_text()
    if line not in text:
        path.write_text(text + "- " + line + "\n")


def rename():
    for file in ("shop/cart.py", "shop/receipt.py"):
        path = pathlib.Path(file)
        path.write_text(re.sub(r"\btotal(?=\(|$)", "total_of", path.read_text(), flags=re.M))


def shipping():
    send(type="question", id="q1", question="Is shipping free for large orders?")
    answer = json.loads(sys.stdin.readline())["value"]
    value = "0 if total(prices) > 50 else 5" if answer.startswith("Yes") else "5"
    module("shipping", "prices", value, "[1, 2]", "5", "from shop.cart import total\n\n\n")


def resolve():
    """Retains the lines of both sides of each conflict."""
    path = pathlib.Path("NEWS.md")
    marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith(marks)))


WORK = {
    "tax": lambda: module("tax", "price", "price * 119 // 100", "100", "119"),
    "discount": lambda: module("discount", "price, percent", "price * (100 - percent) // 100", "200, 10", "180"),
    "currency": lambda: module("currency", "cents", "'%d.%02d' % divmod(cents, 100)", "1234", "'12.34'"),
    "stock": lambda: module("stock", "counts, name", "counts.get(name, 0)", "{'pen': 2}, 'pen'", "2"),
    "rename": rename,
    "shipping": shipping,
    "opening": lambda: news("The shop is open on Sundays."),
    "returns": lambda: news("Returns are free."),
    "resolve": resolve,
}

for line in sys.stdin:
    prompt = json.loads(line)
    if prompt["type"] != "prompt":
        continue
    name = prompt["text"].split(":")[0]
    if name not in WORK:
        send(type="error", message="there is no script for " + name)
        continue
    send(type="progress", message="works on " + name, cost_usd=0.01)
    WORK[name]()
    send(type="result", text="done: " + name, cost_usd=0.02)
