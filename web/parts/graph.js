import { html, plain, useEffect, useRef } from "./base.js";
import { explore } from "./explore.js";

const caption = (n) => `${n.kind} ${n.name}`;

// Graph draws the structure of a program: {nodes, edges, drawing}, where drawing has the places of
// the nodes and edges in their order, as Concerto computes them. current contains the ids of active
// nodes, and waits what they wait for. cost lists the values above the graph, [{name, value}]. A
// list with the same information follows; it is for screen readers, unless there is no drawing.
export function Graph({ structure, current = [], waits, cost = [], label = "Structure" }) {
  const { nodes = [], edges = [], drawing } = structure ?? {};
  const svg = useRef();
  useEffect(() => {
    if (svg.current) return explore(svg.current).stop;
  }, [structure]);
  if (nodes.length === 0) return html`<p class="list-empty">The program has no connections.</p>`;
  const at = nodes.filter((n) => current.includes(n.id));
  const names = new Map(nodes.map((n) => [n.id, n.name]));
  const targets = (n) => edges.filter((e) => e.from === n.id && names.has(e.to)).map((e) => names.get(e.to));
  return html`<p class="graph-facts">${at.length > 0 && html`<span>now at <b>${plain(at.map((n) => n.name).join(", "))}</b>${waits && html`, which waits for <b>${plain(waits)}</b>`}</span>`}${cost.map((c) => html`<span key=${c.name}>${c.name} <b>${c.value}</b></span>`)}</p>
    <div class="graph" tabindex="0" role="region" aria-label=${label}>${isDrawn(nodes, edges, drawing) && html`<svg ref=${svg} width=${drawing.width} height=${drawing.height} viewBox=${`0 0 ${drawing.width} ${drawing.height}`}>
      ${edges.map((e, i) => html`<${Edge} key=${i} edge=${e} line=${drawing.lines[i]} />`)}
      ${nodes.map((n, i) => html`<${Node} key=${n.id} node=${n} box=${drawing.boxes[i]} here=${at.includes(n)} />`)}
    </svg>`}<ul class=${drawing ? "unseen" : ""}>${nodes.map((n) => html`<li key=${n.id}>${plain(caption(n))}${at.includes(n) && ", now at work"}${targets(n).length > 0 && `, to ${plain([...new Set(targets(n))].join(", "))}`}</li>`)}</ul></div>`;
}

// isDrawn reports whether a drawing has a place for each node and edge.
function isDrawn(nodes, edges, drawing) {
  return drawing?.boxes?.length === nodes.length && (drawing.lines ?? []).length === edges.length;
}

function Edge({ edge, line }) {
  const isStub = edge.kind === "unhandled" && edge.by === "none";
  return html`<g class=${`edge ${edge.kind}${isStub ? " stub" : ""}`} data-from=${edge.from} data-to=${edge.to}><path class="line" d=${line.path} />${line.tip && html`<path class="tip" d=${line.tip} />`}
    <${Text} class="label" text=${line.label} /></g>`;
}

function Node({ node, box, here }) {
  return html`<g class=${`node ${node.kind}${here ? " here" : ""}`} data-id=${node.id}><title>${plain(caption(node))}</title>
    <rect class=${box.outlined ? "area" : "box"} x=${box.x} y=${box.y} width=${box.width} height=${box.height} rx=${box.radius} />${box.shape && html`<path class="shape" d=${box.shape} />`}
    <${Text} class="kind" text=${box.kind} />${box.name.map((t, i) => html`<${Text} key=${i} class="name" text=${t} />`)}</g>`;
}

// Text draws a text in the width for which the drawing has room, whatever the font.
function Text({ class: name, text }) {
  return html`<text class=${name} x=${text.x} y=${text.y} textLength=${text.width} lengthAdjust="spacingAndGlyphs">${plain(text.text)}</text>`;
}
