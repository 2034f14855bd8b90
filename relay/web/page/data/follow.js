// All open runs share one connection that transmits their output. The connection of the overview
// transmits no output.
import { effect } from "./signals.js";
import { uuid } from "./ids.js";
import { Link } from "./link.js";
import { sendingOf } from "./outbox.js";
import { session, setExpired } from "./who.js";
import { View } from "./view.js";

const views = new Map();

const link = new Link({
  opened() { for (const v of views.values()) v.connected(); },
  state({ state, why }) {
    if (state !== "online") lost();
    if (state === "ended") setExpired(why);
  },
  frame,
  whole: true,
});

function lost() { for (const v of views.values()) v.lost(); }

function frame(e) {
  if (e.type === "run.caught_up" || e.type === "error") {
    const re = e.re || e.data?.re;
    for (const v of views.values()) {
      if (v.subscription !== re) continue;
      if (e.type === "error") v.refused(e.data.code, e.data.message);
      else v.caughtUp();
    }
    return;
  }
  if (e.seq) views.get(e.run_id)?.handleEvent(e);
}

function follow(view) {
  view.subscription = uuid();
  link.send({ type: "run.subscribe", id: view.subscription, data: { cursor: { [view.id]: view.cursor }, rest: "none" } });
}

// openRun opens a run. Callers that open the same run share a view. Each caller must call close().
export function openRun(id) {
  let v = views.get(id);
  if (!v) {
    v = new View(id, follow, sendingOf(id));
    views.set(id, v);
    if (link.online) v.connected();
    else v.load(); // without waiting for the connection
  }
  v.users++;
  if (session.peek().state === "in") link.start();
  return handle(v);
}

// handle returns the interface of a view for screens.
function handle(v) {
  let open = true;
  return {
    id: v.id, state: v.state, items: v.items, earlier: v.earlier, row: v.row, meta: v.meta, size: v.size, last: v.last, end: v.end,
    loadEarlier: () => v.loadEarlier(), output: (fn) => v.output(fn), onReset: (fn) => v.onReset(fn),
    close() {
      if (!open) return;
      open = false;
      if (--v.users === 0) leave(v);
    },
  };
}

function leave(v) {
  views.delete(v.id);
  link.send({ type: "run.unsubscribe", data: { runs: [v.id] } });
  v.close();
}

// startFollowing stays connected while a user is logged in and a run is open.
export function startFollowing() {
  return effect(() => {
    if (session.value.state === "in") {
      if (views.size) link.start();
      return;
    }
    link.stop();
    lost();
  });
}

// retryFollowing tries to reconnect at once.
export function retryFollowing() { link.retryNow(); }

// reload loads the events of all open runs again.
export function reload() { for (const v of views.values()) v.refused("bad_cursor"); }

// forgetRuns clears all open views.
export function forgetRuns() { for (const v of views.values()) v.forget(); }
