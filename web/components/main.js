// Shows every part in all its states. The fragment of the URL selects what is shown: #approval
// shows only that part, and #approval/a file only one state of the part.
import { html, render, useErrorBoundary, useEffect, useState } from "../parts/base.js";
import { Live } from "../parts/live.js";
import { Toasts } from "../parts/toast.js";
import { approval } from "./approval.js";
import { code } from "./code.js";
import { texts } from "./texts.js";
import { forms } from "./forms.js";
import { thread } from "./thread.js";

const parts = { approval, forms, ...texts, thread, ...code };

function Part({ name, state: one }) {
  const [error] = useErrorBoundary();
  if (error) throw error;
  return html`<section class="part" id=${`part-${name}`} aria-labelledby=${`title-${name}`}><h2 id=${`title-${name}`}>${name}</h2>
    ${Object.entries(parts[name]).filter(([state]) => !one || state === one).map(([state, show]) => html`<div class="sample" key=${state} data-sample=${`${name} ${state}`}><h3>${state}</h3>${typeof show === "function" ? html`<${show} />` : show}</div>`)}</section>`;
}

function Page() {
  const [at, setAt] = useState(location.hash);
  useEffect(() => {
    const moved = () => setAt(location.hash);
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  const [only, state] = decodeURIComponent(at.slice(1)).split("/");
  const names = Object.keys(parts).filter((n) => !only || n === only);
  return html`<main><h1>Parts</h1><nav aria-label="Parts"><ul><li><a href="#">all</a></li>${Object.keys(parts).map((n) => html`<li key=${n}><a href=${`#${n}`}>${n}</a></li>`)}</ul></nav>
    ${names.map((n) => html`<${Part} key=${n} name=${n} state=${state} />`)}</main><${Toasts} /><${Live} />`;
}

render(html`<${Page} />`, document.getElementById("app"));
