// The terminal of a run. It sends keys to the run one by one.
import { html, useRef } from "parts/base.js";
import { Terminal } from "parts/terminal.js";
import { can, lockOf, resize, sendKeys } from "./data/index.js";

export function TerminalTab({ run, id, view }) {
  const open = run.status !== "exited" && run.status !== "lost", lock = lockOf(run.host_id), types = open && can("input") && !lock;
  const attach = useRef(({ write, reset }) => {
    const ends = [view.onReset(reset), view.output(({ text }) => write(text))];
    return () => ends.forEach((end) => end());
  });
  // The terminal sends Tab to its tool. F6 therefore moves the focus out of the terminal.
  const leave = (e) => {
    if (e.key !== "F6") return;
    e.preventDefault();
    e.stopPropagation();
    document.querySelector("[role=tab][aria-selected=true]")?.focus();
  };
  return html`<div class="terminal-tab" onKeyDownCapture=${leave}>${types && html`<p class="quiet hint">Your keys go to the tool. Press F6 to leave the terminal.</p>`}${!types && html`<p class="quiet">${open && lock ? lock : open ? "You can watch this terminal but not type." : "The run has ended. This is its last screen."}</p>`}
    <${Terminal} attach=${attach.current} onKeys=${types ? (keys) => sendKeys(id, keys) : null} onResize=${types ? (cols, rows) => resize(id, cols, rows) : null} size=${view.size.value} label="The run's terminal" /></div>`;
}
