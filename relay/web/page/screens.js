// The screens, as data: what each is called, where its letter leads, and who may see it.
import { lazy } from "./lazy.js";
import { can } from "./data/index.js";

export const screens = [
  { name: "inbox", label: "Inbox", icon: "inbox", key: "i", needs: "read", show: lazy(() => import("./inbox.js"), "Inbox") },
  { name: "runs", label: "Runs", icon: "runs", key: "r", needs: "read", show: lazy(() => import("./runs.js"), "Runs") },
  { name: "hosts", label: "Hosts", icon: "hosts", key: "h", needs: "hosts", show: lazy(() => import("./hosts.js"), "Hosts") },
  { name: "start", label: "Start", icon: "start", key: "s", needs: "start", show: lazy(() => import("./start.js"), "Start") },
  { name: "audit", label: "Audit", icon: "audit", key: "a", needs: "audit", seldom: true, show: lazy(() => import("./audit.js"), "Audit") },
  { name: "settings", label: "Settings", icon: "settings", key: ",", needs: "read", seldom: true, show: lazy(() => import("./settings.js"), "Settings") },
];

// reachable are those that one may see: what one may not do is not offered.
export const reachable = () => screens.filter((s) => can(s.needs));
