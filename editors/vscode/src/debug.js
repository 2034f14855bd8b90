// The debugger: `concerto dap` for launched programs, an address for running ones.
"use strict";

const vscode = require("vscode");

/** Fills in what is not said, so that F5 works without a launch.json. */
class Configurations {
  resolveDebugConfiguration(_folder, config) {
    if (!config.type && !config.request && !config.name) {
      const editor = vscode.window.activeTextEditor;
      if (!editor || editor.document.languageId !== "concerto") return undefined;
      config = { type: "concerto", request: "launch", name: "Debug", program: editor.document.fileName };
    }
    if (config.request === "attach" && !config.address) {
      vscode.window.showErrorMessage("An attach configuration requires an `address`, that of `concerto run --debug ADDR`.");
      return undefined;
    }
    if (config.request === "launch" && !config.program) {
      vscode.window.showErrorMessage("A launch configuration requires a `program`: a file, or a directory with a Concerto.toml.");
      return undefined;
    }
    return config;
  }
}

/** Starts an adapter of its own for each session, or connects to the one that a run has. */
class Adapters {
  constructor(command) {
    this.command = command;
  }

  createDebugAdapterDescriptor(session) {
    const config = session.configuration;
    if (config.request === "attach") {
      const [, host, port] = /^(.*?):?(\d+)$/.exec(String(config.address)) ?? [];
      if (!port) throw new Error(`\`${config.address}\` is not an address: write HOST:PORT`);
      return new vscode.DebugAdapterServer(Number(port), host.replace(/^\[|\]$/g, "") || "127.0.0.1");
    }
    return new vscode.DebugAdapterExecutable(this.command(), ["dap"], { cwd: config.cwd });
  }
}

function start(context, command) {
  const launch = (target = {}) => {
    const uri = target.uri ?? vscode.window.activeTextEditor?.document.uri.toString();
    if (!uri) return undefined;
    const at = vscode.Uri.parse(uri);
    return vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(at), {
      type: "concerto",
      request: "launch",
      name: target.name ? `Debug ${target.name}` : "Debug",
      program: at.fsPath,
      ...(target.name ? { test: target.name } : {}),
    });
  };
  context.subscriptions.push(
    vscode.debug.registerDebugConfigurationProvider("concerto", new Configurations()),
    vscode.debug.registerDebugAdapterDescriptorFactory("concerto", new Adapters(command)),
    vscode.commands.registerCommand("concerto.debug", launch),
  );
}

module.exports = { Adapters, Configurations, start };
