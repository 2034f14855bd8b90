// The interface of the page's data layer for screens.
import { cardOf, lastFor } from "./card.js";
import { conn } from "./main.js";
import { settled } from "./store.js";

export { api, home, isApart } from "./api.js";
export { outboxText } from "./card.js";
export { machineClock, now } from "./clock.js";
export { resize, sendKeys, startRun, stopRun } from "./commands.js";
export { devices, load as loadSeal, lockOf, unsealed, waiting } from "./devices.js";
export { draft, keepDraft } from "./drafts.js";
export { ApiError, RpcError, sentence } from "./errors.js";
export { openRun } from "./follow.js";
export { machines, loadMachines, watchMachines } from "./machines.js";
export { conn, login, logout, onNotice, retryNow, setUp, start, stop, useToken } from "./main.js";
export { clearDone, decide, dropEntry, hasSecret, outbox, sendInput } from "./outbox.js";
export { push, pushOff, pushOn } from "./push.js";
export { rpc } from "./rpc.js";
export { loadMoreRuns, newRequest, onEvent, requests, requestsState, run, runs, runsState, settled } from "./store.js";
export { can, roles, session } from "./who.js";
export { applyUpdate, onOpen, update } from "./worker.js";

// cardState returns the state of a request's card: {state, by?, decision?, error?, errors?}.
export function cardState(request) {
  const closed = request.resolution ? null : settled.value.find((q) => q.key === request.key && q.seq === request.seq);
  return cardOf(closed || request, lastFor(request), conn.value.state === "online");
}
