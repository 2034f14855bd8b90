// The screens, as data: what each is called, where its letter leads, and who may see it.
import { can } from "./data/index.js";
import { Audit } from "./audit.js";
import { Hosts } from "./hosts.js";
import { Inbox } from "./inbox.js";
import { Runs } from "./runs.js";
import { Settings } from "./settings.js";
import { Start } from "./start.js";

export const screens = [
  { name: "inbox", label: "Inbox", icon: "inbox", key: "i", needs: "read", show: Inbox },
  { name: "runs", label: "Runs", icon: "runs", key: "r", needs: "read", show: Runs },
  { name: "hosts", label: "Hosts", icon: "hosts", key: "h", needs: "hosts", show: Hosts },
  { name: "start", label: "Start", icon: "start", key: "s", needs: "start", show: Start },
  { name: "audit", label: "Audit", icon: "audit", key: "a", needs: "audit", seldom: true, show: Audit },
  { name: "settings", label: "Settings", icon: "settings", key: ",", needs: "read", seldom: true, show: Settings },
];

// reachable are those that one may see: what one may not do is not offered.
export const reachable = () => screens.filter((s) => can(s.needs));
