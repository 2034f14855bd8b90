// The table of routes: names, keys and required rights.
import { can } from "./data/index.js";

export const routes = [
  { name: "inbox", label: "Inbox", icon: "inbox", key: "i", needs: "read" },
  { name: "runs", label: "Runs", icon: "runs", key: "r", needs: "read" },
  { name: "history", label: "History", icon: "history", key: "d", needs: "read", seldom: true },
  { name: "hosts", label: "Machines", icon: "hosts", key: "h", needs: "machines" },
  { name: "start", label: "Start", icon: "start", key: "s", needs: "start" },
  { name: "audit", label: "Audit", icon: "audit", key: "a", needs: "audit", seldom: true },
  { name: "settings", label: "Settings", icon: "settings", key: ",", needs: "read", seldom: true },
];

// reachable returns the routes that the user is allowed to see.
export const reachable = () => routes.filter((r) => can(r.needs));
