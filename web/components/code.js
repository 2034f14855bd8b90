import { html, icon, signal } from "../parts/base.js";
import { Dialog } from "../parts/dialog.js";
import { Graph } from "../parts/graph.js";
import { structure } from "./structure.js";
import { Help, isFree } from "../parts/keys.js";
import { List } from "../parts/list.js";
import { Editor } from "../parts/editor.js";
import { Source } from "../parts/source.js";
import { Tabs } from "../parts/tabs.js";
import { Terminal } from "../parts/terminal.js";
import { hostile } from "./samples.js";

const program = `// Asks two agents and returns the better answer.
use std::text;

agent Writer { model: "large", system: "Be brief." }

fn best(topic: String) -> String? {
  let drafts = [for i in 0..2 { Writer.ask("Write on \${topic}, take \${i + 1}") }];
  match drafts.len() {
    0 => nil,
    n if n >= 1 => drafts[0] ?? "nothing",
  }
}

fn main() { emit("result", best("rivers")); }
`;


const typed = signal("");
const sized = signal("");
window.terminal = { typed, sized };
const screen = ["\u001b[1;32m$\u001b[0m make check\r\n", "\u001b[33mwarning\u001b[0m: 2 files, \u001b[38;2;255;120;40mtrue colour\u001b[0m\r\n", "ok\r\n\u001b[1;32m$\u001b[0m \u001b[6n\u001b[c"];
const attach = (t) => {
  window.terminal.write = t.write;
  screen.forEach(t.write);
};

const chosen = signal("b");
const opened = signal("");
const files = [{ key: "a", text: "assets", about: "folder", icon: icon("folder") }, { key: "b", text: "build.go", about: "2.1 KiB", icon: icon("file") }, { key: "c", text: hostile, about: "1 KiB", icon: icon("file") }];
const asking = signal(false);
const tab = signal("one");

const helping = signal(false);
addEventListener("keydown", (e) => {
  if (isFree(e) && e.key === "?") helping.value = true;
});

export const code = {
  source: { "a program": html`<${Source} text=${program} lang="concerto" line=${7} label="best.conc" />`, hostile: html`<${Source} text=${hostile} label="hostile" />`,
    editor: html`<${Editor} name="best.conc" text=${program} lang="concerto" marks=${[{ start: 4, end: 8, severity: "error", message: "an error" }]} label="Text of best.conc" complete=${async () => []} describe=${async () => ""} onChange=${() => {}} onApply=${() => {}} onRun=${() => {}} />` },
  graph: { "a program's structure": html`<${Graph} structure=${structure} current=${["agent:Critic"]} cost=${[{ name: "tokens", value: "12 004" }, { name: "cost", value: "$0.31" }]} />`, nothing: html`<${Graph} structure=${{}} />` },
  terminal: {
    "one can type": () => html`<div class="tall"><${Terminal} attach=${attach} onKeys=${(k) => { typed.value += k; }} onResize=${(c, r) => { sized.value = `${c}x${r}`; }} /></div>`,
  },
  lists: {
    list: () => html`<${List} items=${files} selected=${chosen.value} onSelect=${(k) => { chosen.value = k; }} onOpen=${(f) => { opened.value = f.key; }} label="Files" /><p>Opened: <output>${opened.value}</output></p>`,
    "an empty list": html`<${List} items=${[]} label="Nothing" empty="This folder is empty." />`,
    tabs: () => html`<${Tabs} tabs=${[{ name: "one", label: "Thread" }, { name: "two", label: "Terminal" }, { name: "three", label: "Files" }]} selected=${tab.value} onSelect=${(n) => { tab.value = n; }} label="Views" panel="tab-panel" /><div id="tab-panel" role="tabpanel" aria-label=${tab.value}>Shown: ${tab.value}</div>`,
    dialog: () => html`<button type="button" onClick=${() => { asking.value = true; }}>Ask something</button><${Dialog} open=${asking.value} title="Really?" onClose=${() => { asking.value = false; }} actions=${html`<button type="button" onClick=${() => { asking.value = false; }}>No</button><button type="button" class="primary" onClick=${() => { asking.value = false; }}>Yes</button>`}><p>It cannot be undone.</p></${Dialog}>`,
    "tabs that are links": () => html`<${Tabs} tabs=${[{ name: "one", label: "Thread", href: "#lists" }, { name: "two", label: "Files", href: "#lists/two" }]} selected="one" onSelect=${() => {}} label="Linked views" panel="linked-panel" /><div id="linked-panel" role="tabpanel" aria-label="Thread">Its thread.</div>`,
    keys: () => html`<p>Type <kbd>?</kbd>.</p><${Help} open=${helping.value} onClose=${() => { helping.value = false; }} rows=${[{ keys: "j", text: "the next one" }, { keys: "g i", text: "the inbox" }]} />`,
  },
};
