// Finds the command `concerto` and checks that this extension supports its version.
"use strict";

const { execFile } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

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

/** The places where installers and Go install the command, for editors that were started with another PATH. */
function places(env = process.env, home = os.homedir()) {
  const name = process.platform === "win32" ? "concerto.exe" : "concerto";
  const dirs = [env.GOBIN, env.GOPATH && path.join(env.GOPATH, "bin"), path.join(home, "go", "bin"), path.join(home, ".local", "bin"), "/opt/homebrew/bin", "/usr/local/bin"];
  return dirs.filter(Boolean).map((d) => path.join(d, name));
}

/** The command to use: the configured one, or, when its name is not in PATH, one at a usual place. */
function find(command, candidates = places()) {
  if (command !== "concerto") return command;
  const inPath = (process.env.PATH ?? "").split(path.delimiter).some((d) => isFile(path.join(d, path.basename(candidates[0] ?? command))));
  return (!inPath && candidates.find(isFile)) || command;
}

function isFile(file) {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function isOlder(version) {
  for (let i = 0; i < oldest.length; i++) {
    if (version[i] !== oldest[i]) return version[i] < oldest[i];
  }
  return false;
}

module.exports = { check, find, install, oldest, places };
