class Step:
    __slots__ = ("cost", "at")

    def __init__(self, cost, at):
        self.cost, self.at = cost, at


def push(heap, x, order):
    heap.append(x)
    at = len(heap) - 1
    while at > 0:
        above = (at - 1) // 2
        if order(x, heap[above]) >= 0:
            return
        heap[at], heap[above] = heap[above], x
        at = above


def pop(heap, order):
    if not heap:
        return None
    least, x = heap[0], heap.pop()
    n = len(heap)
    if n == 0:
        return least
    heap[0], at = x, 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and order(heap[below + 1], heap[below]) < 0:
            below += 1
        if order(heap[below], x) >= 0:
            break
        heap[at], heap[below] = heap[below], x
        at = below
    return least


def by_cost(a, b):
    return a.cost - b.cost


def shortest(size, weight):
    cost, heap = [1000000000] * (size * size), []
    cost[0] = 0
    push(heap, Step(0, 0), by_cost)
    while step := pop(heap, by_cost):
        at = step.at
        if step.cost > cost[at]:
            continue
        column = at % size
        for side in range(4):
            to = at
            if side == 0 and column > 0:
                to = at - 1
            if side == 1 and column < size - 1:
                to = at + 1
            if side == 2:
                to = at - size
            if side == 3:
                to = at + size
            if to == at or to < 0 or to >= size * size:
                continue
            through = step.cost + weight[to]
            if through < cost[to]:
                cost[to] = through
                push(heap, Step(through, to), by_cost)
    return cost


def main():
    size, weight, seed = 450, [], 42
    for _ in range(size * size):
        seed = (seed * 3877 + 29573) % 139968
        weight.append(1 + seed % 20)
    print(sum(shortest(size, weight)))


main()
