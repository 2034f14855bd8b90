"use strict";
// Runs a program of the package for this platform with the arguments, standard streams and signals of
// this process, and exits as it does.

const { spawn } = require("child_process");
const os = require("os");
const path = require("path");
const tty = require("tty");

const packages = @PACKAGES@;

// executable returns the path of the program, or exits with a message.
function executable(program) {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (!name) {
    console.error(`concerto has no package for ${platform}; it requires one of: ${Object.keys(packages).join(", ")}`);
    process.exit(1);
  }
  let manifest;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    console.error(`${name} is not installed: npm omitted the optional dependencies`);
    console.error(`  hint: npm install ${name}@@VERSION@`);
    process.exit(1);
  }
  const suffix = process.platform === "win32" ? ".exe" : "";
  return path.join(path.dirname(manifest), "bin", program + suffix);
}

module.exports = function run(program) {
  const file = executable(program);
  // A terminal sends these signals to both processes. A second one would end the program at once.
  const fromTerminal = [0, 1, 2].some((fd) => tty.isatty(fd)) ? ["SIGINT", "SIGQUIT"] : [];
  const windows = process.platform === "win32"; // its consoles notify both processes
  const signals = windows ? ["SIGINT", "SIGBREAK", "SIGHUP"] : ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  for (const signal of signals) {
    process.on(signal, () => {
      if (!windows && !fromTerminal.includes(signal)) child.kill(signal);
    });
  }
  // After the handlers exist, a signal no longer ends this process without the program.
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", (error) => {
    console.error(`could not start ${file}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // A signal that does not end this process.
    setTimeout(() => process.exit(128 + os.constants.signals[signal]), 1000);
  });
};
