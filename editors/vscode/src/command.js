// Finds the command `concerto` and checks that this extension supports its version.
"use strict";

const { execFile } = require("node:child_process");

/** The oldest version whose language server and debugger this extension knows. */
const oldest = [0, 1, 0];

const install = "go install github.com/concerto-lang/concerto/cmd/concerto@latest";

/** What `concerto version` says; rejected with a sentence when there is none, or an older one. */
function check(command, env = process.env) {
  return new Promise((resolve, reject) => {
    execFile(command, ["version"], { env, timeout: 10_000 }, (err, stdout) => {
      if (err) {
        const missing = err.code === "ENOENT";
        reject(new Error(missing ? `\`${command}\` is not installed. Install it with: ${install}` : `\`${command} version\` fails: ${err.message}`));
        return;
      }
      const said = stdout.trim();
      const version = /(\d+)\.(\d+)\.(\d+)/.exec(said);
      if (version && isOlder(version.slice(1).map(Number))) {
        reject(new Error(`\`${command}\` is ${version[0]}, and ${oldest.join(".")} or later is required. Install it with: ${install}`));
        return;
      }
      resolve(said); // a development build has no version number
    });
  });
}

function isOlder(version) {
  for (let i = 0; i < oldest.length; i++) {
    if (version[i] !== oldest[i]) return version[i] < oldest[i];
  }
  return false;
}

module.exports = { check, install, oldest };
