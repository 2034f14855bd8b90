// Who is there, and what that one may do.
import { signal } from "./signals.js";

// session says who is logged in. Its states: "unknown" (it is being found out), "out", "in", "ended".
export const session = signal({ state: "unknown" });

// What one may do: the least role that may, and whether a token for some runs may not (whole). The
// server's table (relay/server/auth) is what counts; this one offers nothing in vain.
export const rights = {
  read: ["viewer"],
  hosts: ["viewer", "whole"],
  input: ["operator"],
  decide: ["operator"],
  stop: ["operator"],
  rpc: ["operator"],
  "ask-host": ["operator", "whole"],
  start: ["operator", "whole"],
  tokens: ["owner", "whole"],
  users: ["owner", "whole"],
  "manage-hosts": ["owner", "whole"],
  audit: ["owner", "whole"],
  metrics: ["owner", "whole"],
  push: ["viewer"],
};

const roles = ["viewer", "operator", "owner"];

// can says whether who is logged in may do something.
export function can(what) {
  const { role, runs } = session.value;
  const [least, whole] = rights[what] || [];
  return roles.indexOf(role) >= roles.indexOf(least) && roles.includes(least) && !(whole && runs?.length);
}

// entered notes who is logged in: what GET /auth/me says.
export function entered(me) {
  const { user, role, kind, runs, expires_at } = me;
  const was = session.peek();
  const now = { state: "in", user, role, kind: kind ?? was.kind, runs: runs ?? was.runs ?? [], expires_at: expires_at ?? was.expires_at };
  if (JSON.stringify(now) !== JSON.stringify(was)) session.value = now;
}

// ended notes that the credentials have ended. What is open stays.
export function ended(why) {
  const was = session.peek();
  if (was.state === "in" || (was.state === "unknown" && was.user)) session.value = { ...was, state: "ended", why };
  else if (was.state === "unknown") left();
}

// left notes that nobody is logged in.
export function left(why) { session.value = { state: "out", why }; }
