function main() {
  var lines = [];
  for (var i = 0; i < 225000; i++) {
    lines.push(`line ${i}: the quick brown fox, number ${i * 31 % 1009}`);
  }
  var text = lines.join("\n");
  var words = 0;
  var out = [];
  for (var line of text.split("\n")) {
    var parts = line.replace("quick", "slow").split(" ");
    words += parts.length;
    out.push(`${parts[1]}${parts[7]} ${parts[5].toUpperCase()}`);
  }
  var joined = out.join(";");
  return `${text.length} ${words} ${joined.length} ${joined.split("FOX").length - 1} ${joined.indexOf("224999:")}`;
}

print(main());
