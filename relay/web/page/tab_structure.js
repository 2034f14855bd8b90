// The structure of a program, its current position, and its cost.
import { html, plain, useMemo } from "parts/base.js";
import { Graph } from "parts/graph.js";

// atWork returns the active nodes and what they wait for. Stages are active if they have begun and
// not ended. If there are none, the host or agent of the listen is active, and otherwise the
// program.
function atWork(items, nodes) {
  const stages = new Map(); // number of active instances of each stage
  let talks, hasRequest;
  for (const { kind, title, data } of items) {
    if (kind === "listen" && data.state === "open") talks = nodes.find((n) => /^(host|agent)$/.test(n.kind) && n.name === data.host);
    if (kind === "request" && !data.resolution) hasRequest = true;
    const id = kind === "emit" && `stage:${data.payload?.name}/${data.payload?.stage}`;
    const by = id && { "pipeline:stage_start": 1, "pipeline:stage_complete": -1, "pipeline:error": -1 }[title];
    if (by) stages.set(id, (stages.get(id) ?? 0) + by);
  }
  const at = nodes.filter((n) => stages.get(n.id) > 0);
  const current = at.length ? at : [talks ?? nodes.find((n) => n.id === "function:main")];
  return { current: current.map((n) => n?.id), waits: hasRequest ? "an answer" : at.length > 0 && talks?.name };
}

export function StructureTab({ run, view, meta }) {
  const { nodes: all, edges } = meta.structure ?? {};
  const drawn = useMemo(() => ({ ...meta.structure, nodes: Array.isArray(all) ? all.filter((n) => !n.state) : [] }), [meta.structure]);
  const { nodes } = drawn;
  if (!Array.isArray(all) || !Array.isArray(edges)) return html`<p class="quiet">The program has not reported its structure yet.</p>`;
  const usage = meta.usage, ended = run.status === "exited";
  const cost = usage ? [{ name: "tokens in", value: String(usage.tokens_in ?? 0) }, { name: "tokens out", value: String(usage.tokens_out ?? 0) }, ...(usage.cost_usd ? [{ name: "cost", value: `$${usage.cost_usd.toFixed(4)}` }] : [])] : [];
  const { current, waits } = ended ? {} : atWork(view.items.value, nodes);
  return html`<div class="scroll-tab">${meta.line && html`<p class="quiet">${ended ? "Ended at" : "Running"} <code>${plain(meta.line.file)}:${meta.line.line}</code>.</p>`}
    ${all.filter((n) => n.state).map((n) => html`<p class="quiet" key=${n.id}>${plain(n.kind)} <code>${plain(n.name)}</code>: ${plain(n.state)}</p>`)}
    <${Graph} structure=${drawn} current=${current} waits=${waits} cost=${cost} label="The program's structure" /></div>`;
}
