"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { spawn } = require("node:child_process");
const { test, beforeEach } = require("node:test");

const { vscode, calls, answers } = require("./stub.cjs");
const { check, find, install, places } = require("../src/command");
const { missing } = require("../src/extension");
const debug = require("../src/debug");
const { Tests } = require("../src/tests");
const commands = require("../src/commands");

// CONCERTO is the path of the command built for the tests.
const concerto = process.env.CONCERTO;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "concerto-vscode-"));
const main = path.join(dir, "main.conc");

beforeEach(() => {
  calls.length = 0;
  vscode.window.activeTextEditor = undefined;
  vscode.workspace.workspaceFolders = [];
});

const script = (name, text) => {
  const file = path.join(dir, name);
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return file;
};

test("a missing command is reported with the command that installs it", async () => {
  await assert.rejects(check(path.join(dir, "none")), (err) => err.message.includes("is not installed") && err.message.includes(install));
});

test("a command outside of PATH is found where installers put it", () => {
  const bin = path.join(dir, "gobin");
  fs.mkdirSync(bin);
  const file = path.join(bin, process.platform === "win32" ? "concerto.exe" : "concerto");
  const candidates = places({ GOBIN: bin }, dir);
  assert.equal(candidates[0], file);
  assert.ok(candidates.includes(path.join(dir, ".local", "bin", path.basename(file))));
  const before = process.env.PATH;
  process.env.PATH = dir;
  try {
    assert.equal(find("concerto", [file]), "concerto"); // there is none
    fs.writeFileSync(file, "");
    assert.equal(find("concerto", [file]), file);
    assert.equal(find("/other/concerto", [file]), "/other/concerto"); // the setting
    process.env.PATH = bin;
    assert.equal(find("concerto", [file]), "concerto"); // PATH
  } finally {
    process.env.PATH = before;
  }
});

test("without a command, the user installs one, chooses a file or opens the settings", async () => {
  const err = new Error("`concerto` is not installed");
  for (const [chosen, expected] of [
    ["Install", [["terminal.show"], ["terminal.sendText", install, false]]],
    ["Choose File…", [["configuration.update", "command", main, 1]]],
    ["Settings", [["executeCommand", "workbench.action.openSettings", "concerto.command"]]],
    [undefined, []],
  ]) {
    calls.length = 0;
    Object.assign(answers, { chosen, file: main });
    await missing(err);
    assert.deepEqual(calls, [["showErrorMessage", err.message, "Install", "Choose File…", "Settings"], ...expected]);
  }
  Object.assign(answers, { chosen: "Choose File…", file: undefined });
  calls.length = 0;
  await missing(err); // the dialog was cancelled
  assert.equal(calls.length, 1);
  answers.chosen = undefined;
});

test("an older command is reported with the command that installs the newer", async () => {
  await assert.rejects(check(script("old", "echo concerto 0.0.9")), (err) => err.message.includes("is 0.0.9, and 0.1.0 or later is required") && err.message.includes(install));
});

test("newer commands and those without a number are accepted", async () => {
  for (const version of ["0.1.0", "0.10.0", "1.0.0", "(devel)"]) {
    assert.equal(await check(script("new", `echo concerto '${version}'`)), `concerto ${version}`);
  }
});

test("the built command is accepted", { skip: !concerto }, async () => {
  assert.match(await check(concerto), /concerto/);
});

test("F5 without a launch.json debugs the open file", () => {
  const c = new debug.Configurations();
  assert.equal(c.resolveDebugConfiguration(undefined, {}), undefined);
  vscode.window.activeTextEditor = { document: { languageId: "concerto", fileName: main } };
  assert.deepEqual(c.resolveDebugConfiguration(undefined, {}), { type: "concerto", request: "launch", name: "Debug", program: main });
});

test("an incomplete configuration is reported as an error", () => {
  const c = new debug.Configurations();
  assert.equal(c.resolveDebugConfiguration(undefined, { type: "concerto", request: "attach", name: "x" }), undefined);
  assert.equal(c.resolveDebugConfiguration(undefined, { type: "concerto", request: "launch", name: "x" }), undefined);
  assert.deepEqual(calls.map((c) => c[0]), ["showErrorMessage", "showErrorMessage"]);
});

test("launch starts an adapter, attach connects to the address", () => {
  const a = new debug.Adapters(() => "concerto");
  const launched = a.createDebugAdapterDescriptor({ configuration: { request: "launch", cwd: dir } });
  assert.deepEqual([launched.command, launched.args, launched.options], ["concerto", ["dap"], { cwd: dir }]);
  for (const [address, host, port] of [["127.0.0.1:4711", "127.0.0.1", 4711], [":4711", "127.0.0.1", 4711], ["[::1]:99", "::1", 99]]) {
    const at = a.createDebugAdapterDescriptor({ configuration: { request: "attach", address } });
    assert.deepEqual([at.host, at.port], [host, port]);
  }
  assert.throws(() => a.createDebugAdapterDescriptor({ configuration: { request: "attach", address: "here" } }), /write HOST:PORT/);
});

test("the tests of the workspace and their results are shown", async () => {
  const uri = vscode.Uri.file(main).toString();
  const at = (line) => ({ start: { line, character: 3 }, end: { line, character: 7 } });
  const symbols = [
    { name: "main", kind: 12, containerName: "main", location: { uri, range: at(0) } },
    { name: "adds", kind: 12, containerName: "test", location: { uri, range: at(3) } },
    { name: "fails", kind: 12, containerName: "test", location: { uri, range: at(6) } },
  ];
  const said = [];
  const tests = new Tests(async (method, params) => {
    said.push(params.command ?? method);
    if (method === "workspace/symbol") return symbols;
    assert.deepEqual(params.arguments, [{ uri, names: ["adds", "fails"], debug: false }]);
    for (const name of params.arguments[0].names) {
      tests.event({ name, state: "started" });
      tests.event(name === "adds" ? { name, state: "passed", ms: 2 } : { name, state: "failed", ms: 1, message: "1 is not 2", location: { uri, range: at(6) } });
    }
  });
  await tests.find();
  const files = [...tests.controller.items.values()];
  assert.deepEqual(files.map((f) => f.label), ["main.conc"]);
  assert.deepEqual([...files[0].children.values()].map((t) => [t.label, t.range.startLine]), [["adds", 3], ["fails", 6]]);
  await tests.run({}, undefined);
  assert.deepEqual(said, ["workspace/symbol", "concerto.test"]);
  const told = calls.filter((c) => ["started", "passed", "failed", "end"].includes(c[0]));
  assert.deepEqual(told.map((c) => [c[0], c[1]?.label]), [["started", "adds"], ["passed", "adds"], ["started", "fails"], ["failed", "fails"], ["end", undefined]]);
  assert.equal(told[3][2].message, "1 is not 2");
  assert.equal(told[3][2].location.range.startLine, 6);
});

test("a test that cannot be run is shown as such", async () => {
  const uri = vscode.Uri.file(main).toString();
  const tests = new Tests(async (method) => {
    if (method === "workspace/symbol") return [{ name: "adds", containerName: "test", location: { uri, range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } } } }];
    throw new Error("the server is gone");
  });
  await tests.find();
  await tests.run({}, undefined);
  const errored = calls.filter((c) => c[0] === "errored");
  assert.deepEqual(errored.map((c) => [c[1].label, c[2].message]), [["adds", "the server is gone"]]);
});

test("commands use the open file, and show their results", async () => {
  const asked = [];
  const said = { "concerto.run": { code: 3 }, "concerto.build": { path: "a.conc-ir" }, "concerto.graph": { mermaid: "flowchart LR\n" }, "concerto.explain": "# E0301" };
  const execute = commands.middleware(() => ({ only: (about) => asked.push(["tests", about]) }));
  const next = async (name, args) => (asked.push([name, ...args]), said[name] ?? null);
  assert.equal(await execute("concerto.run", [], next), undefined);
  const uri = vscode.Uri.file(main).toString();
  vscode.window.activeTextEditor = { document: { uri: vscode.Uri.file(main) } };
  answers.input = "E0301";
  for (const name of ["concerto.run", "concerto.build", "concerto.graph", "concerto.explain", "concerto.restart"]) await execute(name, [], next);
  await execute("concerto.test", [{ uri, names: ["adds"], debug: false }], next);
  assert.deepEqual(asked, [
    ["concerto.run", { uri }],
    ["concerto.build", { uri }],
    ["concerto.graph", { uri }],
    ["concerto.explain", { code: "E0301" }],
    ["concerto.restart", {}],
    ["tests", { uri, names: ["adds"], debug: false }],
  ]);
  assert.deepEqual(calls.map((c) => c[0]), ["showWarningMessage", "showInformationMessage", "showTextDocument", "showTextDocument"]);
  assert.equal(calls[2][1].content, "```mermaid\nflowchart LR\n```\n");
});

test("a lens starts the debug configuration of the server", async () => {
  const uri = vscode.Uri.file(main).toString();
  const launch = { type: "concerto", request: "launch", name: "Debug adds", program: main, test: "adds" };
  await commands.middleware(() => undefined)("concerto.test", [{ uri, names: ["adds"], debug: true }], async () => [launch]);
  assert.deepEqual(calls, [["startDebugging", undefined, launch]]);
});

test("a lens shows locations", () => {
  const uri = vscode.Uri.file(main).toString();
  const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } };
  commands.references(uri, range.start, [{ uri, range }]);
  const [, name, at, position, places] = calls[0];
  assert.deepEqual([name, at.fsPath, position.line, places[0].range.endCharacter], ["editor.action.showReferences", main, 1, 5]);
});

test("the settings and commands are the server's", { skip: !concerto }, async () => {
  const manifest = require("../package.json").contributes;
  const server = spawn(concerto, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { processId: null, rootUri: null, capabilities: {} } });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  let said = "";
  for await (const chunk of server.stdout) {
    said += chunk;
    const [head, text] = said.split("\r\n\r\n");
    if (text !== undefined && Buffer.byteLength(text) >= Number(/\d+/.exec(head)[0])) {
      said = text;
      break;
    }
  }
  server.stdin.end();
  const offered = JSON.parse(said).result.capabilities.executeCommandProvider.commands;
  const shown = manifest.commands.map((c) => c.command);
  assert.deepEqual(offered.filter((c) => !shown.includes(c)), []);
});
