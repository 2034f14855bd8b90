// The timeline: a canvas with a lane for each task, agent, host, tool and pipeline.
import { element } from "./nodes.js";
import { plain } from "parts/plain.js";
import { title, took } from "./items.js";

const lane = 20, head = 22, gutter = 160; // pixels: height of a lane and of the scale, width of the names
const most = 400; // number of lanes; the last one has the items of all further ones
const colors = { ok: "--accent", failed: "--bad", unknown: "--bad", open: "--warn", cancelled: "--muted" };
const names = { ok: "done", failed: "failed", unknown: "outcome unknown", open: "not ended", cancelled: "cancelled" };

// Timeline draws items. moved(item) is called when the user moves to another item, opened(item) when
// he opens one.
export class Timeline {
  constructor(box, items, { moved, opened }) {
    Object.assign(this, { box, items, moved, opened, current: null, isDue: false });
    this.canvas = element("canvas", undefined, { tabIndex: 0, role: "application", ariaLabel: "Timeline of the items; the table below lists them" });
    this.tip = element("div", undefined, { className: "tip", hidden: true, role: "tooltip" });
    box.append(this.canvas, this.tip);
    box.after(this.legend());
    this.end = items.all.reduce((end, x) => Math.max(end, items.ends(x)), 0) || 1;
    this.view = { from: 0, to: this.end };
    this.show(items.all);
    new ResizeObserver(() => this.draw()).observe(box);
    for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) {
      matchMedia(query).addEventListener("change", () => {
        this.palette = null;
        this.draw();
      });
    }
    this.canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      const by = Math.sign(e.deltaY || e.deltaX);
      if (e.shiftKey) this.pan(by * 0.1);
      else this.zoom(Math.exp(by * 0.15), this.time(e.offsetX));
    }, { passive: false });
    this.canvas.addEventListener("click", (e) => {
      const x = this.hit(e.offsetX, e.offsetY);
      if (x) opened(x);
    });
    this.canvas.addEventListener("pointermove", (e) => this.explain(e));
    this.canvas.addEventListener("pointerleave", () => this.explain(null));
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  // legend returns the colours of the states that the items have.
  legend() {
    const out = element("p", undefined, { className: "legend" }), has = new Set(this.items.all.map((x) => x.status));
    for (const [status, name] of Object.entries(names)) {
      if (!has.has(status)) continue;
      const mark = element("i");
      mark.style.background = `var(${colors[status]})`;
      out.append(mark, `${name} `);
    }
    return out;
  }

  // explain shows name, time and cost of the item at the pointer.
  explain(e) {
    const x = e && this.hit(e.offsetX, e.offsetY);
    this.tip.hidden = !x;
    if (!x) return;
    const time = this.items.timed ? took(this.items.ends(x) - this.items.begins(x)) : "";
    this.tip.textContent = [plain(title(x)), time, x.cost_usd ? `$${x.cost_usd}` : "", names[x.status] ?? x.status].filter(Boolean).join(" · ");
    const room = this.box.clientWidth - this.tip.offsetWidth - 4;
    Object.assign(this.tip.style, { left: `${Math.max(0, Math.min(room, e.offsetX + 12))}px`, top: `${e.offsetY + 14}px` });
  }

  // show sets the drawn items.
  show(list) {
    this.lanes = new Map();
    for (const x of list) {
      let name = this.items.lane(x);
      if (!this.lanes.has(name) && this.lanes.size >= most - 1) name = "others";
      const own = this.lanes.get(name);
      if (own) own.push(x);
      else this.lanes.set(name, [x]);
    }
    this.shown = list;
    this.draw();
  }

  // mark makes an item the current one, and moves it into view.
  mark(x) {
    this.current = x;
    const begin = this.items.begins(x), width = this.view.to - this.view.from;
    if (begin < this.view.from || begin > this.view.to) this.look(begin - width / 2, begin + width / 2);
    this.draw();
  }

  look(from, to) {
    const width = Math.min(this.end, to - from);
    const start = Math.max(0, Math.min(this.end - width, from));
    this.view = { from: start, to: start + width };
    this.draw();
  }

  zoom(factor, at = this.current ? this.items.begins(this.current) : (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view, width = Math.max(this.end * 1e-7, (to - from) * factor);
    const middle = Math.max(from, Math.min(to, at));
    const start = middle - (middle - from) * (width / (to - from));
    this.look(start, start + width);
  }

  pan(by) {
    const move = (this.view.to - this.view.from) * by;
    this.look(this.view.from + move, this.view.to + move);
  }

  reset() {
    this.look(0, this.end);
  }

  scale() {
    return Math.max(1, this.canvas.clientWidth - gutter) / (this.view.to - this.view.from); // pixels in a unit of time
  }

  time(x) {
    return this.view.from + Math.max(0, x - gutter) / this.scale();
  }

  // hit returns the shortest item at a point.
  hit(px, py) {
    const list = [...this.lanes.values()][Math.floor((py - head) / lane)];
    if (!list || px < gutter) return null;
    const scale = this.scale(), x = (t) => gutter + (t - this.view.from) * scale;
    let found = null, length = Infinity;
    for (const item of list) {
      const [from, to] = [x(this.items.begins(item)), x(this.items.ends(item))];
      if (px >= from - 3 && px <= to + 3 && to - from < length) [found, length] = [item, to - from];
    }
    return found;
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const lanes = [...this.lanes.values()];
    const own = Math.max(0, lanes.findIndex((l) => l.includes(this.current)));
    const i = this.shown.indexOf(this.current);
    const near = (list) => list?.reduce((a, b) => (Math.abs(this.items.begins(b) - this.at()) < Math.abs(this.items.begins(a) - this.at()) ? b : a));
    const to = {
      ArrowRight: () => this.shown[i + 1] ?? this.current, ArrowLeft: () => this.shown[i - 1] ?? this.shown[0],
      ArrowDown: () => near(lanes[own + 1]), ArrowUp: () => near(lanes[own - 1]), Home: () => this.shown[0], End: () => this.shown.at(-1),
    }[e.key];
    if (to) {
      const x = to();
      if (x) this.moved(x);
    } else if (e.key === "Enter" || e.key === " ") {
      if (this.current) this.opened(this.current);
    } else if (e.key === "+" || e.key === "=") this.zoom(0.8);
    else if (e.key === "-") this.zoom(1.25);
    else if (e.key === "0") this.reset();
    else return;
    e.preventDefault();
  }

  at() {
    return this.current ? this.items.begins(this.current) : 0;
  }

  // draw draws with the next frame.
  draw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  color(name) {
    if (!this.palette) {
      this.palette = {};
      const probe = element("span");
      this.box.append(probe);
      for (const key of ["--text", "--muted", "--line", "--surface", "--focus", ...Object.values(colors)]) {
        probe.style.color = `var(${key})`;
        this.palette[key] = getComputedStyle(probe).color;
      }
      probe.remove();
    }
    return this.palette[name];
  }

  paint() {
    const width = this.box.clientWidth, height = head + this.lanes.size * lane;
    const density = Math.min(devicePixelRatio || 1, 16000 / height);
    if (width === 0) return;
    Object.assign(this.canvas, { width: Math.round(width * density), height: Math.round(height * density) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const c = this.canvas.getContext("2d");
    c.scale(density, density);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.paintScale(c, width, height);
    let y = head;
    for (const [name, list] of this.lanes) {
      c.fillStyle = this.color("--text");
      c.fillText(name.length > 24 ? `${name.slice(0, 23)}…` : name, 4, y + lane / 2, gutter - 8);
      c.fillStyle = this.color("--line");
      c.fillRect(0, y + lane - 1, width, 1);
      this.paintLane(c, list, y, width);
      y += lane;
    }
  }

  paintScale(c, width, height) {
    const span = this.view.to - this.view.from, about = span / Math.max(1, (width - gutter) / 90);
    const ten = 10 ** Math.floor(Math.log10(about));
    const step = Math.max(this.items.timed ? 0 : 1, [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= about));
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (let t = Math.ceil(this.view.from / step) * step; t <= this.view.to; t += step) {
      const x = gutter + (t - this.view.from) * this.scale();
      c.fillStyle = this.color("--line");
      c.fillRect(x, head - 4, 1, height);
      c.fillStyle = this.color("--muted");
      c.fillText(this.items.timed ? `${t.toFixed(digits)} s` : `item ${Math.round(t) + 1}`, x + 3, head / 2);
    }
  }

  paintLane(c, list, y, width) {
    const scale = this.scale();
    let last = -1; // pixel of the last narrow bar: a second one there would be hidden
    c.save();
    c.beginPath();
    c.rect(gutter, y, width - gutter, lane);
    c.clip();
    for (const x of list) {
      const from = gutter + (this.items.begins(x) - this.view.from) * scale;
      const long = Math.max(2, (this.items.ends(x) - this.items.begins(x)) * scale);
      const isPlain = x.status === "ok" && x !== this.current;
      if (from > width || from + long < gutter || (isPlain && long <= 2 && Math.floor(from) === last)) continue;
      if (long <= 2) last = Math.floor(from);
      c.globalAlpha = isPlain ? 0.6 : 1;
      c.fillStyle = this.color(colors[x.status] ?? "--muted");
      const inset = x.status === "ok" ? 5 : 2; // what is not ok is also taller
      c.fillRect(from, y + inset, long, lane - 2 * inset - 1);
      if (x === this.current) {
        c.strokeStyle = this.color("--focus");
        c.lineWidth = 2;
        c.strokeRect(from - 1, y + 1, long + 2, lane - 3);
      }
    }
    c.restore();
  }
}
