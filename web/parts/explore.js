// Moves around in the drawing of a graph: an <svg> with groups .node[data-id] and .edge[data-from]
// [data-to], as `concerto graph` writes it.

const nearest = 0.2; // smallest and largest width of the visible part, compared with the whole drawing
const farthest = 2;

// explore makes a drawing respond to the mouse and to keys. chosen(id) is called when a node is
// selected, with null if none is. The result has select(id), find(text), zoom(factor), reset() and
// stop(), after which the drawing no longer responds.
export function explore(svg, chosen = () => {}) {
  const whole = { x: 0, y: 0, width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height };
  const nodes = new Map([...svg.querySelectorAll(".node")].map((n) => [n.dataset.id, n]));
  const edges = [...svg.querySelectorAll(".edge")];
  const listening = new AbortController(), { signal } = listening;
  let view = { ...whole }, selected = null;

  const show = (v) => {
    view = v;
    svg.setAttribute("viewBox", `${v.x} ${v.y} ${v.width} ${v.height}`);
  };
  const scale = () => view.width / (svg.getBoundingClientRect().width || 1); // drawing units in a pixel
  const middle = () => ({ x: view.x + view.width / 2, y: view.y + view.height / 2 });
  const zoom = (factor, at = middle()) => {
    const width = Math.min(whole.width * farthest, Math.max(whole.width * nearest, view.width * factor));
    const by = width / view.width;
    show({ x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by, width, height: view.height * by });
  };
  const move = (dx, dy) => show({ ...view, x: view.x + dx, y: view.y + dy });
  const reset = () => show({ ...whole });

  const center = (id) => {
    const box = nodes.get(id).getBBox();
    show({ ...view, x: box.x + box.width / 2 - view.width / 2, y: box.y + box.height / 2 - view.height / 2 });
  };
  const isVisible = (id) => {
    const box = nodes.get(id).getBBox();
    return box.x >= view.x && box.y >= view.y && box.x + box.width <= view.x + view.width && box.y + box.height <= view.y + view.height;
  };

  // select marks a node with its edges and the nodes at their other ends.
  const select = (id) => {
    selected = nodes.has(id) ? id : null;
    svg.classList.toggle("some", selected !== null);
    const near = new Set([selected]);
    for (const e of edges) {
      const touches = selected !== null && (e.dataset.from === selected || e.dataset.to === selected);
      e.classList.toggle("near", touches);
      if (touches) near.add(e.dataset.from).add(e.dataset.to);
    }
    for (const [key, n] of nodes) {
      n.classList.toggle("near", near.has(key));
      n.setAttribute("aria-pressed", String(key === selected));
    }
    if (selected !== null && !isVisible(selected)) center(selected);
    chosen(selected);
  };

  // find marks the nodes with a text, and returns their ids.
  const find = (text) => {
    const query = text.trim().toLowerCase();
    const found = [];
    for (const [id, n] of nodes) {
      const isFound = query !== "" && n.querySelector("title").textContent.toLowerCase().includes(query);
      n.classList.toggle("found", isFound);
      if (isFound) found.push(id);
    }
    svg.classList.toggle("searched", query !== "");
    if (found.length > 0 && !found.some(isVisible)) center(found[0]);
    return found;
  };

  svg.setAttribute("role", "group");
  for (const [id, n] of nodes) {
    n.setAttribute("tabindex", "0");
    n.setAttribute("role", "button");
    n.setAttribute("aria-pressed", "false");
    n.addEventListener("click", () => select(id), { signal });
    n.addEventListener("focus", () => isVisible(id) || center(id), { signal });
  }

  let drag = null; // pointer at which a movement began
  svg.addEventListener("pointerdown", (e) => {
    if (e.button === 0) drag = { id: e.pointerId, x: e.clientX, y: e.clientY, moved: false };
  }, { signal });
  svg.addEventListener("pointermove", (e) => {
    if (drag?.id !== e.pointerId) return;
    const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!drag.moved) svg.setPointerCapture(e.pointerId);
    move(-dx * scale(), -dy * scale());
    drag = { id: e.pointerId, x: e.clientX, y: e.clientY, moved: true };
  }, { signal });
  for (const kind of ["pointerup", "pointercancel"]) {
    svg.addEventListener(kind, (e) => {
      if (drag?.id === e.pointerId) drag = null;
    }, { signal });
  }
  svg.addEventListener("wheel", (e) => {
    e.preventDefault();
    const r = svg.getBoundingClientRect();
    zoom(Math.exp(Math.sign(e.deltaY) * 0.15), { x: view.x + (e.clientX - r.x) * scale(), y: view.y + (e.clientY - r.y) * scale() });
  }, { passive: false, signal });

  const step = () => 60 * scale();
  const keys = {
    "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: reset,
    ArrowLeft: () => move(-step(), 0), ArrowRight: () => move(step(), 0), ArrowUp: () => move(0, -step()), ArrowDown: () => move(0, step()),
    Enter: (n) => n && select(n.dataset.id), " ": (n) => n && select(n.dataset.id), Escape: () => select(null),
  };
  svg.addEventListener("keydown", (e) => {
    const run = keys[e.key];
    if (!run || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    run(e.target.closest(".node"));
  }, { signal });
  return { select, find, zoom, reset, stop: () => listening.abort() };
}
