// Text that the user has typed in this tab and not sent. It survives a reload and is deleted at
// logout.
import { storage } from "./api.js";

const prefix = "concerto-draft ";

// draft returns the JSON value that is stored under a name, or null if there is none.
export function draft(name) {
  try { return JSON.parse(storage()?.getItem(prefix + name) ?? "null"); } catch { return null; }
}

// keepDraft stores a value under a name. null deletes the stored value.
export function keepDraft(name, value) {
  try {
    if (value === null) storage()?.removeItem(prefix + name);
    else storage()?.setItem(prefix + name, JSON.stringify(value));
  } catch { /* there is no more room: it lasts as long as the page */ }
}

// forgetDrafts deletes all drafts.
export function forgetDrafts() {
  const all = storage();
  for (const key of Object.keys(all ?? {})) if (key.startsWith(prefix)) all.removeItem(key);
}
