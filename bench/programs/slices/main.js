function sum(xs) {
  if (xs.length === 0) return 0;
  return xs[0] + sum(xs.slice(1));
}

var all = 0;
for (var i = 0; i < 20; i++) {
  var xs = [];
  for (var n = i; n < i + 2000; n++) xs.push(n);
  all += sum(xs);
}
print(all);
