# States are tuples: a kind and its data.
IDLE, DONE = ("idle",), ("done",)

class Worker:
    __slots__ = ("id", "state", "energy", "output")

    def __init__(self, id, energy):
        self.id = id
        self.state = IDLE
        self.energy = energy
        self.output = 0

    def step(self, tick):
        state = self.state
        kind = state[0]
        if kind == "idle":
            if self.energy > 20:
                self.state = ("working", 1 + (self.id + tick) % 7)
            else:
                self.state = ("resting", 3, 2 + tick % 5)
        elif kind == "working":
            left = state[1]
            self.output += left
            self.energy -= 3
            self.state = ("working", left - 1) if left > 1 else IDLE
        elif kind == "resting":
            _, left, gain = state
            self.energy += gain * 3
            self.state = ("resting", left - 1, gain) if left > 1 else IDLE
        if self.output > 2000:
            self.state = DONE

def main():
    workers = [Worker(id, id % 50) for id in range(1000)]
    for tick in range(1000):
        for w in workers:
            w.step(tick)
    energy = output = done = 0
    for w in workers:
        energy += w.energy
        output += w.output
        if w.state == DONE:
            done += 1
    return f"{energy} {output} {done}"

print(main())
