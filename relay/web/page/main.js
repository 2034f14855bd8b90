// The page's entry point.
import { html, render } from "parts/base.js";
import { onOpen, sentence, session, start, useToken } from "./data/index.js";
import { History } from "./history.js";
import { Inbox } from "./inbox.js";
import { lazy } from "./lazy.js";
import { Login, SetUp } from "./login.js";
import { go, hrefOf, place } from "./route.js";
import { reachable } from "./routes.js";
import { Runs } from "./runs.js";
import { Shell } from "./shell.js";
import { applyTheme } from "./theme.js";

// screens contains the component for each route. Those that the first view does not need are loaded
// when they are shown.
const screens = {
  inbox: Inbox, runs: Runs, history: History,
  hosts: lazy(() => import("./machines.js"), "Machines"),
  start: lazy(() => import("./start.js"), "Start"),
  audit: lazy(() => import("./audit.js"), "Audit"),
  settings: lazy(() => import("./settings.js"), "Settings"),
  join: lazy(() => import("./join.js"), "Join"),
};

function Page() {
  const who = session.value, at = place.value;
  if (location.pathname === "/setup") return html`<${SetUp} />`;
  if (who.state === "unknown") return html`<p class="boot" role="status">Concerto relay …</p>`;
  if (who.state === "out") return html`<${Login} />`;
  const all = reachable(), screen = at.screen === "join" ? { name: "join" } : all.find((s) => s.name === at.screen) ?? all[0];
  return html`<${Shell} screen=${screen.name} covered=${who.state === "ended"}><${screens[screen.name]} id=${at.id} tab=${at.tab} query=${at.query} /></${Shell}>
    ${who.state === "ended" && html`<div class="over-all" role="dialog" aria-modal="true" aria-label="Log in again"><${Login} /></div>`}`;
}

// byLink removes the token of a link, #/t/TOKEN/RUN, or the token and the secret of one that shares
// sealed runs, #/s/TOKEN.SECRET/RUN, from the address before other code reads the address.
async function byLink() {
  const { screen, id, tab } = place.value;
  if (screen !== "t" && screen !== "s") return;
  go(hrefOf("runs", tab), { replace: true });
  await useToken(...(screen === "t" ? [id] : id.split(".")));
}

applyTheme();
onOpen((run, request) => go(hrefOf("runs", run, "", request && { request })));
const into = document.getElementById("app");
byLink().then(() => location.pathname === "/setup" || start()).catch((e) => (session.peek().state === "unknown" ? (into.textContent = sentence(e)) : console.error(e)));
into.replaceChildren();
render(html`<${Page} />`, into);
