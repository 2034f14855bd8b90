function byInt(n) {
  var m = new Map();
  for (var i = 0; i < n; i++) m.set(i * 7919 % 10000019, i);
  var sum = 0;
  for (var i = 0; i < n; i++) {
    var key = i * 7919 % 10000019;
    m.set(key, m.get(key) + 1);
    sum += m.get(key);
  }
  for (var i = 0; i < n; i++) {
    if (i % 2 === 0) m.delete(i * 7919 % 10000019);
  }
  for (var [k, v] of m) sum += k % 10 + v;
  return sum + m.size;
}

function byString(n) {
  var m = new Map();
  for (var i = 0; i < n; i++) m.set(`key ${i}`, i);
  var sum = 0;
  for (var i = 0; i < n; i++) sum += m.get(`key ${i * 7 % n}`) ?? 0;
  for (var [k, v] of m) sum += k.length + v;
  return sum + m.size;
}

print(`${byInt(1000000)} ${byString(1000000)}`);
