// The part of the editor's API that the extension uses. It records calls and answers questions from
// `answers`.
"use strict";

const Module = require("node:module");
const path = require("node:path");
const { pathToFileURL, fileURLToPath } = require("node:url");

const calls = [];
const answers = { configuration: {}, chosen: undefined, input: undefined };

const note = (name) => (...args) => {
  calls.push([name, ...args]);
  return { dispose() {} };
};

class Uri {
  constructor(fsPath) {
    this.fsPath = fsPath;
    this.scheme = "file";
  }
  static file(p) {
    return new Uri(path.resolve(p));
  }
  static parse(s) {
    return new Uri(fileURLToPath(s));
  }
  toString() {
    return pathToFileURL(this.fsPath).toString();
  }
}

class Items extends Map {
  add(item) {
    this.set(item.id, item);
  }
  replace(items) {
    this.clear();
    for (const i of items) this.add(i);
  }
  forEach(f) {
    for (const i of this.values()) f(i);
  }
}

const record = (...names) =>
  class {
    constructor(...args) {
      names.forEach((n, i) => (this[n] = args[i]));
    }
  };

const vscode = {
  Uri,
  Range: record("startLine", "startCharacter", "endLine", "endCharacter"),
  Position: record("line", "character"),
  Location: record("uri", "range"),
  TestMessage: record("message"),
  ConfigurationTarget: { Global: 1 },
  TestRunProfileKind: { Run: 1, Debug: 2 },
  DebugAdapterExecutable: record("command", "args", "options"),
  DebugAdapterServer: record("port", "host"),
  window: {
    activeTextEditor: undefined,
    showErrorMessage: (...args) => (calls.push(["showErrorMessage", ...args]), Promise.resolve(answers.chosen)),
    showInformationMessage: note("showInformationMessage"),
    showWarningMessage: note("showWarningMessage"),
    showTextDocument: note("showTextDocument"),
    showOpenDialog: () => Promise.resolve(answers.file && [vscode.Uri.file(answers.file)]),
    showInputBox: () => Promise.resolve(answers.input),
    createTerminal: (name) => ({ show: note("terminal.show"), sendText: note("terminal.sendText"), name }),
  },
  workspace: {
    workspaceFolders: [],
    getConfiguration: () => ({ get: (k, otherwise) => answers.configuration[k] ?? otherwise, update: note("configuration.update") }),
    openTextDocument: (d) => Promise.resolve(d),
    getWorkspaceFolder: () => vscode.workspace.workspaceFolders[0],
    onDidChangeConfiguration: note("onDidChangeConfiguration"),
  },
  commands: { registerCommand: note("registerCommand"), executeCommand: note("executeCommand") },
  debug: {
    registerDebugConfigurationProvider: note("registerDebugConfigurationProvider"),
    registerDebugAdapterDescriptorFactory: note("registerDebugAdapterDescriptorFactory"),
    startDebugging: (...args) => (calls.push(["startDebugging", ...args]), Promise.resolve(true)),
  },
  tests: {
    createTestController: () => ({
      items: new Items(),
      createTestItem: (id, label, uri) => ({ id, label, uri, children: new Items() }),
      createRunProfile: note("createRunProfile"),
      createTestRun: () => Object.fromEntries(["enqueued", "started", "passed", "failed", "skipped", "errored", "end"].map((n) => [n, note(n)])),
      dispose() {},
    }),
  },
};

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { TransportKind: {} } : load(name, ...rest));

module.exports = { vscode, calls, answers };
