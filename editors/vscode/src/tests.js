// The test explorer: the language server lists the tests, runs them and reports each result.
"use strict";

const path = require("node:path");
const vscode = require("vscode");

class Tests {
  /** ask sends a request to the language server. */
  constructor(ask) {
    this.ask = ask;
    this.controller = vscode.tests.createTestController("concerto", "Concerto");
    this.controller.refreshHandler = () => this.find();
    this.controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token, false), true);
    this.controller.createRunProfile("Debug", vscode.TestRunProfileKind.Debug, (request) => this.debug(request));
  }

  /** The tests of the workspace are its symbols in the container `test`. */
  async find() {
    const files = new Map();
    for (const { name, containerName, location } of await this.ask("workspace/symbol", { query: "" })) {
      if (containerName !== "test") continue;
      const { uri, range: at } = location;
      if (!files.has(uri)) {
        const file = vscode.Uri.parse(uri);
        files.set(uri, this.controller.createTestItem(uri, path.basename(file.fsPath), file));
      }
      const item = this.controller.createTestItem(`${uri}#${name}`, name, files.get(uri).uri);
      item.range = range(at);
      files.get(uri).children.add(item);
    }
    this.controller.items.replace([...files.values()]);
  }

  chosen(request) {
    const all = [];
    const visit = (item) => (item.children.size ? item.children.forEach(visit) : all.push(item));
    if (request.include) request.include.forEach(visit);
    else this.controller.items.forEach(visit);
    return all.filter((t) => !request.exclude?.includes(t));
  }

  /** Runs the tests of a file that a lens names, or all of them. */
  async only({ uri, names }) {
    await this.find();
    const file = this.controller.items.get(uri);
    const include = file ? this.chosen({ include: [file] }).filter((t) => !names?.length || names.includes(t.label)) : [];
    if (include.length > 0) await this.run({ include });
  }

  async run(request, token) {
    const run = this.controller.createTestRun(request);
    const items = this.chosen(request);
    const files = new Map();
    for (const item of items) {
      run.enqueued(item);
      const of = files.get(item.uri.toString()) ?? [];
      files.set(item.uri.toString(), [...of, item]);
    }
    try {
      for (const [uri, of] of files) {
        if (token?.isCancellationRequested) break;
        this.current = { run, items: new Map(of.map((t) => [t.label, t])) };
        await this.ask("workspace/executeCommand", { command: "concerto.test", arguments: [{ uri, names: of.map((t) => t.label), debug: false }] }, token);
      }
    } catch (err) {
      for (const item of items) run.errored(item, new vscode.TestMessage(err.message));
    } finally {
      this.current = undefined;
      run.end();
    }
  }

  /** What the server tells of a test that it runs. */
  event(e) {
    const item = this.current?.items.get(e.name);
    if (!item) return;
    const { run } = this.current;
    switch (e.state) {
      case "started":
        return run.started(item);
      case "passed":
        return run.passed(item, e.ms);
      case "skipped":
        return run.skipped(item);
      case "failed": {
        const message = new vscode.TestMessage([e.message, e.diff].filter(Boolean).join("\n"));
        if (e.location) message.location = new vscode.Location(vscode.Uri.parse(e.location.uri), range(e.location.range));
        return run.failed(item, message, e.ms);
      }
    }
  }

  async debug(request) {
    for (const item of this.chosen(request)) {
      await vscode.commands.executeCommand("concerto.debug", { uri: item.uri.toString(), name: item.label });
    }
  }

  dispose() {
    this.controller.dispose();
  }
}

const range = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);

module.exports = { Tests };
