class Refused {
  constructor(message, at) {
    this.message = message;
    this.at = at;
  }
}

// The Concerto function returns a Result; this one throws.
function check(n) {
  if (n % 5 === 4) throw new Refused("refused", n);
  return n * 2;
}

function inner(n) { return check(n) + 1; }

function middle(n) { return inner(n) + check(n + 1); }

function outer(n) { return middle(n) - 3; }

function risky(n) {
  if (n % 3 === 0) throw new Refused("thrown", n);
  return n + 1;
}

function main() {
  var good = 0, bad = 0;
  for (var i = 0; i < 500000; i++) {
    try {
      good += outer(i);
    } catch (e) {
      bad += e.at;
    }
  }
  for (var i = 0; i < 500000; i++) {
    try {
      good += risky(i) * 2;
    } catch (e) {
      bad += e.at;
    }
  }
  return `${good} ${bad}`;
}

print(main());
