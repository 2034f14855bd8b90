import { Ago, Ansi, html, icon, plain } from "../parts/base.js";
import { icons } from "../parts/icon.js";
import { announce } from "../parts/live.js";
import { toasts } from "../parts/toast.js";
import { Diff } from "../parts/diff.js";
import { JsonTree } from "../parts/jsontree.js";
import { Markdown } from "../parts/markdown.js";
import { diff, hostile, now } from "./samples.js";

const order = {
  id: 4711, paid: true, customer: { name: "Ada", vip: null, tags: ["eu", "b2b"] }, total: 12.5,
  lines: Array.from({ length: 250 }, (_, i) => ({ sku: `A-${i}`, n: i % 7, note: i === 200 ? "the needle" : "" })), "<b>key</b>": hostile, long: "x".repeat(5000),
};

const colours = Array.from({ length: 16 }, (_, i) => `\u001b[${i < 8 ? 30 + i : 82 + i}m${i}\u001b[0m \u001b[${i < 8 ? 40 + i : 92 + i}m ${i} \u001b[0m`).join(" ");

export const texts = {
  elements: {
    buttons: html`<button type="button" class="primary">Primary</button> <button type="button">Button</button> <button type="button" class="danger">Danger</button> <button type="button" class="bare">Bare</button> <button type="button" disabled>Disabled</button> <a class="button" href="#elements">Link</a>`,
    fields: html`<p><label>A field <input type="text" placeholder="write here" /></label> <label><select><option>one</option><option>two</option></select> of two</label> <label><input type="checkbox" checked /> checked</label></p>`,
    marks: html`<p><span class="chip good">${icon("check")}done</span> <span class="chip bad">${icon("close")}failed</span> <span class="chip warn">${icon("alert")}waits</span> <span class="chip accent">${icon("play")}runs</span> <span class="chip">${icon("clock")}quiet</span> <kbd>Ctrl</kbd> <code>code</code> <a href="#elements">a link</a></p>`,
    table: html`<table><thead><tr><th scope="col">Name</th><th scope="col">State</th></tr></thead><tbody><tr><td>studio</td><td>online</td></tr><tr><td>attic</td><td>offline</td></tr></tbody></table>`,
    icons: html`<p>${icons.map((n) => html`<span key=${n} title=${n}>${icon(n, n)} </span>`)}</p>`,
    times: html`<p><${Ago} ts=${now - 200_000} now=${now} />, <${Ago} ts=${now + 7_300_000} now=${now} /></p>`,
  },
  texts: {
    markdown: html`<${Markdown} text=${`# What I did\n\nThe **parser** took \`a - b\` for *one name*; it is [fixed](https://example.com/pull/7).\n\n1. A test that fails\n2. The repair:\n   - in \`lexer.go\`\n   - and its golden files\n\n\`\`\`go\nfunc next() rune { return s[i+1] } // a line that is longer than a phone is wide, which scrolls by itself\n\`\`\`\nSee https://example.com/log.`} />`,
    "markdown that is hostile": html`<${Markdown} text=${`**${hostile}** [${hostile}](https://example.com/${encodeURI(hostile)}) \`${hostile}\`\n\n- ${hostile}`} />`,
    "what is hidden": html`<p>${plain(hostile)}</p>`,
    "a terminal's text": html`<pre><${Ansi} text=${`${colours}\n\u001b[1mbold\u001b[22m \u001b[2mdim\u001b[22m \u001b[3mitalic\u001b[23m \u001b[4munder\u001b[24m \u001b[7minverse\u001b[27m \u001b[9mstrike\u001b[0m \u001b[38;5;208morange\u001b[0m \u001b[38;2;90;200;90mtrue\u001b[0m\n10 %\r50 %\r100 %\nbackspaced\b\b\b\bwards\n\u001b]0;title\u0007\u001b[2J${hostile}`} /></pre>`,
  },
  notices: {
    toasts: html`<button type="button" onClick=${() => toasts.add({ text: "The run has ended." })}>Say something</button> <button type="button" onClick=${() => toasts.add({ text: `It failed: ${plain(hostile)}`, level: "error", action: { label: "Try again", run: () => {} } })}>Say that it failed</button>`,
    "announced to screen readers": html`<button type="button" onClick=${() => announce("New request of claude")}>Announce</button> <button type="button" onClick=${() => announce("Now", { assertive: true })}>Announce at once</button>`,
  },
  diffs: {
    "two files": html`<${Diff} text=${diff} />`,
    none: html`<${Diff} text="" />`,
    hostile: html`<${Diff} text=${`--- a/${hostile}\n+++ b/${hostile}\n@@ -1 +1 @@\n-${hostile}\n+--- a/x\n`} />`,
  },
  json: {
    "an object": html`<${JsonTree} value=${order} label="order" />`,
    small: html`<${JsonTree} value=${{ path: "a.txt", ok: true }} />`,
    scalars: html`<${JsonTree} value="text" /> <${JsonTree} value=${null} /> <${JsonTree} value=${[]} />`,
  },
};
