// The page of a report: the timeline and the table of its items, the details of one, and the
// sections that need a script.
import { readEmbedded } from "parts/embedded.js";
import { explore } from "parts/explore.js";
import { details, element } from "./nodes.js";
import { Items, local } from "./items.js";
import { Grid } from "./grid.js";
import { Timeline } from "./timeline.js";
import { detail } from "./detail.js";
import { conversation, output, source, unfold } from "./sections.js";

const by = (id) => document.getElementById(id);
const body = (id) => document.querySelector(`#${id} .body`);

const report = await readEmbedded();
const items = new Items(report);
const panel = by("detail"), search = by("search"), found = by("found");

const moved = (x) => {
  grid.mark(x, false);
  timeline.mark(x);
};

// select shows an item in the timeline, in the table and in the details.
const select = (x) => {
  if (grid.index(x) < 0) {
    search.value = "";
    filter();
  }
  grid.mark(x, true);
  timeline.mark(x);
  panel.hidden = false;
  panel.replaceChildren(element("button", "Close", { type: "button", className: "close", onclick: close }), ...detail(items, x));
  panel.scrollTop = 0;
};

// close hides the details, and returns the focus to the table.
function close() {
  panel.hidden = true;
  history.pushState(null, "", location.pathname + location.search);
  by("rows").querySelector("[tabindex]")?.focus();
}
addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !panel.hidden && document.activeElement !== search) close();
});

// opened selects an item, and adds it to the address of the page.
const opened = (x) => {
  if (location.hash !== `#item-${x.n}`) history.pushState(null, "", `#item-${x.n}`);
  select(x);
};

const timeline = new Timeline(by("lanes"), items, { moved, opened });
const grid = new Grid(by("rows"), items, { moved, opened, zoomed: (factor) => timeline.zoom(factor) });

function filter() {
  const list = items.find(search.value);
  found.textContent = search.value.trim() === "" ? "" : `${list.length} found`;
  grid.show(list);
  timeline.show(list);
}

let isDue = false;
search.addEventListener("input", () => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    filter();
  });
});
search.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && grid.shown.length > 0) opened(grid.shown[0]);
});
for (const [id, run] of [["in", () => timeline.zoom(0.8)], ["out", () => timeline.zoom(1.25)], ["whole", () => timeline.reset()]]) by(id).addEventListener("click", run);

// follow selects the item that the address of the page names.
function follow() {
  const x = items.get(Number(location.hash.match(/^#item-(\d+)$/)?.[1]));
  if (!x) {
    panel.hidden = true;
    return;
  }
  select(x);
  panel.scrollIntoView({ block: "nearest" });
}
addEventListener("hashchange", follow);
addEventListener("popstate", follow);

let fold = null; // closes what was opened for printing
function print(isPrinting) {
  if (isPrinting === (fold !== null)) return;
  grid.print(isPrinting);
  if (isPrinting) timeline.reset();
  if (isPrinting) fold = unfold();
  else {
    fold();
    fold = null;
  }
}
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
matchMedia("print").addEventListener("change", (e) => print(e.matches));

for (const t of document.querySelectorAll("time[datetime]")) t.title = local(Date.parse(t.dateTime));
conversation(body("conversation"), items);
output(body("output"), items);
source(body("source"), report);
const svg = document.querySelector("#program svg");
if (svg) {
  const about = by("about");
  const drawing = explore(svg, (id) => about.replaceChildren(...details(report, id, (next) => drawing.select(next))));
  drawing.select(null);
}
filter();
follow();
requestAnimationFrame(() => requestAnimationFrame(() => {
  document.documentElement.dataset.ready = "1";
  performance.mark("ready");
}));
