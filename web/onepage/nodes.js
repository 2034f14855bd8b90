// The details of a node of a graph, and elements without a library.

const before = 2, after = 12; // number of lines of source before and after a declaration

// element creates an element with a text and properties.
export function element(tag, text, props = {}) {
  return Object.assign(document.createElement(tag), props, text === undefined ? {} : { textContent: text });
}

// excerpt returns the lines of source around FILE:LINE:COLUMN, or null.
export function excerpt(files, at) {
  const [, name, line] = at?.match(/^(.*):(\d+):\d+$/) ?? [];
  const file = files.find((f) => f.name === name);
  if (!file) return null;
  const lines = file.text.split("\n"), first = Math.max(0, line - 1 - before);
  const pre = element("pre", undefined, { tabIndex: 0 });
  lines.slice(first, Number(line) + after).forEach((text, i) => {
    const n = first + i + 1;
    pre.append(element(n === Number(line) ? "mark" : "span", `${String(n).padStart(4)}  ${text}\n`));
  });
  return pre;
}

// details returns elements that describe a node, with its edges and its source. select(id) is called
// when the user selects another node.
export function details({ graph, files }, id, select) {
  const node = graph.nodes.find((n) => n.id === id);
  if (!node) return [element("p", "Select a node to see its edges and its source.")];
  const names = new Map(graph.nodes.map((n) => [n.id, `${n.kind} ${n.name}`]));
  const out = [element("h3", `${node.kind} ${node.name}`)];
  const facts = [node.at, node.unused && "unused", ...Object.entries(node.detail ?? {}).map(([k, v]) => `${k}: ${Array.isArray(v) ? v.join(", ") : v}`)];
  for (const fact of facts.filter(Boolean)) out.push(element("p", fact));
  for (const [title, own, other] of [["Edges from it", "from", "to"], ["Edges to it", "to", "from"]]) {
    const list = element("ul");
    for (const e of graph.edges.filter((x) => x[own] === id)) {
      const row = element("li", [e.kind, e.type, e.by && `(${e.by})`].filter(Boolean).join(" ") + (own === "from" ? " → " : " ← "));
      row.append(element("button", names.get(e[other]), { type: "button", onclick: () => select(e[other]) }), e.at ? ` ${e.at}` : "");
      list.append(row);
    }
    if (list.children.length > 0) out.push(element("h4", title), list);
  }
  const source = excerpt(files, node.at);
  if (source) out.push(element("h4", "Source"), source);
  return out;
}
