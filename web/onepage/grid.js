// The table of items. Only the visible rows are in the document.
import { element } from "./nodes.js";
import { line, took } from "./items.js";
import { plain } from "parts/plain.js";

const height = 28; // pixels of a row
const printed = 1000; // number of items in print

// Grid shows items, one of which is the current one. moved(item) is called when the user moves to
// another item, opened(item) when he opens one.
export class Grid {
  constructor(box, items, { moved, opened, zoomed }) {
    Object.assign(this, { box, items, moved, opened, shown: [], at: 0, open: null, pool: [], isPrinting: false });
    this.columns = [
      ["Item", (x) => String(x.n)], ["Kind", (x) => x.kind], ["Name", (x) => line(plain(x.name), 80)], ["Status", (x) => x.status], ["Text", (x) => plain(items.summary(x))],
      ["Start", (x) => took(x.start)], ["Time", (x) => (x.end === null || x.start === null ? "" : took(Math.max(0, x.end - x.start)))],
      ["Place", (x) => x.at ?? ""],
    ];
    this.space = element("div", undefined, { className: "space" });
    this.grid = element("table", undefined, { tabIndex: 0, role: "grid", ariaLabel: "Items" });
    const head = element("tr", undefined, { role: "row", ariaRowIndex: "1" });
    this.columns.forEach(([name]) => head.append(element("th", name, { role: "columnheader", scope: "col" })));
    const top = element("thead", undefined, { role: "rowgroup" });
    top.append(head);
    this.body = element("tbody", undefined, { role: "rowgroup" });
    this.grid.append(top, this.body);
    this.space.append(this.grid);
    box.append(this.space);
    this.rest = element("p", "", { className: "others print" });
    box.after(this.rest);
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    this.body.addEventListener("click", (e) => {
      const row = e.target.closest("tr");
      if (row) this.choose(Number(row.dataset.at), true);
    });
    this.grid.addEventListener("keydown", (e) => this.key(e, zoomed));
  }

  // show sets the listed items.
  show(list) {
    this.shown = list;
    this.at = Math.max(0, Math.min(this.at, list.length - 1));
    this.grid.setAttribute("aria-rowcount", String(list.length));
    this.rest.textContent = list.length > printed ? `and ${list.length - printed} more items` : "";
    this.space.style.height = `${(list.length + 1) * height}px`;
    this.draw();
  }

  // mark makes an item the current one, and the open one if it is open. It scrolls to it.
  mark(x, open) {
    const i = this.index(x);
    if (open) this.open = x;
    if (i >= 0) {
      this.at = i;
      const [top, bottom] = [i * height, (i + 2) * height];
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
    }
    this.draw();
  }

  // index returns the position of an item in the list, which is sorted by number, or -1.
  index(x) {
    let low = 0, high = this.shown.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.shown[mid].n < x.n) low = mid + 1;
      else high = mid;
    }
    return this.shown[low] === x ? low : -1;
  }

  choose(i, open) {
    const x = this.shown[i];
    if (!x) return;
    this.at = i;
    if (open) this.opened(x);
    else this.moved(x);
  }

  key(e, zoomed) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / height) - 2), last = this.shown.length - 1;
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: last }[e.key];
    if (to !== undefined) this.choose(Math.max(0, Math.min(last, to)), false);
    else if (e.key === "Enter" || e.key === " ") this.choose(this.at, true);
    else if (e.key === "+" || e.key === "=") zoomed(0.8);
    else if (e.key === "-") zoomed(1.25);
    else return;
    e.preventDefault();
  }

  // print shows the first items instead of the visible ones, until isPrinting is false again.
  print(isPrinting) {
    this.isPrinting = isPrinting;
    this.draw();
  }

  draw() {
    const top = this.isPrinting ? 0 : this.box.scrollTop;
    const first = Math.floor(top / height);
    const count = this.isPrinting ? printed : Math.ceil(this.box.clientHeight / height) + 1;
    const last = Math.min(this.shown.length, first + count);
    this.body.style.transform = this.isPrinting ? "" : `translateY(${-(top % height)}px)`;
    const rows = Math.max(0, last - first);
    while (this.pool.length < rows) this.pool.push(this.row());
    while (this.pool.length > rows) this.pool.pop().row.remove();
    let active = "";
    for (let i = 0; i < rows; i++) {
      const { row, cells } = this.pool[i], x = this.shown[first + i];
      if (row.dataset.at !== String(first + i) || row.id !== `item-${x.n}`) {
        row.dataset.at = String(first + i);
        row.id = `item-${x.n}`;
        row.setAttribute("aria-rowindex", String(first + i + 2));
        row.dataset.status = x.status;
        this.columns.forEach(([, text], c) => {
          cells[c].data = text(x);
        });
      }
      const isCurrent = first + i === this.at;
      row.classList.toggle("current", isCurrent);
      row.setAttribute("aria-selected", String(x === this.open));
      if (isCurrent) active = row.id;
    }
    if (active) this.grid.setAttribute("aria-activedescendant", active);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  row() {
    const row = element("tr", undefined, { role: "row" });
    const cells = this.columns.map(() => {
      const cell = element("td", undefined, { role: "gridcell" }), text = document.createTextNode("");
      cell.append(text);
      row.append(cell);
      return text;
    });
    this.body.append(row);
    return { row, cells };
  }
}
