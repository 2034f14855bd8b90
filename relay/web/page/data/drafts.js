// What was typed and not sent, in this tab: it outlives a reload, and goes when who typed it goes.
const prefix = "concerto-draft ";

function storage() {
  try { return sessionStorage; } catch { return null; } // where it is switched off
}

// draft is what was kept under a name: anything that JSON can say, null for nothing.
export function draft(name) {
  try { return JSON.parse(storage()?.getItem(prefix + name) ?? "null"); } catch { return null; }
}

// keepDraft keeps it, null forgets it.
export function keepDraft(name, value) {
  try {
    if (value === null) storage()?.removeItem(prefix + name);
    else storage()?.setItem(prefix + name, JSON.stringify(value));
  } catch { /* there is no more room: it lasts as long as the page */ }
}

// forgetDrafts leaves none.
export function forgetDrafts() {
  const all = storage();
  for (const key of Object.keys(all ?? {})) if (key.startsWith(prefix)) all.removeItem(key);
}
