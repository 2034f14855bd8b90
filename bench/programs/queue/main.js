function main() {
  var queue = [];
  for (var i = 0; i < 1000; i++) queue.push(i);
  var sum = 0;
  for (var i = 0; i < 200000; i++) {
    var first = queue.shift();
    sum = (sum * 3 + first) % 1000003;
    queue.push((first * 7 + i) % 10007);
  }
  return sum + queue.length;
}

print(main());
