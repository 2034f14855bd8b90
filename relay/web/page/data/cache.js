// What this browser keeps (IndexedDB): the last events of runs, the outbox, and the overview. Where
// a browser keeps nothing (a private window), all of it lives as long as the tab.
const name = "concerto-relay";
const version = 1;

// How much is kept.
export const eventsKept = 2000; // of a run
export const runsKept = 50;

let opening = null; // a promise of the database; of null where there is none

// keepNothing is for a tab that is not the browser's session: what it sees is kept nowhere.
export function keepNothing() { opening = Promise.resolve(null); }

function open() {
  opening ??= new Promise((resolve) => {
    let request;
    try { request = indexedDB.open(name, version); } catch { resolve(null); return; }
    request.onupgradeneeded = () => make(request.result);
    request.onerror = () => resolve(null);
    request.onsuccess = () => {
      const db = request.result;
      db.onversionchange = () => { db.close(); opening = null; }; // another tab wipes it
      db.onclose = () => { opening = null; };
      resolve(db);
    };
  });
  return opening;
}

function make(db) {
  db.createObjectStore("events", { keyPath: ["run_id", "seq"] });
  db.createObjectStore("runs", { keyPath: "id" });
  db.createObjectStore("outbox", { keyPath: "n", autoIncrement: true });
  db.createObjectStore("meta");
}

// within does something in a transaction, and gives what it gave once that is durable.
async function within(stores, mode, fn, otherwise) {
  const db = await open();
  if (!db) return otherwise;
  return new Promise((resolve, reject) => {
    let t;
    try {
      t = db.transaction(stores, mode, { durability: stores[0] === "outbox" ? "strict" : "default" });
    } catch (err) {
      opening = null; // it was closed under us
      reject(err);
      return;
    }
    let result;
    t.oncomplete = () => resolve(result);
    t.onerror = t.onabort = () => reject(t.error || new Error("the browser's storage refused"));
    fn((x) => { result = x; }, ...stores.map((s) => t.objectStore(s)));
  });
}

// getMeta gives a value by its name; undefined when there is none.
export function getMeta(key) {
  return within(["meta"], "readonly", (done, meta) => { meta.get(key).onsuccess = (e) => done(e.target.result); });
}

export function putMeta(key, value) {
  return within(["meta"], "readwrite", (done, meta) => { meta.put(value, key); });
}

// keepsAnything says whether this browser does.
export async function keepsAnything() { return !!(await open()); }

const ofRun = (run, from = 0) => IDBKeyRange.bound([run, from], [run, Infinity]);

// getEvents gives what is kept of a run: its last events without a hole, in order.
export async function getEvents(run) {
  const all = await within(["events"], "readonly", (done, events) => {
    events.getAll(ofRun(run)).onsuccess = (e) => done(e.target.result);
  }, []);
  return all.slice(holeEnd(all));
}

// holeEnd is where the events begin that follow each other to the end. There are holes where two tabs
// kept what each had.
function holeEnd(all) {
  let i = all.length - 1;
  while (i > 0 && all[i - 1].seq + 1 >= firstOf(all[i])) i--;
  return Math.max(i, 0);
}

// firstOf is the first seq that an event stands for: a gap stands for many.
export function firstOf(e) {
  const from = e.type === "run.gap" ? Number(e.data?.from) : NaN;
  return from >= 1 && from <= e.seq ? from : e.seq;
}

// addEvents keeps events of a run, and no more than the last of them.
export function addEvents(run, added) {
  if (!added.length) return Promise.resolve();
  const last = added[added.length - 1].seq;
  return within(["events", "runs"], "readwrite", (done, events, runs) => {
    for (const e of added) events.put(e);
    if (last > eventsKept) events.delete(IDBKeyRange.bound([run, 0], [run, last - eventsKept]));
    runs.put({ id: run, at: Date.now() });
  });
}

// dropEvents forgets the events of a run.
export function dropEvents(run) {
  return within(["events", "runs"], "readwrite", (done, events, runs) => {
    events.delete(ofRun(run));
    runs.delete(run);
  });
}

// trimRuns forgets the runs that were looked at longest ago.
export function trimRuns() {
  return within(["events", "runs"], "readwrite", (done, events, runs) => {
    runs.getAll().onsuccess = (e) => {
      const old = e.target.result.sort((a, b) => b.at - a.at).slice(runsKept);
      for (const r of old) { events.delete(ofRun(r.id)); runs.delete(r.id); }
    };
  });
}

// The outbox: entries are in the order of n, which the browser gives.
export function getEntries() {
  return within(["outbox"], "readonly", (done, box) => { box.getAll().onsuccess = (e) => done(e.target.result); }, []);
}

// addEntry keeps a new entry, and gives its n; undefined where nothing is kept.
export function addEntry(entry) {
  return within(["outbox"], "readwrite", (done, box) => { box.add(entry).onsuccess = (e) => done(e.target.result); });
}

// putEntry keeps what an entry has become, unless it was taken back.
export function putEntry(entry) {
  return within(["outbox"], "readwrite", (done, box) => {
    box.get(entry.n).onsuccess = (e) => { if (e.target.result) box.put(entry); };
  });
}

export function dropEntry(n) {
  return within(["outbox"], "readwrite", (done, box) => { box.delete(n); });
}

// wipe forgets everything.
export async function wipe() {
  const db = await open();
  if (!db) return;
  db.close();
  opening = null;
  await new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
    request.onblocked = () => {}; // the other tabs close theirs
  });
}
