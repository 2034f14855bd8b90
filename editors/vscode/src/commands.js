// The server's commands for the palette and code lenses: their arguments and the handling of their
// results.
"use strict";

const vscode = require("vscode");

/** Gives the language client what happens when a command is executed. tests runs those that a lens names. */
function middleware(tests) {
  return async (name, args, next) => {
    const about = args.length > 0 ? args[0] : await argument(name);
    if (!about) return undefined;
    if (name === "concerto.test" && !about.debug) return tests().only(about);
    const answer = await next(name, [about]);
    if (about.debug) return debug(about.uri, answer);
    await shows[name]?.(answer);
    return answer;
  };
}

/** A command of the palette is about the file that is open; `explain` asks for the code. */
async function argument(name) {
  if (name === "concerto.restart") return {};
  if (name === "concerto.explain") {
    const code = await vscode.window.showInputBox({ prompt: "The code of an error or warning", placeHolder: "E0301" });
    return code && { code };
  }
  const uri = vscode.window.activeTextEditor?.document.uri.toString();
  return uri && { uri };
}

/** To debug, the server answers what the debugger is given. */
async function debug(uri, launches) {
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri));
  for (const launch of launches) await vscode.debug.startDebugging(folder, launch);
}

const shows = {
  "concerto.explain": (text) => show(text),
  "concerto.graph": ({ mermaid }) => show("```mermaid\n" + mermaid + "```\n"),
  "concerto.build": ({ path }) => vscode.window.showInformationMessage(`Wrote ${path}`),
  "concerto.eval": ({ code }) => vscode.window.showInformationMessage(`The eval exited with code ${code}: 0 no worse, 1 worse, 2 errors, 3 inconclusive. The report is in the output of Concerto.`),
  "concerto.run": ({ code }) => code !== 0 && vscode.window.showWarningMessage(`The program exited with code ${code}`),
};

/** Shows Markdown in a document of its own. */
async function show(content) {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "markdown", content }), { preview: true });
}

/** What a lens that counts leads to. */
function references(uri, at, places) {
  const locations = places.map(({ uri, range: r }) => new vscode.Location(vscode.Uri.parse(uri), new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character)));
  return vscode.commands.executeCommand("editor.action.showReferences", vscode.Uri.parse(uri), new vscode.Position(at.line, at.character), locations);
}

module.exports = { middleware, references };
