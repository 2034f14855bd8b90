function main() {
  var text = "Καλημέρα κόσμε — “well”, 你好。 ".repeat(34483);
  var n = text.length;
  var quotes = 0;
  var words = 0;
  for (var i = 0; i < n; i++) {
    if (text[i] === "“") quotes++;
    if (i % 10 === 0 && i + 4 <= n && text.slice(i, i + 4) === "κόσμ") words++;
  }
  print(n + " " + quotes + " " + words);
}
main();
