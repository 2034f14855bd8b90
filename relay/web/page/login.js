// The login, and the creation of the first owner of a server without users (/setup#CODE).
import { html, useEffect, useRef, useState } from "parts/base.js";
import { login, session, setUp } from "./data/index.js";
import { Icon } from "./icons.js";

// Login shows the form for name and password. The address of the open screen stays unchanged.
export function Login() {
  const ended = session.value.state === "ended" && (session.value.why || "Your session has expired. This page keeps its state.");
  return html`<${Door} title=${ended ? "Log in again" : "Log in"} action="Log in" busy="Logging in …" enter=${login} autocomplete="current-password">
    ${ended && html`<p class="note">${ended}</p>`}
  </${Door}>`;
}

// SetUp creates the first owner.
export function SetUp() {
  const code = location.hash.slice(1);
  const enter = async (name, password) => {
    await setUp(code, name, password);
    location.replace("/");
  };
  return html`<${Door} title="Set up the relay" action="Create the owner" busy="Creating the owner …" enter=${enter} autocomplete="new-password" least=${10}>
    <p class="note">The owner can do everything. The password needs at least 10 characters.</p>
    ${!code && html`<p class="failed">The link is incomplete. Open the whole link that the server printed.</p>`}
  </${Door}>`;
}

function Door({ title, action, busy, enter, autocomplete, least = 1, children }) {
  const [failed, setFailed] = useState("");
  const [going, setGoing] = useState(false);
  const name = useRef(), password = useRef();
  useEffect(() => name.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    if (going) return;
    if (!name.current.value) return setFailed("Enter your name."), name.current.focus();
    if (password.current.value.length < least) return setFailed(least > 1 ? `The password needs at least ${least} characters.` : "Enter your password."), password.current.focus();
    setGoing(true);
    setFailed("");
    try {
      await enter(name.current.value, password.current.value);
    } catch (e) {
      setFailed(e.message);
      setGoing(false);
      password.current?.select();
    }
  };
  return html`<main class="door">
    <form onSubmit=${submit} novalidate>
      <p class="brand"><${Icon} name="live" />Concerto relay</p>
      <h1>${title}</h1>
      ${children}
      <label class="field">Name<input ref=${name} data-testid="login-user" autocomplete="username" autocapitalize="none" spellcheck=${false} required /></label>
      <label class="field">Password<input ref=${password} data-testid="login-pass" type="password" autocomplete=${autocomplete} required aria-describedby="login-failed" /></label>
      <p id="login-failed" class="failed" role="alert">${failed}</p>
      <button class="primary wide" data-testid="login-submit" type="submit" aria-disabled=${going}>${going ? busy : action}</button>
    </form>
  </main>`;
}
