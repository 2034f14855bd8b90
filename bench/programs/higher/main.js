function compose(f, g) { return function (x) { return g(f(x)); }; }

function twice(f) { return function (x) { return f(f(x)); }; }

function counter(by) {
  var n = 0;
  return function () {
    n += by;
    return n;
  };
}

function fold(xs, init, f) {
  var acc = init;
  for (var i = 0; i < xs.length; i++) acc = f(acc, xs[i]);
  return acc;
}

function main() {
  var first = compose(compose(function (x) { return x + 1; }, function (x) { return x * 3; }), function (x) { return x % 10007; });
  var second = twice(function (x) { return x + 7; });
  var third = twice(twice(function (x) { return x - 2; }));
  var table = [first, second, third];
  var tick = counter(2);
  var xs = [];
  for (var i = 0; i < 1000; i++) xs.push(i);
  var acc = 0;
  for (var round = 0; round < 3000; round++) {
    let f = table[round % 3];
    acc += fold(xs, 0, function (sum, x) { return sum + f(x); }) % 1000 + tick();
  }
  return acc;
}

print(main());
