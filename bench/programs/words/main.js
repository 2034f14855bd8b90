function main() {
  var counts = new Map();
  var total = 0;
  for (var i = 0; i < 1000000; i++) {
    var key = "w" + (i * 7919 % 1000);
    var n = counts.get(key);
    counts.set(key, (n === undefined ? 0 : n) + 1);
    total += key.length;
  }
  return total + counts.get("w7");
}

print(main());
