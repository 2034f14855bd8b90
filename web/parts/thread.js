import { html, classes, icon, moment, plain, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./base.js";
import { Rows } from "./rows.js";

const early = 600; // distance from the start, in pixels, at which earlier items are loaded
const few = 8; // number of rows outside of the window to render at once

// Thread shows items {key, role, ts?, title?, text?} one below the other and renders only the
// visible ones. render returns the content of an item and runs again when the item or render
// changes. With follow, the thread starts at the end and stays there until the user scrolls away.
// onEarlier loads earlier items. It is null if there are none. earlier {loading} reports that
// earlier items are loading. If items are inserted earlier or grow, the visible items do not move.
// j and k move from row to row. show is the key of an item to scroll to once the item exists.
export function Thread({ items, follow = true, onEarlier, earlier, render = Plain, show, label = "Thread" }) {
  const box = useRef();
  const rows = useRef(null);
  const [drawn, draw] = useState(0);
  const [away, setAway] = useState(false); // the end of the thread is not visible
  const [focused, setFocused] = useState(null);
  const focusNext = useRef(null); // {key, at} of the row that receives the focus once it is rendered
  const r = (rows.current ??= new Rows(follow));
  r.update(items);
  const [from, to] = r.range.map((i) => Math.max(0, Math.min(i, items.length)));
  const settle = (more = 0) => {
    if (!box.current) return; // the element was removed while a frame was pending
    if (r.settle(box.current, more)) r.later?.();
    if (r.range[0] !== from || r.range[1] !== to) draw((n) => n + 1);
    setAway(!r.atEnd && r.below(box.current) > 2);
    const row = focusNext.current && rowOf(box.current, focusNext.current.key);
    if (row) {
      row.focus({ preventScroll: true });
      focusNext.current = null;
    }
    if (r.top < early && onEarlier && !earlier?.loading) onEarlier();
  };
  useLayoutEffect(() => settle(), [items, drawn, focused]);
  useEffect(() => observe(box.current, settle, r), []);
  const lastShown = useRef(null);
  useEffect(() => {
    const at = show && show !== lastShown.current ? items.findIndex((i) => i.key === show) : -1;
    if (at < 0) return;
    lastShown.current = show;
    focusNext.current = { key: show, at };
    setFocused(show);
    r.begin(box.current, at);
    settle();
  }, [show, items]);
  r.remeasure = settle;
  const shown = items.slice(from, to);
  const keys = (e) => move(e, { items, rows: r, box: box.current, focusNext, setFocused });
  return html`<div class="thread"><div class="thread-scroll" ref=${box} tabindex="0" role="feed" aria-label=${label} aria-busy=${String(items.length === 0 || !!earlier?.loading)} onScroll=${(e) => { r.scrolled(e.currentTarget); settle(); }} onKeyDown=${keys}>
      <div role="none" class="thread-pad" style=${{ height: `${r.offset(from)}px` }}></div>
      ${shown.map((item, i) => html`<${Row} key=${item.key} item=${item} at=${from + i} of=${items.length} render=${render} focused=${item.key === focused} />`)}
      <div role="none" style=${{ height: `${r.total - r.offset(to)}px` }}></div></div>
    ${earlier?.loading && html`<p class="thread-edge" role="status">Loading earlier events …</p>`}
    ${away && html`<button type="button" class="thread-end" onClick=${() => { r.toEnd(box.current); settle(); }}>${icon("down")} To the end</button>`}</div>`;
}

// observe updates the rows when the rows or the window change size.
function observe(box, settle, rows) {
  let frame = 0;
  let more = 0;
  rows.later = () => { more ||= setTimeout(() => { more = 0; rows.remeasure(few); }); };
  const later = () => { frame ||= requestAnimationFrame(() => { frame = 0; rows.remeasure(); }); };
  const sizes = new ResizeObserver((all) => {
    if (all.some((e) => e.target === box)) rows.resized = true;
    later();
  });
  sizes.observe(box);
  const observed = new Set();
  const children = () => {
    const now = new Set(box.querySelectorAll(":scope > .thread-row"));
    for (const e of observed) if (!now.has(e)) { sizes.unobserve(e); observed.delete(e); }
    for (const e of now) if (!observed.has(e)) { sizes.observe(e); observed.add(e); }
  };
  const changes = new MutationObserver(children);
  changes.observe(box, { childList: true });
  children();
  settle();
  return () => { sizes.disconnect(); changes.disconnect(); cancelAnimationFrame(frame); clearTimeout(more); };
}

function Row({ item, at, of, render, focused }) {
  return html`<article class="thread-row" data-at=${at} data-row=${item.key} tabindex=${focused ? 0 : -1} aria-posinset=${at + 1} aria-setsize=${of} aria-label=${`${plain(item.title || item.role || "")} ${moment(item.ts)}`}>${useMemo(() => render(item), [item, render])}</article>`;
}

// Plain is the default content of an item.
function Plain(item) {
  return html`<div class=${classes("thread-plain", item.role)}>${item.title && html`<h3>${plain(item.title)}</h3>`}<p>${plain(item.text)}</p></div>`;
}

// move handles j, k, Home and End, unless the user is typing.
function move(event, { items, rows, box, focusNext, setFocused }) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [role=tree], [contenteditable=true]")) return;
  const row = event.target.closest(".thread-row");
  const at = focusNext.current?.at ?? (row ? Number(row.dataset.at) : null);
  const to = { j: at === null ? rows.first(box) : at + 1, k: at === null ? rows.first(box) : at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to === undefined || to < 0 || to >= items.length) return;
  event.preventDefault();
  event.stopPropagation();
  focusNext.current = { key: items[to].key, at: to };
  setFocused(items[to].key);
  rows.show(box, to);
  rows.remeasure();
}

const rowOf = (box, key) => box.querySelector(`:scope > [data-row="${CSS.escape(key)}"]`);
