class Refused(Exception):
    def __init__(self, message, at):
        self.message = message
        self.at = at

# The Concerto function returns a Result; this one raises.
def check(n):
    if n % 5 == 4:
        raise Refused("refused", n)
    return n * 2

def inner(n):
    return check(n) + 1

def middle(n):
    return inner(n) + check(n + 1)

def outer(n):
    return middle(n) - 3

def risky(n):
    if n % 3 == 0:
        raise Refused("thrown", n)
    return n + 1

def main():
    good = bad = 0
    for i in range(500000):
        try:
            good += outer(i)
        except Refused as e:
            bad += e.at
    for i in range(500000):
        try:
            good += risky(i) * 2
        except Refused as e:
            bad += e.at
    return f"{good} {bad}"

print(main())
