// The screens of signed commands: the devices of this browser, and the commands that a machine has
// refused.
import { html, plain, useState } from "parts/base.js";
import { devices, loadSeal } from "./data/index.js";
import { Icon } from "./icons.js";
import { failure, useDo } from "./load.js";

const { forgetDevice, refusalOf } = await loadSeal();

// Enrolled lists the devices of this browser.
export function Enrolled({ all }) {
  return html`<section class="panel" aria-label="This browser’s devices"><h2>This browser’s devices</h2><ul class="lines">${all.map((d) => html`<${Device} key=${d.account} device=${d} />`)}</ul></section>`;
}

const problems = { roster_fork: "This account has two lists of devices.", unknown_device: "An owner has removed this device." };

function Device({ device: d }) {
  const [sure, setSure] = useState(false);
  const [forget, busy, failed] = useDo(() => forgetDevice(d.account));
  return html`<li data-testid="device"><div class="grow"><b dir="auto">${plain(d.name)}</b>${d.temporary && html` <span class="quiet">(temporary, until this tab is closed)</span>`}${d.problem && html` <span class="failed">${problems[d.problem]}</span>`}
      <dl class="facts"><div><dt>device</dt><dd class="mono wrap">${d.id}</dd></div><div><dt>account</dt><dd class="mono wrap">${d.account}</dd></div></dl>
      ${sure && html`<p role="alert">Forget this device? This browser can then no longer decide. Remove the device on the machine too: <code>concerto-relay devices remove</code></p>`}${failure(failed)}
      ${sure ? html`<div class="bar"><button type="button" class="danger" data-testid="forget-yes" aria-disabled=${busy} onClick=${forget}>Forget</button><button type="button" onClick=${() => setSure(false)}>Cancel</button></div>` : html`<button type="button" data-testid="forget" onClick=${() => setSure(true)}>Forget this device</button>`}</div></li>`;
}

// Refused shows a command that a machine has refused, or events that the server has changed.
export function Refused({ item: { data: d, ts } }) {
  if (d.code === "changed") return html`<p class="event tone-bad" data-testid="changed"><${Icon} name="bad" /><span class="grow">The server changed or withheld ${d.from === d.to ? `event ${d.from}` : `events ${d.from} to ${d.to}`}.</span></p>`;
  const [what, why] = refusalOf(d.reason, d.action), mine = devices.value?.find((x) => x.id === d.device);
  const user = devices.value?.find((x) => x.users[d.device])?.users[d.device];
  const who = mine ? "this browser, " : user ? `a device of ${user}, ` : "";
  const at = new Date(ts).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return html`<p class="event tone-bad" data-testid="refused"><${Icon} name="bad" /><span class="grow">Refused: ${plain(what)} (${plain(who)}${at}). ${plain(why)}</span></p>`;
}
