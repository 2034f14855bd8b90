class Shape {
  weight() { return this.area() * 2 + 1; }
}

class Square extends Shape {
  constructor(side) { super(); this.side = side; }
  area() { return this.side * this.side; }
  scaled(by) { return new Square(this.side * by % 101); }
}

class Rect extends Shape {
  constructor(width, height) { super(); this.width = width; this.height = height; }
  area() { return this.width * this.height; }
  scaled(by) { return new Rect(this.height * by % 103, this.width); }
}

class Row extends Shape {
  constructor(cells) { super(); this.cells = cells; }
  area() { return this.cells; }
  scaled(by) { return new Row(this.cells * by % 107); }
  weight() { return this.cells - 1; }
}

function total(shape, rounds) {
  var current = shape;
  var sum = 0;
  for (var i = 0; i < rounds; i++) {
    sum += current.weight() + current.area();
    current = current.scaled(i % 7 + 1);
  }
  return sum;
}

function main() {
  var sum = 0;
  for (var side = 1; side <= 10; side++) {
    sum += total(new Square(side), 50000);
    sum += total(new Rect(side, side + 1), 50000);
    sum += total(new Row(side), 50000);
  }
  return sum;
}

print(main());
