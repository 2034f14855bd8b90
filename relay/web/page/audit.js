// The audit log: one row for each record of the server's hash chain.
import { html, plain, useState } from "parts/base.js";
import { api, isApart } from "./data/index.js";
import { failure, Loaded, useDo, useLoad } from "./load.js";
import { hrefOf } from "./route.js";
import { Head } from "./shell.js";

const page = 200;

// lines parses records. Each line contains one record.
const lines = (text) => text.split("\n").filter((l) => l).map((l) => JSON.parse(l));

export function Audit() {
  const [from, setFrom] = useState(0);
  const [filter, setFilter] = useState("");
  const load = useLoad(async () => lines(await api.get(`/audit?after=${from}&limit=${page}`)), [from]);
  const shown = (all) => all.filter((r) => JSON.stringify(r).toLowerCase().includes(filter.toLowerCase()));
  return html`<${Head} title="Audit"><${Save} /></${Head}>
    <p class="quiet">Each record contains the hash of the previous record. <code>concerto-relay audit verify FILE</code> checks a saved file.</p>
    <div class="bar"><input type="search" data-filter class="grow" placeholder="Filter these records" aria-label="Filter these records" value=${filter} onInput=${(e) => setFilter(e.target.value)} />
      <button type="button" aria-disabled=${from === 0} onClick=${() => setFrom(Math.max(0, from - page))}>Earlier</button>
      <button type="button" aria-disabled=${(load.value?.length ?? 0) < page} onClick=${() => load.value?.length === page && setFrom(from + page)}>Later</button></div>
    <${Loaded} load=${load} what="the audit log">${(all) => html`<div class="scroll" tabindex="0" role="region" aria-label="Records"><table class="audit" role="table">
      <thead><tr><th scope="col">no.</th><th scope="col">time</th><th scope="col">what</th><th scope="col">who</th><th scope="col">run</th><th scope="col">details</th></tr></thead>
      <tbody>${shown(all).map((r) => html`<${Row} key=${r.seq} r=${r} />`)}</tbody></table></div>
      ${shown(all).length === 0 && html`<p class="quiet">No records${filter && " match the filter"}.</p>`}`}</${Loaded}>`;
}

// Save saves all records. A page with another origin than the server has no cookie for a link.
function Save() {
  const [save, busy, failed] = useDo(async () => {
    const url = URL.createObjectURL(new Blob([await api.get("/audit")]));
    Object.assign(document.createElement("a"), { href: url, download: "audit.ndjson" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  });
  if (!isApart) return html`<a class="button" href="/audit" download="audit.ndjson">Save as a file</a>`;
  return html`<button type="button" aria-disabled=${busy} onClick=${save}>Save as a file</button>${failure(failed)}`;
}

// words formats the members of an object on one line.
const words = (o) => Object.entries(o ?? {}).map(([k, v]) => `${k} ${v}`).join(", ");

function Row({ r }) {
  const refused = r.data?.refused;
  return html`<tr role="row" class=${refused ? "refused" : ""}><td>${r.seq}</td><td class="nowrap">${plain(String(r.time).replace("T", " ").replace(/\.\d+Z$/, "Z"))}</td>
    <td>${plain(String(r.kind).replaceAll("_", " "))}${refused && html` <strong>refused</strong>`}</td><td>${plain(`${r.actor?.name} (${r.actor?.type})`)}</td>
    <td>${r.run && html`<a href=${hrefOf("runs", r.run)}>${plain(r.run)}</a>`}</td><td class="wrap">${plain([words(r.subject), words(r.data)].filter((t) => t).join("; "))}</td></tr>`;
}
