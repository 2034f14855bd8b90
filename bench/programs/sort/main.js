function sift(xs, from, end) {
  var root = from;
  while (true) {
    var child = root * 2 + 1;
    if (child >= end) return;
    if (child + 1 < end && xs[child] < xs[child + 1]) child++;
    if (xs[root] >= xs[child]) return;
    var moved = xs[root];
    xs[root] = xs[child];
    xs[child] = moved;
    root = child;
  }
}

function heapsort(xs) {
  var out = xs.slice();
  var n = out.length;
  for (var from = n / 2 - 1; from >= 0; from--) sift(out, from, n);
  for (var end = n - 1; end > 0; end--) {
    var last = out[end];
    out[end] = out[0];
    out[0] = last;
    sift(out, 0, end);
  }
  return out;
}

function main() {
  var xs = [];
  var seed = 42;
  for (var i = 0; i < 200000; i++) {
    seed = seed * 16807 % 2147483647;
    xs.push(seed);
  }
  var ours = heapsort(xs);
  var library = xs.slice().sort(function (a, b) { return a - b; });
  var check = 0;
  for (var i = 0; i < ours.length; i++) {
    if (ours[i] !== library[i]) throw new Error("they differ at " + i);
    check = (check * 31 + ours[i]) % 1000000007;
  }
  return check;
}

print(main());
