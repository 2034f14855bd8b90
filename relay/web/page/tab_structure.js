// What a program is made of, where it is, and what it has cost.
import { html, plain } from "parts/base.js";
import { Graph } from "parts/graph.js";

// currentOf is the node that is at work: the host that is listened to.
function currentOf(items, nodes) {
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i];
    if (item.kind === "listen" && item.data.state === "open") return nodes.find((n) => n.kind === "host" && n.name === item.data.host)?.id;
  }
  return undefined;
}

export function StructureTab({ run, view, meta }) {
  const { nodes, edges } = meta.structure ?? {};
  if (!Array.isArray(nodes) || !Array.isArray(edges)) return html`<p class="quiet">The program has told nothing of its structure.</p>`;
  const usage = meta.usage, over = run.status === "exited";
  const cost = usage ? [{ name: "tokens in", value: String(usage.tokens_in ?? 0) }, { name: "tokens out", value: String(usage.tokens_out ?? 0) }, ...(usage.cost_usd ? [{ name: "cost", value: `$${usage.cost_usd.toFixed(4)}` }] : [])] : [];
  const current = over ? undefined : currentOf(view.items.value, nodes) ?? nodes.find((n) => n.kind === "program")?.id;
  return html`<div class="scroll-tab">${meta.line && html`<p class="quiet">${over ? "It ended at" : "It is at"} <code>${plain(meta.line.file)}:${meta.line.line}</code>.</p>`}
    <${Graph} structure=${{ nodes, edges }} current=${current} cost=${cost} label="The program's structure" /></div>`;
}
