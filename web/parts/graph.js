import { html, plain, useMemo } from "./base.js";
import { layout } from "./layout.js";

// Graph draws nodes {id, kind, name} and edges {from, to, label?} in layers from left to right.
// current contains the ids of active nodes, and waits contains for each id what the node waits for.
// cost lists the values above the graph, [{name, value}]. A list with the same information for
// screen readers follows.
export function Graph({ structure, current = [], waits, cost = [], label = "Structure" }) {
  const g = useMemo(() => layout(structure), [structure]);
  if (g.nodes.length === 0) return html`<p class="list-empty">The program has no connections.</p>`;
  const at = g.nodes.filter((n) => current.includes(n.id));
  return html`<p class="graph-facts">${at.length > 0 && html`<span>now at <b>${plain(at.map((n) => n.name).join(", "))}</b>${waits && html`, which waits for <b>${plain(waits)}</b>`}</span>`}${cost.map((c) => html`<span key=${c.name}>${c.name} <b>${c.value}</b></span>`)}</p>
    <div class="graph" tabindex="0" role="region" aria-label=${label}><svg width=${g.width} height=${g.height} viewBox=${`0 0 ${g.width} ${g.height}`} aria-hidden="true">
      ${g.edges.map((e, i) => html`<g key=${i}><path class="edge" d=${e.path} /><path class="tip" d=${e.tip} />${e.label && html`<text class="label" x=${e.x} y=${e.y} text-anchor="middle">${plain(e.label)}</text>`}</g>`)}
      ${g.nodes.map((n) => html`<g key=${n.id} class=${at.includes(n) ? "node here" : "node"}><title>${plain(`${n.kind} ${n.name}`)}</title><rect class="box" x=${n.x} y=${n.y} width=${n.width} height=${n.height} rx="8" />
        <text class="kind" x=${n.x + 12} y=${n.y + 17}>${plain(n.kind)}</text><text x=${n.x + 12} y=${n.y + 34}>${plain(n.short)}</text></g>`)}
    </svg><ul class="unseen">${g.nodes.map((n) => html`<li key=${n.id}>${plain(`${n.kind} ${n.name}`)}${at.includes(n) && ", now at work"}${n.to.length > 0 && `, to ${plain(n.to.join(", "))}`}</li>`)}</ul></div>`;
}
