function sieve(n) {
  var prime = [];
  for (var i = 0; i <= n; i++) prime.push(true);
  for (var i = 2; i * i <= n; i++) {
    if (prime[i]) {
      for (var j = i * i; j <= n; j += i) prime[j] = false;
    }
  }
  var count = 0;
  for (var k = 2; k <= n; k++) {
    if (prime[k]) count++;
  }
  return count;
}

print(sieve(2000000));
