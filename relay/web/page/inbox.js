// The inbox: all open requests. The user can decide them here.
import { html } from "parts/base.js";
import { requests, requestsState } from "./data/index.js";
import { Card } from "./card.js";
import { Icon } from "./icons.js";
import { useCards } from "./cards.js";
import { Decisions, useDecisions } from "./history.js";
import { hrefOf } from "./route.js";
import { Head } from "./shell.js";
import { failure } from "./load.js";

export function Inbox() {
  const open = requests.value, state = requestsState.value;
  const { box, selected, select } = useCards(open);
  return html`<${Head} title="Inbox"><span class="quiet">${open.length === 0 ? "" : open.length === 1 ? "1 open request" : `${open.length} open requests`}</span></${Head}>
    ${failure(state.error)}
    ${state.loading && open.length === 0 && html`<p class="quiet" role="status">Loading …</p>`}
    ${!state.loading && open.length === 0 && html`<div class="empty calm"><${Icon} name="ok" /><p>No open requests.</p><p class="quiet">New requests appear here.</p></div>`}
    <ol class="requests" ref=${box} aria-label="Open requests">${open.map((q) => html`<li key=${q.key} class=${q.key === selected ? "selected" : ""} data-key=${q.key} onFocusIn=${() => select(q.key)}><${Card} request=${q} opens /></li>`)}</ol>
    <${Over} />`;
}

// Over lists recent decisions, so that a card does not disappear without an explanation.
function Over() {
  const rows = useDecisions("limit=10").value?.decisions;
  if (!rows?.length) return null;
  return html`<section class="over" aria-label="Recent decisions"><div class="panel-head"><h2>Recent decisions</h2><a class="button" href=${hrefOf("history")}>All decisions</a></div><${Decisions} rows=${rows} /></section>`;
}
