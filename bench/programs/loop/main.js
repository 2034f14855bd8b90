function main() {
  var s = 0;
  for (var i = 0; i < 3000; i++) {
    for (var j = 0; j < 10000; j++) {
      s = (s + i * j) % 1000003;
    }
  }
  return s;
}
print(main());
