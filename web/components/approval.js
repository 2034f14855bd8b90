import { html, signal } from "../parts/base.js";
import { ApprovalCard } from "../parts/approval.js";
import { diff, machine, hostile, now, run } from "./samples.js";

// decided is the last decision of the page's cards, for tests.
const decided = signal(null);
window.decided = decided;

const bash = {
  request_id: "r1", run_id: "run_7", reason: "permission", prompt: "Run a command", op_tool: "bash",
  op_args: { cmd: "git push --force-with-lease origin fix/rounding && gh pr create --fill", timeout_s: 120 },
  args_sha256: "3f9a12bc77d0a1", risk: "high", expires_ms: now + 9 * 60_000, from: { kind: "rpc" },
};

const write = {
  request_id: "r2", run_id: "run_7", reason: "permission", prompt: "Write deploy/prod.yaml", op_tool: "rpc.fs.write",
  op_args: { path: "deploy/prod.yaml", bytes: 418, content_preview: "service: billing\n", content_truncated: false }, diff,
  args_sha256: "a1b2c3d4e5f6", risk: "medium", expires_ms: now + 42_000,
};

const long = { ...bash, request_id: "r3", risk: "low", op_args: { cmd: Array.from({ length: 60 }, (_, i) => `echo "step ${i + 1} of 60" >> log.txt`).join("\n") } };

const asks = {
  request_id: "r4", run_id: "run_7", reason: "choice", prompt: "Which branch shall it go to?",
  questions: [
    { id: "branch", question: "Which branch shall it go to?", kind: "choice", required: true, allow_other: true, options: [{ value: "main", label: "main", description: "Deployed within the hour" }, { value: "next", label: "next" }] },
    { id: "note", question: "A note for the reviewers", kind: "text" },
  ],
  from: { kind: "question", file: "release.conc", line: 41 },
};

const card = (request, more = {}) => () => html`<${ApprovalCard} request=${request} run=${run} machine=${machine} now=${now} onDecide=${(decision, extra) => { decided.value = { request: request.request_id, decision, ...extra }; }} onOpen=${() => {}} ...${more} />`;

export const approval = {
  "a command": card(bash),
  "a file": card(write),
  "long arguments": card(long),
  "a question": card(asks),
  armed: card({ ...bash, request_id: "r5" }, { armed: "approve" }),
  "hostile texts": card({ ...bash, request_id: "r6", risk: "high<b>", prompt: hostile, op_tool: hostile, op_args: { [hostile]: hostile, cmd: hostile } }, { run: { ...run, title: hostile }, machine: { name: hostile } }),
  "letters from right to left": card({ ...bash, request_id: "r9", op_args: { cmd: "rm -rf \u05d0/tmp/\u05d1/etc" } }),
  "read only": card(bash, { may: false }),
  deciding: card(bash, { state: { state: "deciding" } }),
  "waiting to send": card(bash, { state: { state: "waiting-to-send", decision: "approve" } }),
  applied: card(bash, { state: { state: "applied", decision: "approve", by: "ann" } }),
  "decided by another": card(bash, { state: { state: "decided-by-other", decision: "deny", by: "bob" } }),
  "arguments changed": card({ ...bash, request_id: "r7", args_sha256: "0badcafe00" }, { state: "args-changed" }),
  rejected: card({ ...asks, request_id: "r8" }, { state: { state: "rejected", error: "The machine does not know that branch.", errors: { branch: "There is no branch next." } } }),
  expired: card(bash, { state: "expired" }),
  withdrawn: card(bash, { state: "withdrawn" }),
};
