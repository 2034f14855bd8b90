// The uncommitted changes in a run's directory, from git.
import { html, plain } from "parts/base.js";
import { Diff } from "parts/diff.js";
import { rpc } from "./data/index.js";
import { Loaded, useLoad } from "./load.js";

export function DiffTab({ id }) {
  const load = useLoad(async () => {
    try {
      const [status, diff] = await Promise.all([rpc("rpc.git.status", id, {}), rpc("rpc.git.diff", id, {})]);
      return { status, diff };
    } catch (e) {
      if (/not a git repository/.test(e.message)) return {};
      throw e;
    }
  }, [id]);
  return html`<div class="scroll-tab"><div class="bar"><p class="grow quiet">Uncommitted changes in the run's directory.</p><button type="button" onClick=${load.reload} aria-disabled=${load.busy}>Refresh</button></div>
    <${Loaded} load=${load} what="the changes">${({ status, diff }) => (status ? html`
      ${status.stdout.trim() ? html`<pre class="log" aria-label="git status" tabindex="0">${plain(status.stdout)}</pre>` : html`<p>No changes.</p>`}
      ${diff.stdout && html`<${Diff} text=${diff.stdout} />`}
      ${(status.truncated || diff.truncated) && html`<p class="failed" role="note">Only the first 400,000 bytes are shown.</p>`}` : html`<div class="empty"><p>The run's directory is not in a git repository, so that its changes are unknown.</p></div>`)}</${Loaded}></div>`;
}
