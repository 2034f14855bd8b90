// The extension: starts the language server and registers the debugger and the tests.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { check, find, install } = require("./command");
const commands = require("./commands");
const debug = require("./debug");
const { Tests } = require("./tests");

let client;
let tests;
let runs; // how to start the server

const command = () => find(vscode.workspace.getConfiguration("concerto").get("command", "concerto"));

async function activate(context) {
  debug.start(context, command);
  context.subscriptions.push(vscode.commands.registerCommand("concerto.restartServer", restart));
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration(() => changed(context)));
  context.subscriptions.push(vscode.commands.registerCommand("concerto.references", commands.references));
  runs = { command: command(), args: ["lsp"], transport: TransportKind.stdio };
  await begin(context);
}

async function begin(context) {
  try {
    await check(runs.command);
  } catch (err) {
    return missing(err);
  }
  client = new LanguageClient("concerto", "Concerto", { run: runs, debug: runs }, options());
  // An undefined second parameter would turn the parameters into a list, so it must be absent.
  tests = new Tests((method, params, token) => (token ? client.sendRequest(method, params, token) : client.sendRequest(method, params)));
  client.onNotification("concerto/testEvent", (e) => tests.event(e));
  context.subscriptions.push(tests, client);
  await client.start();
  await tests.find();
}

/** Goes on with another command; the editor also tells of settings that were only read anew. */
async function changed(context) {
  if (command() === runs.command) return undefined;
  runs.command = command();
  return client ? restart() : begin(context);
}

/** Shows what is missing, and offers to install the command in a terminal or to choose its file. */
async function missing(err) {
  const chosen = await vscode.window.showErrorMessage(err.message, "Install", "Choose File…", "Settings");
  if (chosen === "Install") {
    const terminal = vscode.window.createTerminal("Concerto");
    terminal.show();
    terminal.sendText(install, false); // the user presses Enter
  } else if (chosen === "Choose File…") {
    const [file] = (await vscode.window.showOpenDialog({ title: "The command concerto", openLabel: "Use" })) ?? [];
    if (file) await vscode.workspace.getConfiguration("concerto").update("command", file.fsPath, vscode.ConfigurationTarget.Global);
  } else if (chosen === "Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "concerto.command");
  }
}

function options() {
  return {
    documentSelector: [
      { scheme: "file", language: "concerto" },
      { scheme: "untitled", language: "concerto" },
      { scheme: "file", pattern: "**/Concerto.toml" },
    ],
    initializationOptions: settings(),
    synchronize: { configurationSection: "concerto" },
    middleware: { executeCommand: commands.middleware(() => tests) },
  };
}

/** The server's settings as the editor has them now. */
function settings() {
  const all = vscode.workspace.getConfiguration("concerto");
  const of = (section) => all.get(section, {});
  return { inlayHints: of("inlayHints"), codeLens: of("codeLens"), completion: of("completion"), check: of("check") };
}

async function restart() {
  await client?.restart();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate, missing };
