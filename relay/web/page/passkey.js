// The screens of passkeys: the choice at an enrolment, and the restoration of a device.
import { html, plain, useEffect, useState } from "parts/base.js";
import { createKeys, isSupported, remove, restore, stored } from "./data/passkey.js";
import { failure, useDo, useLoad } from "./load.js";

// failures contains a sentence with the next step for each code.
const failures = {
  __proto__: null,
  no_prf: "This passkey cannot protect keys. Use another one, or enrol without a passkey.",
  unknown_device: "An owner has removed this device. Run concerto-relay devices add on the machine.",
  bad_signature: "The server has other keys than the passkey protects. Run concerto-relay devices add on the machine.",
};

const failureOf = (err) => failures[err.code] ?? (err.name === "NotAllowedError" ? "The passkey was not used. Try again." : err.message);

async function explained(act) {
  try {
    return await act();
  } catch (err) {
    throw Object.assign(new Error(failureOf(err)), { code: "passkey" });
  }
}

// Choice lets the user create a passkey with a device. It sets make.current to the function that
// creates the keys, or to undefined.
export function Choice({ make }) {
  const [offered, setOffered] = useState(false);
  useEffect(() => { isSupported().then(setOffered, () => {}); }, []);
  const choose = (e) => (make.current = e.target.checked ? (...of) => explained(() => createKeys(...of)) : undefined);
  return offered && html`<label class="check"><input type="checkbox" data-testid="join-passkey" onChange=${choose} /> Create a passkey, with which a browser that has lost its storage becomes this device again</label>`;
}

// Restore makes this browser the device of a passkey again, if the user has one.
export function Restore() {
  const load = useLoad(stored, []);
  const [use, busy, failed] = useDo((...of) => explained(() => restore(...of)).then(load.reload));
  const [drop, , kept] = useDo((account, list) => Promise.all(list.map((p) => remove(account, p.device))).then(load.reload));
  return load.value?.map(([account, list]) => html`<section key=${account} class="panel" aria-label="Your passkey"><div class="panel-head"><h2>This browser is not enrolled</h2><button type="button" class="primary" data-testid="use-passkey" aria-disabled=${busy} onClick=${() => use(account, list)}>Use your passkey</button></div>
    <p class="quiet">It becomes the device again with which the passkey was created, in the account <span class="mono wrap">${plain(account)}</span>. Only one browser can be that device: machines refuse the others.</p>${failure(failed || kept)}<button type="button" data-testid="remove-passkey" onClick=${() => drop(account, list)}>Remove it from the server</button></section>`);
}
