const guess = 56; // assumed height of a row in pixels before any row is measured
const near = 48; // distance from the end in pixels that counts as the end
const spare = 400; // pixels above and below the window in which rows are rendered

// Rows computes the positions of many rows. For rows that were not measured, it uses the mean
// height of the measured ones. Visible rows do not move when other rows change.
export class Rows {
  constructor(follow) {
    this.follow = follow;
    this.atEnd = follow;
    this.top = follow ? Infinity : 0;
    this.anchor = null; // the first visible row: {key, at, off}; off is the number of pixels of the row above the window
    this.range = [0, 0]; // range of the rendered rows
    this.tall = 0; // height of the window in pixels
    this.heights = new Map(); // measured heights by key
    this.sum = 0; // sum of the measured heights
    this.offsets = new Float64Array(1);
    this.items = null;
    this.resized = false; // the window has changed size since the rows were placed
  }

  // update sets the items and determines the rendered rows.
  update(items) {
    if (items === this.items) return;
    this.items = items;
    this.place();
    if (this.atEnd && this.follow) this.reach(this.total - this.tall, 0);
    const at = this.anchor ? this.find(this.anchor) : -1;
    if (at < 0) return;
    if (!this.atEnd) this.range = this.range.map((i) => i + at - this.anchor.at);
    this.anchor.at = at;
  }

  // reach determines the rows to render if the window begins at top: the visible ones, the nearby
  // ones that are already rendered, and up to more further nearby ones. It reports whether nearby
  // rows remain that are not rendered.
  reach(top, more) {
    const to = (y) => Math.min(this.items.length, this.index(y) + 1);
    const [from, end] = [this.index(top), to(top + this.tall)];
    const [first, last] = [this.index(top - spare), to(top + this.tall + spare)];
    let [a, b] = this.range;
    if (b < from || a > end) [a, b] = [from, end];
    b = Math.min(last, Math.max(b, end));
    a = Math.min(a, from);
    const below = Math.min(last - b, more);
    this.range = [Math.max(first, a - more + below), b + below];
    return this.range[0] > first || this.range[1] < last;
  }

  place() {
    const n = this.items.length;
    if (this.offsets.length < n + 1) this.offsets = new Float64Array(Math.max(n + 1, 2 * this.offsets.length));
    let y = 0;
    const mean = Math.round(this.sum / this.heights.size) || guess;
    for (let i = 0; i < n; i++) {
      this.offsets[i] = y;
      y += this.heights.get(this.items[i].key) ?? mean;
    }
    this.offsets[n] = y;
    this.total = y;
  }

  offset(i) {
    return this.offsets[Math.min(i, this.items.length)];
  }

  // index returns the row at a height.
  index(y) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.offsets[mid + 1] <= y) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  // scrolled records the position after scrolling.
  scrolled(box) {
    const by = box.scrollTop - this.top;
    if (this.resized || Math.abs(by) < 1) return; // the user has not scrolled
    this.atEnd = this.below(box) < (by < 0 ? 2 : near); // a slow scroll upwards must leave the end
    this.note(box);
  }

  note(box) {
    this.top = box.scrollTop;
    const at = this.index(this.top);
    this.anchor = at < this.items.length ? { key: this.items[at].key, at, off: this.offsets[at] - this.top } : null;
  }

  // settle measures the rendered rows, restores the position of the window, and determines the rows
  // to render. Like reach, it reports whether nearby rows remain that are not rendered.
  settle(box, more) {
    this.resized = false;
    let changed = false;
    for (const e of box.querySelectorAll(":scope > .thread-row")) {
      const h = e.getBoundingClientRect().height, was = this.heights.get(e.dataset.row) ?? 0;
      if (h > 0 && Math.abs(was - h) > 0.1) {
        this.heights.set(e.dataset.row, h);
        this.sum += h - was;
        changed = true;
      }
    }
    if (changed) this.place();
    const top = this.scrollTarget(box);
    this.resize(box);
    if (Math.abs(box.scrollTop - top) >= 1) box.scrollTop = top;
    if (this.atEnd && this.follow) this.top = box.scrollTop;
    else this.note(box);
    this.tall = box.clientHeight;
    return this.reach(box.scrollTop, more);
  }

  // resize sets the padding above and below the rows immediately. The elements change with the next
  // render, but the window moves now.
  resize(box) {
    const rows = [...box.querySelectorAll(":scope > .thread-row")];
    const pads = box.querySelectorAll(":scope > [role=none]");
    if (pads.length !== 2) return;
    const from = rows.length ? Number(rows[0].dataset.at) : 0;
    const to = rows.length ? Number(rows.at(-1).dataset.at) + 1 : 0;
    pads[0].style.height = `${this.offset(from)}px`;
    pads[1].style.height = `${Math.max(0, this.total - this.offset(to))}px`;
  }

  // scrollTarget returns the position that the window must have.
  scrollTarget(box) {
    if (this.atEnd && this.follow) return Math.max(0, this.total - box.clientHeight);
    if (!this.anchor) return box.scrollTop;
    const at = this.find(this.anchor);
    return at < 0 ? box.scrollTop : Math.max(0, this.offsets[at] - this.anchor.off);
  }

  // find returns the index of a row that may have moved. It searches from the old index in both
  // directions.
  find({ key, at }) {
    for (let d = 0; d < this.items.length; d++) {
      if (this.items[at + d]?.key === key) return at + d;
      if (this.items[at - d]?.key === key) return at - d;
    }
    return -1;
  }

  toEnd(box) {
    this.follow = true;
    this.atEnd = true;
    box.scrollTop = this.total;
  }

  // first returns the index of the first visible row.
  first(box) {
    return Math.min(this.items.length - 1, this.index(box.scrollTop));
  }

  // show scrolls a row into view.
  show(box, i) {
    const [top, bottom] = [this.offset(i), this.offset(i + 1)];
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = Math.min(top, bottom - box.clientHeight);
    this.atEnd = this.below(box) < near;
    this.note(box);
  }

  // begin scrolls a row to the start of the window.
  begin(box, i) {
    box.scrollTop = this.offset(i);
    this.atEnd = false;
    this.note(box);
  }

  // below returns the height of the content below the window.
  below(box) {
    return box.scrollHeight - box.scrollTop - box.clientHeight;
  }
}
