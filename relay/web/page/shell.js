// The frame of all screens: navigation, state of the connection, number of requests, and errors.
import { html, plain, useEffect, useLayoutEffect, useErrorBoundary, useRef, useState } from "parts/base.js";
import { announce, Live } from "parts/live.js";
import { Toasts, toasts } from "parts/toast.js";
import { applyUpdate, conn, devices, newRequest, onNotice, outbox, requests, retryNow, session, update, watchMachines } from "./data/index.js";
import { Icon } from "./icons.js";
import { Keys } from "./keymap.js";
import { Outbox } from "./outbox.js";
import { hrefOf, place } from "./route.js";
import { reachable } from "./routes.js";
import { links, nameOf } from "./words.js";

// Shell is the frame around a screen.
export function Shell({ screen, covered, children }) {
  useEffect(watchMachines, []); // all screens show the names of machines
  return html`<div class="shell" inert=${covered}>
    <${Nav} current=${screen} />
    <div class="column">
      <${Banner} />
      <main id="main" tabindex="-1"><${Guarded} key=${screen}>${children}</${Guarded}></main>
    </div>
    <${Toasts} /><${Live} /><${Keys} /><${Watch} />
  </div>`;
}

function Nav({ current }) {
  const open = requests.value.length;
  return html`<nav class="nav" aria-label="Screens">
    <p class="brand"><${Icon} name="live" /><span>Concerto relay</span></p>
    <ul>${reachable().map((s) => html`<li key=${s.name} class=${s.seldom ? "seldom" : ""}><a href=${hrefOf(s.name)} aria-current=${s.name === current ? "page" : null}>
      <${Icon} name=${s.icon} /><span>${s.label}</span>
      ${s.name === "inbox" && open > 0 && html`<span class="count"><span aria-hidden="true">${open}</span><span class="unseen">, ${open} open ${open === 1 ? "request" : "requests"}</span></span>`}</a></li>`)}
      <li class="more"><${More} current=${current} /></li></ul>
    <${Connection} />
  </nav>`;
}

// More contains the links to rarely used screens on a phone.
function More({ current }) {
  const [open, setOpen] = useState(false);
  const box = useRef();
  useEffect(() => setOpen(false), [place.value]);
  useEffect(() => {
    if (!open) return;
    const close = (e) => (e.type === "keydown" ? e.key === "Escape" : !box.current?.contains(e.target)) && setOpen(false);
    addEventListener("pointerdown", close);
    addEventListener("keydown", close);
    return () => (removeEventListener("pointerdown", close), removeEventListener("keydown", close));
  }, [open]);
  const all = reachable().filter((s) => s.seldom);
  return html`<div ref=${box}><button type="button" aria-expanded=${open} aria-controls="more" class=${all.some((s) => s.name === current) ? "current" : ""} onClick=${() => setOpen(!open)}><${Icon} name="more" /><span>More</span></button>
    ${open && html`<ul id="more" class="sheet">${all.map((s) => html`<li key=${s.name}><a href=${hrefOf(s.name)}><${Icon} name=${s.icon} />${s.label}</a></li>`)}</ul>`}</div>`;
}

function Connection() {
  const c = conn.value, s = links[c.state] ?? links.connecting, waiting = outbox.value.filter((e) => !e.done).length;
  return html`<div class="conn" data-testid="conn" data-state=${c.state}><span class=${"status tone-" + s.tone}><${Icon} name=${s.icon} spin=${s.icon === "busy"} />${s.word}</span>
    ${waiting > 0 && html`<span class="quiet">${waiting} waiting to send</span>`}
    <span class="who">${plain(session.value.user)}</span></div>`;
}

// Banner shows a message about a state of the page that concerns every screen.
function Banner() {
  const c = conn.value, away = useRef(false);
  away.current = c.state === "offline" || (away.current && c.state === "connecting"); // the banner stays while the page tries to connect
  return html`<div class="banners">
    ${away.current && html`<p class="banner" role="status"><${Icon} name="offline" /><span>${plain(c.why || "No connection to the relay.")} Your decisions are stored and sent when the connection is back.</span>
      <button type="button" onClick=${retryNow}>Reconnect</button></p>`}
    ${c.clock_differs && html`<p class="banner" role="status"><${Icon} name="wait" /><span>The clock of this device is ${seconds(c.clock_ms)} the server’s clock. This page shows server times.</span></p>`}
    ${devices.value?.some((d) => d.temporary && !d.shared) && html`<p class="banner" role="status"><${Icon} name="key" /><span>This device is temporary: its keys are lost when you close this tab.</span></p>`}
    ${update.value && html`<p class="banner" role="status"><span>A new version of this page is available.</span> <button type="button" onClick=${applyUpdate}>Reload</button></p>`}
    <${Outbox} />
  </div>`;
}

// seconds describes the difference between this device's clock and the server's. ms is positive if
// the device is ahead.
function seconds(ms) {
  const s = Math.round(Math.abs(ms) / 1000), text = s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
  return ms > 0 ? `${text} behind` : `${text} ahead of`;
}

// Guarded shows an error instead of a screen that failed. Other screens stay usable.
function Guarded({ children }) {
  const [error, reset] = useErrorBoundary((e) => console.error(e));
  if (!error) return children;
  return html`<div class="empty"><p class="failed" role="alert">This screen failed: ${plain(String(error.message ?? error))}</p><button type="button" onClick=${reset}>Show it again</button></div>`;
}

// Watch announces new requests and sets the title, which begins with the number of open requests.
function Watch() {
  const open = requests.value.length, came = newRequest.value;
  useEffect(() => {
    if (came) announce(`New request from ${plain(nameOf({ title: came.title, tool: came.tool, id: came.run_id }))}: ${plain(came.op_args_summary || came.prompt || came.op_tool || "").slice(0, 160)}`, { assertive: true });
  }, [came?.key]);
  useEffect(() => {
    const name = reachable().find((s) => s.name === place.value.screen)?.label ?? "";
    document.title = `${open ? `(${open}) ` : ""}${name ? name + " · " : ""}Concerto relay`;
  }, [open, place.value]);
  useEffect(() => onNotice((n) => toasts.add({ text: plain(n.text), level: n.level })), []);
  return null;
}

// Head is the heading of a screen, with its actions.
export function Head({ title, back, children }) {
  const at = useRef();
  useLayoutEffect(() => at.current?.focus({ preventScroll: true }), []); // must run before a field receives the focus
  return html`<header class="head">${back && html`<a class="icon-button" href=${back} aria-label="Back"><${Icon} name="back" /></a>`}<h1 dir="auto" tabindex="-1" ref=${at}>${title}</h1><div class="head-side">${children}</div></header>`;
}
