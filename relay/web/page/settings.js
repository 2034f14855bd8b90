// Settings: this device, users, tokens and links.
import { html, plain, useEffect, useRef, useState } from "parts/base.js";
import { moment } from "parts/format.js";
import { ApiError, api, can, devices, loadMachines, logout, machines, push, pushOff, pushOn, roles, rpc, runs, sentence, session } from "./data/index.js";
import { lazy } from "./lazy.js";
import { failure, Loaded, useDo, useLoad } from "./load.js";
import { Head } from "./shell.js";
import { applyTheme } from "./theme.js";
import { When } from "./when.js";
import { nameOf } from "./words.js";

const Restore = lazy(() => import("./passkey.js"), "Restore");
const Enrolled = lazy(() => import("./sealed.js"), "Enrolled");

export function Settings() {
  const all = (devices.value ?? []).filter((d) => !d.shared);
  return html`<${Head} title="Settings" />
    <${Me} />${all.length > 0 && html`<${Enrolled} all=${all} />`}${useAbsent() && html`<${Restore} />`}${can("push") && html`<${Push} />`}<${Look} />
    ${can("users") && html`<${Users} />`}
    ${can("tokens") && html`<${Links} /><${Tokens} />`}`;
}

// useAbsent reports whether a machine has an account in which this browser is no device.
function useAbsent() {
  useEffect(() => { loadMachines().catch(() => {}); }, []);
  return crypto.subtle && machines.value.some((m) => m.account && !devices.value?.some((d) => d.account === m.account && !d.problem));
}

function Me() {
  const who = session.value;
  const [leave, busy, failed] = useDo(logout);
  return html`<section class="panel" aria-label="You"><div class="panel-head"><h2>You</h2><button type="button" data-testid="logout" aria-disabled=${busy} onClick=${leave}>Log out</button></div>
    <p>${plain(who.user)}, ${plain(who.role)}${who.runs?.length > 0 && html`, for only ${who.runs.map(plain).join(", ")}`}${who.expires_at && html`<span class="quiet">, until ${moment(who.expires_at)}</span>`}</p>
    <p class="quiet">Logging out deletes the relay’s data from this device, including unsent decisions and input, and ends its enrolment.</p>
    ${failure(failed)}</section>`;
}

const pushes = {
  unsupported: "This browser does not support notifications. On an iPhone or iPad, add this page to the home screen first.",
  denied: "The browser blocks notifications of this page. To allow them, press the icon to the left of the address, set Notifications to Allow (on a phone under Permissions), and reload the page.",
  off: "Get a notification when a run has a request, even when this page is closed. Notifications do not contain arguments.",
  on: "This device gets a notification when a run has a request.",
  busy: "…",
};

function Push() {
  const p = push.value;
  return html`<section class="panel" aria-label="Notifications"><div class="panel-head"><h2>Notifications</h2>
      ${p.state === "off" && html`<button type="button" class="primary" onClick=${pushOn}>Turn on</button>`}${p.state === "on" && html`<button type="button" onClick=${pushOff}>Turn off</button>`}</div>
    <p class="quiet">${pushes[p.state]}</p>${failure(p.error)}</section>`;
}

const themes = [["", "system"], ["light", "light"], ["dark", "dark"], ["contrast", "high contrast"]];

// Look lets the user select the colours. The choice belongs to the device and survives a logout.
function Look() {
  const [theme, set] = useState(localStorage.getItem("theme") ?? "");
  const choose = (to) => {
    set(to);
    if (to) localStorage.setItem("theme", to);
    else localStorage.removeItem("theme");
    applyTheme();
  };
  return html`<section class="panel" aria-label="Colours"><h2>Colours</h2><div class="chips" role="group" aria-label="Colours">${themes.map(([name, label]) => html`<button key=${name} type="button" aria-pressed=${name === theme} onClick=${() => choose(name)}>${label}</button>`)}</div></section>`;
}

// removeAt deletes what has a path, and shows text or why it failed.
const removeAt = (path, text, show) => api.del(path).then(() => show(text), (e) => show(sentence(e)));

function Users() {
  const load = useLoad(() => api.get("/users"), []);
  const form = useRef(), [status, setStatus] = useState("");
  const [put, busy, failed] = useDo(async () => {
    const f = new FormData(form.current), name = f.get("name").trim();
    await api.post("/users", { name, password: f.get("password"), role: f.get("role") });
    form.current.reset();
    setStatus(`${name} can log in.`);
    load.reload();
  });
  const remove = async (name) => {
    if (!confirm(`Remove ${name}? This also ends all sessions and tokens of ${name}.`)) return;
    await removeAt("/users/" + encodeURIComponent(name), `Removed ${name}.`, setStatus);
    load.reload();
  };
  return html`<section class="panel" aria-label="Users"><h2>Users</h2>
    <${Loaded} load=${load} what="users">${(all) => html`<ul class="lines">${all.map((u) => html`<li key=${u.name}><span class="grow">${plain(u.name)}</span><span class="quiet">${plain(u.role)}</span>
      <button type="button" onClick=${() => remove(u.name)} aria-label=${"Remove " + u.name}>Remove</button></li>`)}</ul>`}</${Loaded}>
    <form ref=${form} class="bar" onSubmit=${(e) => (e.preventDefault(), put())} aria-label="Add a user, or change a password or role"><label class="field grow">Name<input name="name" autocomplete="off" autocapitalize="none" required /></label>
      <label class="field grow">Password<input name="password" type="password" autocomplete="new-password" minlength="10" required /></label>
      <label class="field">Role<select name="role">${roles.map((r) => html`<option key=${r}>${r}</option>`)}</select></label><button aria-disabled=${busy}>Add or change</button></form>
    <p role="status" class="quiet">${status}</p>${failure(failed)}</section>`;
}

const spans = [["1 hour", 3600], ["1 day", 86400], ["1 week", 604800]];

// Links creates a link that shows one run to every person who has the link. That of a sealed run
// has the secret with which a browser opens it, which no server receives.
function Links() {
  const run = useRef(), ttl = useRef(), as = useRef(), [link, setLink] = useState("");
  const [make, busy, failed] = useDo(async () => {
    const id = run.current.value, ttl_s = Number(ttl.current.value), role = as.current.value, { host_id, sealed } = runs.value.find((r) => r.id === id);
    if (role === "approver" && !sealed) throw new ApiError({ code: "forbidden", message: "Only a sealed run can be shared with an approver: its machine limits what the link permits." });
    const share = sealed && await (await import("./data/share.js")).makeShare(host_id, id, ttl_s, role);
    const made = await api.post("/tokens", { name: share ? "share " + share.share_id : "link to " + id, role, runs: [id], ttl_s });
    setLink(share ? `${made.page}#/s/${made.token}.${share.secret}/${id}` : made.link);
  });
  return html`<section class="panel" aria-label="Share one run"><h2>Share one run</h2>
    <p class="quiet">Anyone with the link can read this run without an account. With a link that allows decisions, only the first browser that decides can decide again. No link allows input.</p>
    <form class="bar" onSubmit=${(e) => (e.preventDefault(), make())}><label class="field grow">Run<select ref=${run}>${runs.value.map((r) => html`<option key=${r.id} value=${r.id}>${plain(nameOf(r)).slice(0, 80)}</option>`)}</select></label>
      <label class="field">Allows<select ref=${as} data-testid="link-allows"><option value="viewer">reading</option><option value="approver">reading and decisions</option></select></label>
      <label class="field">Expires after<select ref=${ttl}>${spans.map(([label, s]) => html`<option key=${s} value=${s}>${label}</option>`)}</select></label><button data-testid="make-link" aria-disabled=${busy || runs.value.length === 0}>Create the link</button></form>
    ${link && html`<${Secret} label="The link" text=${link} />`}${failure(failed)}</section>`;
}

// Secret shows a secret that is displayed only once.
function Secret({ label, text }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [text]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      setCopied(false); // the user can select the text instead
    }
  };
  return html`<div class="secret" role="status"><p>${label} is shown only once:</p><div class="bar"><input class="grow mono" data-testid="secret" readonly value=${text} aria-label=${label} onFocus=${(e) => e.target.select()} /><button type="button" onClick=${copy}>${copied ? "Copied" : "Copy"}</button></div></div>`;
}

function Tokens() {
  const load = useLoad(() => api.get("/tokens"), []);
  const form = useRef(), [secret, setSecret] = useState(""), [status, setStatus] = useState("");
  const [make, busy, failed] = useDo(async () => {
    const f = new FormData(form.current);
    const made = await api.post("/tokens", { name: f.get("name").trim(), role: f.get("role") });
    setSecret(made.token);
    form.current.reset();
    load.reload();
  });
  const end = async (t) => {
    await removeAt("/tokens/" + encodeURIComponent(t.id), "Revoked. Its connections are closed.", setStatus);
    const [, share_id] = /^token share (s_.+)$/.exec(`${t.kind} ${t.name}`) ?? [], shared = share_id && runs.value.find((r) => t.runs.includes(r.id));
    if (shared) await rpc("rpc.share.end", null, { host_id: shared.host_id, share_id }).catch((e) => setStatus(`Revoked. The machine has not confirmed that the link opens no later events: ${e.message} Run concerto-relay share end ${share_id} when it is online.`));
    load.reload();
  };
  const kinds = { session: "Devices", token: "Tokens and links" };
  return html`<section class="panel" aria-label="Devices and tokens"><h2>Devices and tokens</h2>
    <${Loaded} load=${load} what="devices and tokens">${(all) => Object.entries(kinds).map(([kind, title]) => html`<h3 key=${kind}>${title}</h3><ul class="lines">${all.filter((t) => t.kind === kind).map((t) => html`<${Token} key=${t.id} t=${t} onEnd=${() => end(t)} />`)}</ul>`)}</${Loaded}>
    <form ref=${form} class="bar" onSubmit=${(e) => (e.preventDefault(), make())} aria-label="A new token"><label class="field grow">Name of a new token<input name="name" autocomplete="off" required /></label>
      <label class="field">Role<select name="role">${roles.map((r) => html`<option key=${r}>${r}</option>`)}</select></label><button aria-disabled=${busy}>Create a token</button></form>
    ${secret && html`<${Secret} label="The token" text=${secret} />`}
    <p role="status" class="quiet">${status}</p>${failure(failed)}</section>`;
}

function Token({ t, onEnd }) {
  return html`<li><span class="grow">${plain(t.name || t.user)} <span class="quiet">${plain(t.user)}, ${plain(t.role)}${t.runs.length > 0 && `, for ${plain(t.runs.join(", "))}`}; created <${When} ts=${t.created_at} />, expires ${moment(t.expires_at)}</span></span>
    <button type="button" onClick=${onEnd} aria-label=${`Revoke ${t.name || t.id}`}>Revoke</button></li>`;
}
