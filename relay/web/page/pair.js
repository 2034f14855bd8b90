// Pairing. The owner enters the code that a machine shows, compares the fingerprint of the machine's key,
// and confirms.
import { html, plain, useEffect, useRef, useState } from "parts/base.js";
import { api, home, loadMachines } from "./data/index.js";
import { failure, useDo } from "./load.js";
import { hrefOf } from "./route.js";
import { Head } from "./shell.js";

// letters formats a code as ABCD-EFGH.
function letters(text) {
  const all = text.toUpperCase().replace(/[^A-Z0-9]/g, "").slice(0, 8);
  return all.length > 4 ? all.slice(0, 4) + "-" + all.slice(4) : all;
}

export function Pair({ code: initialCode }) {
  const [code, setCode] = useState(letters(initialCode));
  const [machine, setMachine] = useState(null); // machine that waits for a pairing with the entered code
  const [made, setMade] = useState(null);
  const [look, looking, failed] = useDo(async () => setMachine(await api.post("/pair/look", { code })));
  useEffect(() => void (code.length === 9 && look()), []);
  if (made) {
    return html`<${Head} title="Paired" back=${hrefOf("hosts")} /><p role="status">${plain(machine.name)} is paired as <code>${plain(made)}</code> and connects automatically.</p>
      <p><a class="button primary" href=${hrefOf("hosts", made)}>Show the machine</a></p>`;
  }
  return html`<${Head} title="Pair a machine" back=${hrefOf("hosts")} />
    ${machine ? html`<${Confirm} code=${code} machine=${machine} onMade=${setMade} onBack=${() => setMachine(null)} />` : html`<form class="panel narrow" onSubmit=${(e) => (e.preventDefault(), look())}>
      <p>On the machine where agents run, run:</p><pre>concerto-relay pair --server ${home}</pre>
      <p>It prints a code of eight letters.</p>
      <label class="field">Code<input class="pair-code" data-testid="pair-code" value=${code} onInput=${(e) => setCode((e.target.value = letters(e.target.value)))} placeholder="ABCD-EFGH" autocapitalize="characters" autocomplete="off" spellcheck=${false} maxlength="9" aria-describedby="pair-failed" /></label>
      <p id="pair-failed" class="failed" role="alert">${failed}</p>
      <button class="primary" data-testid="pair-look" aria-disabled=${looking || code.length < 9}>${looking ? "Looking up …" : "Look up"}</button>
    </form>`}`;
}

function Confirm({ code, machine, onMade, onBack }) {
  const [confirm, busy, failed] = useDo(async () => {
    const made = await api.post("/pair/confirm", { code });
    await loadMachines().catch(() => {}); // the list is loaded again later in any case
    onMade(made.host_id);
  });
  const at = useRef();
  useEffect(() => at.current.focus(), []);
  return html`<section class="panel narrow" aria-label="The machine" tabindex="-1" ref=${at}><dl class="facts"><div><dt>name</dt><dd>${plain(machine.name)}</dd></div><div><dt>address</dt><dd>${plain(machine.address)}</dd></div><div><dt>expires in</dt><dd>${Math.max(1, Math.ceil(machine.expires_in / 60))} min</dd></div></dl>
    <p>Does the machine show the same fingerprint?</p><pre data-testid="pair-fingerprint">${plain(machine.fingerprint)}</pre>
    <p class="quiet">A paired machine sends its runs to this relay and receives your decisions and input.</p>
    ${failure(failed)}
    <div class="bar"><button type="button" class="primary" data-testid="pair-confirm" aria-disabled=${busy} onClick=${confirm}>${busy ? "Pairing …" : "Pair"}</button><button type="button" onClick=${onBack}>Cancel</button></div></section>`;
}
