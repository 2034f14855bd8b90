// The playground's page.
import { effect, html, render } from "parts/base.js";
import * as state from "./state.js";
import { Page } from "./view.js";

state.setTheme(state.theme.value);
const app = document.getElementById("app");
app.replaceChildren();
render(html`<${Page} />`, app);

const ready = state.start();
ready.then(() => performance.mark("ready"), () => {}); // the notice shows the reason of a failure
window.addEventListener("hashchange", () => state.follow());
window.addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.defaultPrevented) return;
  e.preventDefault();
  state.run().catch(() => {});
});

window.playground = {
  ready,
  put: (files) => state.put(files),
  files: () => ({ ...state.files.value }),
  run: () => ready.then(() => state.run()),
  stop: () => state.stop(),
  answer: (number, value) => state.answer(number, value),
  // watch calls f with the state of the page now and after each change, and returns a function that ends this
  watch: (f) => effect(() => f({ status: state.status.value, output: state.output.value, asks: state.asks.value, loaded: state.progress() })),
  check: () => ready.then(state.check),
  complete: (name, offset) => ready.then(() => state.completeAt(name, offset)),
  hover: (name, offset) => ready.then(() => state.hoverAt(name, offset)),
  link: () => ready.then(state.address),
};
