class Shape:
    __slots__ = ()

    def weight(self):
        return self.area() * 2 + 1

class Square(Shape):
    __slots__ = ("side",)

    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side

    def scaled(self, by):
        return Square(self.side * by % 101)

class Rect(Shape):
    __slots__ = ("width", "height")

    def __init__(self, width, height):
        self.width = width
        self.height = height

    def area(self):
        return self.width * self.height

    def scaled(self, by):
        return Rect(self.height * by % 103, self.width)

class Row(Shape):
    __slots__ = ("cells",)

    def __init__(self, cells):
        self.cells = cells

    def area(self):
        return self.cells

    def scaled(self, by):
        return Row(self.cells * by % 107)

    def weight(self):
        return self.cells - 1

def total(shape, rounds):
    current = shape
    sum = 0
    for i in range(rounds):
        sum += current.weight() + current.area()
        current = current.scaled(i % 7 + 1)
    return sum

def main():
    sum = 0
    for side in range(1, 11):
        sum += total(Square(side), 50000)
        sum += total(Rect(side, side + 1), 50000)
        sum += total(Row(side), 50000)
    return sum

print(main())
