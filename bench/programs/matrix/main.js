function matrix(n, seed) {
  var out = [];
  for (var i = 0; i < n; i++) {
    var row = [];
    for (var j = 0; j < n; j++) row.push((i * seed + j * 7) % 13 / 4);
    out.push(row);
  }
  return out;
}

function product(a, b, n) {
  var out = matrix(n, 0);
  for (var i = 0; i < n; i++) {
    var row = a[i], to = out[i];
    for (var j = 0; j < n; j++) {
      var sum = 0;
      for (var k = 0; k < n; k++) sum += row[k] * b[k][j];
      to[j] = sum;
    }
  }
  return out;
}

function main() {
  var n = 300;
  var c = product(matrix(n, 3), matrix(n, 5), n);
  var trace = 0;
  for (var i = 0; i < n; i++) trace += c[i][i] + c[i][n - 1 - i];
  return Math.floor(trace);
}

print(main());
