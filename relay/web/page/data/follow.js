// The runs that are looked at share a connection of their own, which carries their output: the one of
// the overview goes without.
import { effect } from "./signals.js";
import { uuid } from "./ids.js";
import { Link } from "./link.js";
import { sendingOf } from "./outbox.js";
import { ended, session } from "./who.js";
import { View } from "./view.js";

const views = new Map();

const link = new Link({
  opened() { for (const v of views.values()) v.connected(); },
  state({ state, why }) {
    if (state !== "online") lost();
    if (state === "ended") ended(why);
  },
  frame,
});

function lost() { for (const v of views.values()) v.lost(); }

function frame(e) {
  if (e.type === "run.caught_up" || e.type === "error") {
    const re = e.re || e.data?.re;
    for (const v of views.values()) {
      if (v.asked !== re) continue;
      if (e.type === "error") v.refused(e.data.code, e.data.message);
      else v.caughtUp();
    }
    return;
  }
  if (e.seq) views.get(e.run_id)?.heard(e);
}

function follow(view) {
  view.asked = uuid();
  link.send({ type: "run.subscribe", id: view.asked, data: { cursor: { [view.id]: view.cursor }, rest: "none" } });
}

// openRun looks at a run; two who look share a view. Each calls its close().
export function openRun(id) {
  let v = views.get(id);
  if (!v) {
    v = new View(id, follow, sendingOf(id));
    views.set(id, v);
    if (link.online) v.connected();
    else v.load(); // at once, not after the connection
  }
  v.users++;
  if (session.peek().state === "in") link.start();
  return handle(v);
}

// handle is a view as screens have it.
function handle(v) {
  let open = true;
  return {
    id: v.id, state: v.state, items: v.items, earlier: v.earlier, row: v.row, meta: v.meta, size: v.size, last: v.last,
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

// keepFollowing connects while somebody is logged in and looks at something.
export function keepFollowing() {
  return effect(() => {
    if (session.value.state === "in") {
      if (views.size) link.start();
      return;
    }
    link.stop();
    lost();
  });
}

// retryFollowing does not wait for the next try.
export function retryFollowing() { link.retryNow(); }

// forgetRuns empties what is looked at.
export function forgetRuns() { for (const v of views.values()) v.forget(); }
