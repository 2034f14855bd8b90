// The browser's storage (IndexedDB) for the last events of runs, the outbox, the overview,
// and the keys of this browser. In a browser without storage (a private window) the data is lost when
// the tab is closed.
const name = "concerto-relay";
const version = 2;

// Limits of the storage.
export const maxEvents = 2000; // maximum number of events of one run
export const maxRuns = 50;

let opening = null; // promise of the database, or of null if there is none; null before the first use

let enabled = null; // names of the stores that this tab uses; null means all

// disableCache disables the storage for a tab that does not use the browser's session, except the
// stores that the first call names.
export function disableCache(...stores) { enabled ??= stores; }

function open() {
  opening ??= new Promise((resolve) => {
    let request;
    try { request = indexedDB.open(name, version); } catch { resolve(null); return; }
    request.onupgradeneeded = (e) => make(request.result, e.oldVersion);
    request.onerror = () => resolve(null);
    request.onsuccess = () => {
      const db = request.result;
      db.onversionchange = () => { db.close(); opening = null; }; // another tab deletes the database
      db.onclose = () => { opening = null; };
      resolve(db);
    };
  });
  return opening;
}

function make(db, old) {
  if (old < 1) {
    db.createObjectStore("events", { keyPath: ["run_id", "seq"] });
    db.createObjectStore("runs", { keyPath: "id" });
    db.createObjectStore("outbox", { keyPath: "n", autoIncrement: true });
    db.createObjectStore("meta");
  }
  db.createObjectStore("devices", { keyPath: "account" });
  db.createObjectStore("counters");
}

// within runs fn in a transaction and returns its result once the transaction is durable.
export async function within(stores, mode, fn, otherwise) {
  const db = enabled?.includes(stores[0]) === false ? null : await open();
  if (!db) return otherwise;
  return new Promise((resolve, reject) => {
    let t;
    try {
      t = db.transaction(stores, mode, { durability: stores[0] === "outbox" ? "strict" : "default" });
    } catch (err) {
      opening = null; // the browser has closed the database
      reject(err);
      return;
    }
    let result;
    t.oncomplete = () => resolve(result);
    t.onerror = t.onabort = () => reject(t.error || new Error("the browser's storage refused"));
    fn((x) => { result = x; }, ...stores.map((s) => t.objectStore(s)));
  });
}

// getMeta returns a value by its name, or undefined.
export function getMeta(key) {
  return within(["meta"], "readonly", (done, meta) => { meta.get(key).onsuccess = (e) => done(e.target.result); });
}

export function putMeta(key, value) {
  return within(["meta"], "readwrite", (done, meta) => { meta.put(value, key); });
}

// isEnabled reports whether this browser has storage.
export async function isEnabled() { return !enabled && !!(await open()); }

const ofRun = (run, from = 0) => IDBKeyRange.bound([run, from], [run, Infinity]);

// getEvents returns the last stored events of a run that have no gap between them, in order.
export async function getEvents(run) {
  const all = await within(["events"], "readonly", (done, events) => {
    events.getAll(ofRun(run)).onsuccess = (e) => done(e.target.result);
  }, []);
  return all.slice(holeEnd(all));
}

// holeEnd returns the index of the first event after the last gap. A gap occurs if two tabs each
// store the events that they have received.
function holeEnd(all) {
  let i = all.length - 1;
  while (i > 0 && all[i - 1].seq + 1 >= firstOf(all[i])) i--;
  return Math.max(i, 0);
}

// firstOf returns the sequence number of the first event that an event represents. A gap event
// represents many events.
export function firstOf(e) {
  const from = e.type === "run.gap" ? Number(e.data?.from) : NaN;
  return from >= 1 && from <= e.seq ? from : e.seq;
}

// addEvents stores events of a run and deletes the oldest beyond the limit.
export function addEvents(run, added) {
  if (!added.length) return Promise.resolve();
  const last = added[added.length - 1].seq;
  return within(["events", "runs"], "readwrite", (done, events, runs) => {
    for (const e of added) events.put(e);
    if (last > maxEvents) events.delete(IDBKeyRange.bound([run, 0], [run, last - maxEvents]));
    runs.put({ id: run, at: Date.now() });
  });
}

// dropEvents deletes the events of a run.
export function dropEvents(run) {
  return within(["events", "runs"], "readwrite", (done, events, runs) => {
    events.delete(ofRun(run));
    runs.delete(run);
  });
}

// trimRuns deletes the runs that were opened longest ago.
export function trimRuns() {
  return within(["events", "runs"], "readwrite", (done, events, runs) => {
    runs.getAll().onsuccess = (e) => {
      const old = e.target.result.sort((a, b) => b.at - a.at).slice(maxRuns);
      for (const r of old) { events.delete(ofRun(r.id)); runs.delete(r.id); }
    };
  });
}

// The outbox. Entries are ordered by n, a number that the browser assigns.
export function getEntries() {
  return within(["outbox"], "readonly", (done, box) => { box.getAll().onsuccess = (e) => done(e.target.result); }, []);
}

// addEntry stores a new entry and returns its n, or undefined without storage.
export function addEntry(entry) {
  return within(["outbox"], "readwrite", (done, box) => { box.add(entry).onsuccess = (e) => done(e.target.result); });
}

// putEntry stores the new state of an entry, unless the entry has been removed.
export function putEntry(entry) {
  return within(["outbox"], "readwrite", (done, box) => {
    box.get(entry.n).onsuccess = (e) => { if (e.target.result) box.put(entry); };
  });
}

export function dropEntry(n) {
  return within(["outbox"], "readwrite", (done, box) => { box.delete(n); });
}

// wipe deletes all stored data.
export async function wipe() {
  const db = enabled ? null : await open();
  if (!db) return;
  db.close();
  opening = null;
  await new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
    request.onblocked = () => {}; // the other tabs close the database in onversionchange
  });
}
