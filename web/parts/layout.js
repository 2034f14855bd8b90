// A layered layout of a graph: nodes in columns, edges from left to right. A long edge gets a
// separate position in each column that it crosses, so that it crosses no node.

const column = 72; // pixels between two columns
const gap = 18; // pixels between two nodes of a column
const height = 46;
const through = 10; // height of a long edge in a column, in pixels
const longest = 26; // number of characters of a name that are shown; the node's title contains the whole name
const many = 5000; // number of nodes and stops from which a graph is not sorted
const letter = 7.4; // average width of a character, in pixels

// layout returns {width, height, nodes, edges}. Nodes have x, y, width, height, short, and to,
// which lists the names of their successors. Edges have path, tip, label, x and y. Edges to missing
// nodes are dropped. The same graph always has the same layout.
export function layout({ nodes = [], edges = [] } = {}) {
  const all = new Map(nodes.map((n) => [n.id, place(n)]));
  const valid = edges.filter((e) => all.has(e.from) && all.has(e.to) && e.from !== e.to);
  for (const e of valid) all.get(e.from).to.push(all.get(e.to).name);
  const arcs = forward([...all.keys()], valid);
  rank(all, arcs);
  const columns = fill(all, arcs);
  order(columns);
  const size = position(columns);
  return { ...size, nodes: [...all.values()], edges: arcs.map((a) => draw(a)) };
}

function place(n) {
  const name = n.name || n.id;
  const short = name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
  return { id: n.id, kind: n.kind ?? "", name, short, to: [], width: 24 + Math.ceil(Math.max(short.length * letter, (n.kind ?? "").length * 6.4)), height, layer: 0, after: [], before: [] };
}

// forward reverses edges until the graph has no cycle.
function forward(ids, edges) {
  const out = new Map(ids.map((id) => [id, []]));
  edges.forEach((e) => out.get(e.from).push(e));
  const state = new Map();
  const arcs = [];
  const visit = (id) => {
    state.set(id, "open");
    for (const e of out.get(id)) {
      const back = state.get(e.to) === "open";
      arcs.push({ from: back ? e.to : e.from, to: back ? e.from : e.to, back, label: e.label });
      if (!state.has(e.to)) visit(e.to);
    }
    state.set(id, "done");
  };
  for (const id of ids) if (!state.has(id)) visit(id);
  return arcs;
}

// rank puts each node into the column after the last of its predecessors.
function rank(all, arcs) {
  for (let round = 0, changed = true; changed && round <= all.size; round++) {
    changed = false;
    for (const a of arcs) {
      const [from, to] = [all.get(a.from), all.get(a.to)];
      if (to.layer < from.layer + 1) {
        to.layer = from.layer + 1;
        changed = true;
      }
    }
  }
}

// fill creates the columns, with a stop in each column that a long edge crosses.
function fill(all, arcs) {
  const columns = [];
  const put = (x) => (columns[x.layer] ??= []).push(x);
  for (const n of all.values()) put(n);
  for (const a of arcs) {
    a.stops = [all.get(a.from)];
    for (let layer = a.stops[0].layer + 1; layer < all.get(a.to).layer; layer++) {
      const stop = { layer, width: 0, height: through, after: [], before: [] };
      put(stop);
      a.stops.push(stop);
    }
    a.stops.push(all.get(a.to));
    a.stops.slice(1).forEach((s, i) => {
      a.stops[i].after.push(s);
      s.before.push(a.stops[i]);
    });
  }
  return columns.map((c) => c ?? []);
}

// order sorts each column by the mean position of its neighbours, alternating between the
// directions, to reduce crossings.
function order(columns) {
  const number = (c) => c.forEach((x, i) => { x.at = i; });
  columns.forEach(number);
  const middle = (x, side) => (x[side].length ? x[side].reduce((sum, y) => sum + y.at, 0) / x[side].length : x.at);
  const rounds = columns.reduce((sum, c) => sum + c.length, 0) > many ? 1 : 8;
  for (let round = 0; round < rounds; round++) {
    const right = round % 2 === 0;
    for (const c of right ? columns : [...columns].reverse()) {
      for (const x of c) x.by = middle(x, right ? "before" : "after");
      c.sort((a, b) => a.by - b.by || a.at - b.at);
      number(c);
    }
  }
}

// position sets the coordinates: columns next to each other, each centred vertically.
function position(columns) {
  const tall = (c) => c.reduce((sum, x) => sum + x.height + gap, -gap);
  const whole = Math.max(...columns.map(tall), 0);
  let x = 16;
  for (const c of columns) {
    const wide = Math.max(...c.map((n) => n.width), 0);
    let y = 16 + (whole - tall(c)) / 2;
    for (const n of c) {
      Object.assign(n, { x: x + (n.width ? 0 : wide / 2), y });
      if (n.width) n.width = wide;
      y += n.height + gap;
    }
    x += wide + column;
  }
  return { width: Math.max(0, x - column + 16), height: whole + 32 };
}

// draw creates an edge's curve through its stops and its arrow tip.
function draw(a) {
  const points = a.stops.flatMap((s) => (s.width ? [[s.x, s.y + s.height / 2], [s.x + s.width, s.y + s.height / 2]] : [[s.x, s.y + s.height / 2]])).slice(1, -1);
  let path = `M${points[0].join(" ")}`;
  for (let i = 1; i < points.length; i++) {
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
    const bend = (x1 - x0) / 2;
    path += `C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
  }
  const [tx, ty] = a.back ? points[0] : points.at(-1);
  const d = a.back ? 7 : -7;
  const mid = points[Math.floor((points.length - 1) / 2)];
  const next = points[Math.floor((points.length - 1) / 2) + 1] ?? mid;
  return { path, tip: `M${tx} ${ty}L${tx + d} ${ty - 4}L${tx + d} ${ty + 4}Z`, label: a.label, x: (mid[0] + next[0]) / 2, y: (mid[1] + next[1]) / 2 - 4 };
}
