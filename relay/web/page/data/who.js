// The logged-in user and the user's rights.
import { signal } from "./signals.js";

// session describes which user is logged in. Its states are "unknown" (not determined yet), "out",
// "in" and "ended".
export const session = signal({ state: "unknown" });

// rights contains the minimum role for each action. "whole" means that a token for some runs does
// not allow the action. The server checks rights (relay/server/auth). The page uses this table to
// hide actions that would fail.
export const rights = {
  read: ["viewer"],
  machines: ["viewer", "whole"],
  input: ["operator"],
  decide: ["approver"],
  stop: ["operator"],
  rpc: ["operator"],
  "ask-machine": ["operator", "whole"],
  start: ["operator", "whole"],
  tokens: ["owner", "whole"],
  users: ["owner", "whole"],
  "manage-machines": ["owner", "whole"],
  audit: ["owner", "whole"],
  metrics: ["owner", "whole"],
  push: ["viewer"],
};

// roles lists the roles of users and tokens in ascending order.
export const roles = ["viewer", "approver", "operator", "owner"];

// can reports whether the user may do something.
export function can(what) {
  const { role, runs } = session.value;
  const [least, whole] = rights[what] || [];
  return roles.indexOf(role) >= roles.indexOf(least) && roles.includes(least) && !(whole && runs?.length);
}

// setLoggedIn stores the user that GET /auth/me returns.
export function setLoggedIn(me) {
  const { user, role, kind, runs, expires_at } = me;
  const was = session.peek();
  const now = { state: "in", user, role, kind: kind ?? was.kind, runs: runs ?? was.runs ?? [], expires_at: expires_at ?? was.expires_at };
  if (JSON.stringify(now) !== JSON.stringify(was)) session.value = now;
}

// setExpired records that the credentials have expired. Open screens stay visible.
export function setExpired(why) {
  const was = session.peek();
  if (was.state === "in" || (was.state === "unknown" && was.user)) session.value = { ...was, state: "ended", why };
  else if (was.state === "unknown") setLoggedOut();
}

// setLoggedOut records that no user is logged in.
export function setLoggedOut(why) { session.value = { state: "out", why }; }
