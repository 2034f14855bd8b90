// The confirmation that the page has all events of a run, for its head.
import { html, plain, useEffect, useState } from "parts/base.js";
import { watchEnd } from "./data/beat.js";
import { machines } from "./data/index.js";

// Confirmed shows until when the run's machine has confirmed that the page has all events.
export function Confirmed({ run: { id, host_id: host }, view }) {
  const [at, confirm] = useState(0);
  useEffect(() => {
    confirm(0);
    return watchEnd(host, id, view, confirm);
  }, [host, id, view]);
  if (!at) return null;
  const name = machines.value.find((m) => m.id === host)?.name ?? host;
  return html`<p class="quiet" data-testid="confirmed">Confirmed by ${plain(name)} until ${new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</p>`;
}
