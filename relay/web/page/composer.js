// The field that writes to a run's terminal.
import { html, plain, useEffect, useRef, useState } from "parts/base.js";
import { draft, hasSecret, keepDraft, lockOf, machines, sendInput, sentence } from "./data/index.js";
import { Icon } from "./icons.js";
import { useKeys } from "./keymap.js";
import { failure } from "./load.js";

const max = 64 << 10; // maximum size of an input in bytes

export function Composer({ run, id }) {
  const name = "input " + id, field = useRef(), [failed, setFailed] = useState(""), [empty, setEmpty] = useState(!draft(name));
  const secret = run.pending?.some(hasSecret); // a password prompt is open
  useKeys({ compose: () => field.current?.focus() });
  if (run.status === "exited") return html`<p class="composer-over quiet">The run has ended.</p>`;
  const lock = lockOf(run.host_id);
  const send = async (event) => {
    event?.preventDefault();
    const text = field.current.value;
    if (new TextEncoder().encode(text).length >= max) return setFailed("The text is longer than 64 KiB. Send it in parts.");
    field.current.value = "";
    keepDraft(name, null);
    setEmpty(true);
    grow();
    try {
      setFailed("");
      await sendInput(id, text + "\n", secret);
    } catch (e) {
      setFailed(sentence(e));
      if (field.current.value) return;
      field.current.value = text;
      typed();
    }
  };
  const grow = () => {
    field.current.style.height = "auto";
    field.current.style.height = Math.min(field.current.scrollHeight + 2, innerHeight * 0.4) + "px";
  };
  const typed = () => {
    secret || keepDraft(name, field.current.value || null);
    setEmpty(!field.current.value);
    grow();
  };
  useEffect(() => field.current?.value && grow(), []);
  const key = (event) => {
    // keyCode 229 means that an input method is composing text, and that Enter accepts its
    // suggestion.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    send(event);
  };
  const machine = machines.value.find((h) => h.id === run.host_id);
  return html`<form class="composer" onSubmit=${send}>
    ${failure(failed)}
    ${lock && html`<p class="quiet" id="composer-lock">${lock}</p>`}
    ${!lock && machine && !machine.online && html`<p class="quiet">${plain(machine.name)} is offline. Your text is sent when it reconnects within 15 minutes.</p>`}
    <div class="composer-row"><textarea ref=${field} data-testid="composer" rows="1" aria-label="Write to the run" aria-describedby=${lock ? "composer-lock" : null} disabled=${!!lock} placeholder="Write to the terminal" defaultValue=${draft(name) ?? ""}
      enterkeyhint="send" autocapitalize="none" spellcheck=${false} onInput=${typed} onKeyDown=${key}></textarea>
      <button class="primary" data-testid="send" type="submit" disabled=${!!lock} aria-label=${empty ? "Send Enter" : "Send"} title=${empty ? "Send only Enter" : "Send"}><${Icon} name="send" /></button></div>
  </form>`;
}
