// Decisions and inputs that have not been applied: they wait for a connection, or their outcome is
// unexpected.
import { html, plain } from "parts/base.js";
import { clearDone, dropEntry, outbox, outboxText } from "./data/index.js";
import { Icon } from "./icons.js";
import { hrefOf } from "./route.js";

// unsurprising contains the states that are not shown.
const unsurprising = new Set(["applied", "sent", "accepted"]);

export function Outbox() {
  const shown = outbox.value.filter((e) => !unsurprising.has(e.state));
  if (!shown.length) return null;
  return html`<section class="outbox" aria-label="Outbox"><ul>${shown.map((e) => html`<li key=${e.id} data-testid="outbox-entry" data-state=${e.state}>
    <${Icon} name=${e.done ? "ask" : "wait"} />
    <span class="grow"><a href=${hrefOf("runs", e.run_id)}>${plain(e.label)}</a>: ${plain(outboxText(e))}</span>
    <button type="button" onClick=${() => dropEntry(e.id)}>${e.done ? "Clear" : "Cancel"}</button></li>`)}</ul>
    ${shown.filter((e) => e.done).length > 1 && html`<button type="button" onClick=${clearDone}>Clear all finished</button>`}</section>`;
}
