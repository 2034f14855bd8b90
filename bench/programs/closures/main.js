function map(xs, f) {
  var out = [];
  for (var i = 0; i < xs.length; i++) out.push(f(xs[i]));
  return out;
}

function filter(xs, f) {
  var out = [];
  for (var i = 0; i < xs.length; i++) {
    var x = xs[i];
    if (f(x)) out.push(x);
  }
  return out;
}

function reduce(xs, init, f) {
  var acc = init;
  for (var i = 0; i < xs.length; i++) acc = f(acc, xs[i]);
  return acc;
}

function main() {
  var xs = [];
  for (var i = 0; i < 1000000; i++) xs.push(i);
  var k = 3;
  var sum = 0;
  for (let r = 1; r <= 3; r++) {
    var doubled = map(xs, function (x) { return x * 2 + r; });
    var kept = filter(doubled, function (x) { return x % k === 0; });
    sum += reduce(kept, 0, function (a, b) { return a + b; });
  }
  return sum;
}

print(main());
