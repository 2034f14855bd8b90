async function passOn(before) {
  return await before + 1;
}

async function main() {
  var token = 0;
  for (var i = 0; i < 20; i++) {
    var release;
    var last = new Promise(function (resolve) { release = resolve; });
    for (var j = 0; j < 10000; j++) last = passOn(last);
    release(token);
    token = await last;
  }
  print(token);
}

main();
