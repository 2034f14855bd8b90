function down(n, acc) {
  if (n === 0) return acc;
  var below = down(n - 1, (acc * 3 + n) % 1000003);
  return below + n % 3;
}

var sum = 0;
for (var i = 0; i < 500; i++) sum += down(10000, i);
print(sum);
