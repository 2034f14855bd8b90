// The page of `concerto graph`: the drawing, a search, and the details of the selected node.
import { readEmbedded } from "parts/embedded.js";
import { explore } from "parts/explore.js";
import { details } from "./nodes.js";

const data = await readEmbedded();
const panel = document.getElementById("about"), found = document.getElementById("found");
const drawing = explore(document.querySelector("#graph svg"), (id) => panel.replaceChildren(...details(data, id, (next) => drawing.select(next))));
const search = document.getElementById("search");
let ids = [];
search.addEventListener("input", () => {
  ids = drawing.find(search.value);
  found.textContent = search.value.trim() === "" ? "" : `${ids.length} found`;
});
search.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && ids.length > 0) drawing.select(ids[0]);
});
for (const [id, run] of [["in", () => drawing.zoom(0.8)], ["out", () => drawing.zoom(1.25)], ["whole", () => drawing.reset()]]) document.getElementById(id).addEventListener("click", run);
drawing.select(null);
document.documentElement.dataset.ready = "1";
