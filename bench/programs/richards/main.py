class Packet:
    __slots__ = ("to", "kind", "datum", "data")

    def __init__(self, to, kind):
        self.to, self.kind, self.datum, self.data = to, kind, 0, [0, 0, 0, 0]


class Idle:
    def __init__(self, control, count):
        self.control, self.count = control, count

    def run(self, s, id):
        self.count -= 1
        if self.count == 0:
            s.hold(id)
        elif self.control & 1 == 0:
            self.control >>= 1
            s.jobs[4].held = False
        else:
            self.control = (self.control >> 1) ^ 53256
            s.jobs[5].held = False


class Worker:
    def __init__(self, destination, letter):
        self.destination, self.letter = destination, letter

    def run(self, s, id):
        job = s.jobs[id]
        if not job.queue:
            job.waiting = True
            return
        packet = job.queue.pop(0)
        self.destination = 3 if self.destination == 2 else 2
        packet.to = self.destination
        packet.datum = 0
        for i in range(4):
            self.letter = self.letter % 26 + 1
            packet.data[i] = 64 + self.letter
        s.send(id, packet)


class Handler:
    def __init__(self):
        self.work, self.devices = [], []

    def run(self, s, id):
        job, work, devices = s.jobs[id], self.work, self.devices
        if job.queue:
            packet = job.queue.pop(0)
            (work if packet.kind == "work" else devices).append(packet)
        if work and work[0].datum > 3:
            done = work.pop(0)
            done.to = 1
            s.send(id, done)
        elif work and devices:
            packet = devices.pop(0)
            at = work[0].datum
            packet.datum = work[0].data[at]
            work[0].datum = at + 1
            packet.to = id + 2
            s.send(id, packet)
        else:
            job.waiting = True


class Device:
    def __init__(self):
        self.pending = None

    def run(self, s, id):
        job = s.jobs[id]
        if self.pending is not None:
            back, self.pending = self.pending, None
            back.to = id - 2
            s.send(id, back)
        elif not job.queue:
            job.waiting = True
        else:
            self.pending = job.queue.pop(0)
            s.hold(id)


class Job:
    def __init__(self, state, queue, ready):
        self.state, self.queue, self.held, self.waiting = state, queue, False, not ready


class Scheduler:
    def __init__(self, jobs):
        self.jobs, self.queued, self.holds, self.turns = jobs, 0, 0, 0

    def send(self, id, packet):
        job = self.jobs[packet.to]
        packet.to = id
        self.queued += 1
        job.queue.append(packet)
        job.waiting = False

    def hold(self, id):
        self.holds += 1
        self.jobs[id].held = True

    def run(self):
        id = 5
        while id >= 0:
            job = self.jobs[id]
            if not job.held and (not job.waiting or job.queue):
                self.turns += 1
                job.state.run(self, id)
                id = 5
            else:
                id -= 1


def packets(to, kind, n):
    return [Packet(to, kind) for _ in range(n)]


def main():
    queued = holds = turns = 0
    for _ in range(10):
        s = Scheduler([
            Job(Idle(1, 10000), [], True),
            Job(Worker(2, 0), packets(0, "work", 2), True),
            Job(Handler(), packets(4, "device", 3), True),
            Job(Handler(), packets(5, "device", 3), True),
            Job(Device(), [], False),
            Job(Device(), [], False),
        ])
        s.run()
        queued, holds, turns = queued + s.queued, holds + s.holds, turns + s.turns
    print(queued, holds, turns)


main()
