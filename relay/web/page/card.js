// The card of a request, in the inbox and in a run's thread.
import { html, useEffect, useMemo, useState } from "parts/base.js";
import { ApprovalCard } from "parts/approval.js";
import { can, cardState, decide, draft, lockOf, machines, keepDraft, now, requests, run as runOf, sentence, waiting } from "./data/index.js";
import { armed } from "./armed.js";
import { go, hrefOf } from "./route.js";
import { failure } from "./load.js";
import { Unsealed } from "./words.js";

// Card shows a request. If opens is set, the card links to the request's run.
export function Card({ request, opens = false }) {
  const run = runOf(request.run_id).value ?? { id: request.run_id, title: request.title, tool: request.tool, cwd: request.cwd, host_id: request.host_id };
  const machine = machines.value.find((h) => h.id === request.host_id) ?? { id: request.host_id, name: request.host_id };
  const [failed, setFailed] = useState("");
  const twins = requests.value.filter((q) => q.run_id === request.run_id && q.prompt === request.prompt);
  const at = useNow(request);
  const typed = useMemo(() => drafts(request), [request.key, request.seq, request.args_sha256]);
  // A sealed request can be denied, but not approved, until its machine has confirmed it.
  const may = can("decide"), lock = lockOf(request.host_id), state = cardState(request), wait = may && !lock && state.state === "open" && waiting.value.get(request.key);
  const onDecide = async (decision, more) => {
    armed.value = null;
    setFailed("");
    try {
      await decide(request, decision, more);
      typed.save(null);
    } catch (e) {
      setFailed(sentence(e));
    }
  };
  return html`<${Unsealed} run=${run} />
    <${ApprovalCard} request=${request} run=${run} machine=${machine} now=${at} nth=${twins.length > 1 && `${twins.findIndex((q) => q.key === request.key) + 1} of ${twins.length}`} state=${state} may=${may} lock=${lock || wait} typed=${typed}
      armed=${armed.value?.key === request.key ? armed.value.decision : null} onDecide=${onDecide} onOpen=${opens ? () => go(hrefOf("runs", request.run_id)) : null} />
    ${wait && html`<button class="danger waits" onClick=${() => onDecide("deny")}>Deny</button>`}
    ${failure(failed)}`;
}

// drafts contains the text that the user has typed as answers to a request's questions.
function drafts({ key, seq, args_sha256 }) {
  const name = ["answer", key, seq, args_sha256].join(" ");
  return { load: () => draft(name), save: (states) => keepDraft(name, states) };
}

// useNow returns the server's time and updates it: every second if the request expires soon, and
// otherwise every 15 seconds.
function useNow(request) {
  const [at, set] = useState(now());
  useEffect(() => {
    if (!request.expires_ms) return;
    const timer = setInterval(() => set(now()), request.expires_ms - now() < 120_000 ? 1000 : 15_000);
    return () => clearInterval(timer);
  }, [request.expires_ms, request.expires_ms - at < 120_000]);
  return at;
}
