function build(n) {
  var records = [];
  for (var i = 0; i < n; i++) {
    records.push({
      id: i,
      name: `user "${i}"`,
      score: i + 0.25,
      active: i % 3 !== 0,
      tags: ["alpha", "beta", `t${i % 17}`],
      address: {city: "Zürich", zip: 8000 + i % 100, extra: null},
    });
  }
  return records;
}

// The sum of all whole numbers and of the lengths of all strings.
function weigh(v) {
  if (typeof v === "number") return Number.isInteger(v) ? v : 1;
  if (typeof v === "string") return v.length;
  if (Array.isArray(v)) {
    var sum = 0;
    for (var i = 0; i < v.length; i++) sum += weigh(v[i]);
    return sum;
  }
  if (typeof v === "object" && v !== null) {
    var sum = 0;
    for (var key in v) sum += key.length + weigh(v[key]);
    return sum;
  }
  return 1;
}

function select(records) {
  var kept = [];
  for (var i = 0; i < records.length; i++) {
    var r = records[i];
    if (r.active && r.id % 2 === 0) {
      kept.push({id: r.id, label: r.name + "/" + r.address.city, twice: r.score * 2 + 0.25});
    }
  }
  return kept;
}

function main() {
  var text = JSON.stringify(build(36000));
  var data = JSON.parse(text);
  var out = JSON.stringify(select(data));
  return `${text.length} ${weigh(data)} ${out.length}`;
}

print(main());
