// The data layer as a whole: the session, the connection of the overview, and what depends on both.
import { api, byLink, call, onUnauthorized, setToken, token } from "./api.js";
import { getMeta, keepNothing, putMeta, trimRuns, wipe } from "./cache.js";
import { clockDiffers, clockMs } from "./clock.js";
import * as commands from "./commands.js";
import { forgetDrafts } from "./drafts.js";
import { ApiError, sentence } from "./errors.js";
import { forgetRuns, keepFollowing, retryFollowing } from "./follow.js";
import { forgetHosts } from "./hosts.js";
import { Link } from "./link.js";
import * as box from "./outbox.js";
import { forgetPush, lookAtPush } from "./push.js";
import * as calls from "./rpc.js";
import { computed, signal } from "./signals.js";
import * as store from "./store.js";
import { closeTabs, onTold, openTabs, tell } from "./tabs.js";
import { ended, entered, left, session } from "./who.js";
import { forgetWorker, register } from "./worker.js";

const refreshEach = 60_000; // ms; no event reports a lost run
const retryRefresh = 3_000;
const sayAgain = 3_000;
const owed = "concerto-logout"; // in localStorage: a logout that the server has not received

const linkState = signal({ state: "offline" });

// conn is the state of the connection.
export const conn = computed(() => ({ ...linkState.value, clock_ms: clockMs.value, clock_differs: clockDiffers() }));

const noticed = new Set();

// onNotice calls fn({level, text, run_id?}) for messages to show as notifications.
export function onNotice(fn) {
  noticed.add(fn);
  return () => noticed.delete(fn);
}

let lately = { text: "", at: 0 };

function notice(level, text, run_id) {
  if (lately.text === text && Date.now() - lately.at < sayAgain) return; // not for every key
  lately = { text, at: Date.now() };
  for (const fn of noticed) fn({ level, text, run_id });
}

const link = new Link({
  opened(welcome) {
    if (welcome.user) arrived({ user: welcome.user, role: welcome.role });
    store.begin();
    link.ask({ type: "run.subscribe", data: { cursor: {}, rest: "live", output: false } }).then(refresh, () => {});
    box.connected((message, is) => link.ask(message, is));
    calls.askAgain();
  },
  frame(e) {
    if (calls.answered(e)) return;
    if (e.type === "command.state") box.told(e.data);
    else if (e.type === "error" && (e.re || e.data?.re) === commands.unasked) return;
    else if (e.type === "error") notice("error", sentence(new ApiError({ ...e.data })), e.run_id || e.data?.run_id);
    else store.heard(e);
  },
  state(s) {
    linkState.value = s;
    if (s.state !== "online") box.connected(null);
    if (s.state === "ended") over(s.why);
  },
});

commands.useLink(link);
calls.useLink(link);

let refreshing = 0;

async function refresh() {
  clearTimeout(refreshing);
  const fine = await store.refresh();
  if (link.online) refreshing = setTimeout(refreshSoon, fine ? refreshEach : retryRefresh);
}

function refreshSoon() {
  if (!link.online) return;
  if (document.visibilityState === "visible" || store.runsState.peek().error) refresh();
  else refreshing = setTimeout(refreshSoon, refreshEach);
}

let started = false;
let stopFollowing = () => {};

// start shows the stored data, determines who is logged in, and connects.
export async function start() {
  if (started) return;
  started = true;
  if (byLink()) keepNothing();
  openTabs();
  onTold(told);
  onUnauthorized(() => over("Your session has expired. Log in again."));
  store.onEvent(box.seen);
  stopFollowing = keepFollowing();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") store.keep();
    else if (link.online) refresh();
  });
  const registered = register();
  await payLogout();
  await restore();
  await box.openBox((run) => store.refreshRequests(run).catch(() => {}));
  trimRuns().catch(() => {});
  await findOut();
  registered.then(lookAt).catch(() => {});
}

const lookAt = () => lookAtPush(session.peek().state === "in" && !byLink());

// stop closes all connections.
export function stop() {
  started = false;
  clearTimeout(refreshing);
  link.stop();
  stopFollowing();
  closeTabs();
}

// restore shows what this browser has stored of the last user.
async function restore() {
  const me = await getMeta("me").catch(() => null);
  if (!me || session.peek().state === "in") return;
  session.value = { ...me, state: "unknown" };
  await store.restore().catch(() => {});
}

// findOut asks the server who is logged in. Without a connection the stored data stays visible.
async function findOut() {
  try {
    await arrived(await api.get("/auth/me", { quiet: true }));
  } catch (err) {
    if (err.status === 401) { over("Log in again."); return; }
    const known = session.peek().user;
    session.value = { ...session.peek(), state: known ? "in" : "unknown", why: sentence(err) };
  }
  link.start();
}

// arrived records the user. It deletes the data of another user.
async function arrived(me) {
  const before = session.peek().user ?? (await getMeta("me").catch(() => null))?.user;
  if (before && before !== me.user) await forget();
  entered(me);
  const { state, why, ...keep } = session.peek();
  putMeta("me", keep).catch(() => {});
}

// over ends everything that needs credentials. Open screens stay visible.
function over(why) {
  ended(why);
  link.stop();
  linkState.value = { state: "ended", why };
  box.connected(null);
  calls.forgetCalls(why);
}

// login logs in; it rejects with ApiError.
export async function login(username, password) {
  await enter("/auth/login", { username, password });
}

// setUp creates the first owner of a server with the code of the printed link, and logs in.
export async function setUp(code, username, password) {
  await enter("/auth/setup", { code, username, password });
}

async function enter(path, credentials) {
  setToken(null);
  const said = await call("POST", path, credentials, { quiet: true });
  localStorage.removeItem(owed);
  await begin(await whoIsIn(said.access_token));
  tell({ kind: "login", user: session.peek().user });
  register().then(lookAt).catch(() => {});
}

// whoIsIn returns the user who has just logged in: by the cookie, or, if the browser stores no
// cookie (plain http to another machine), by a token of this tab.
async function whoIsIn(secret) {
  try {
    return await api.get("/auth/me", { quiet: true });
  } catch (err) {
    if (err.status !== 401) throw err;
    setToken(secret);
    return api.get("/auth/me", { quiet: true });
  }
}

// useToken logs in this tab alone with the token of a link. The session is not in a cookie, and is
// stored only in this tab. If it rejects with ApiError, the tab keeps its earlier session.
export async function useToken(secret) {
  setToken(null);
  const { access_token } = await call("POST", "/auth/exchange", { token: secret }, { quiet: true, alone: true });
  setToken(access_token, true);
  try {
    const me = await api.get("/auth/me", { quiet: true });
    keepNothing();
    await begin(me);
  } catch (err) {
    setToken(null);
    throw err;
  }
}

async function begin(me) {
  await arrived(me);
  link.stop();
  link.start();
}

// told handles messages of other tabs, which share the session unless this tab has a token.
function told(m) {
  if (token()) return;
  if (m.kind === "logout") gone();
  const { state, user } = session.peek();
  if (m.kind !== "login" || (state === "in" && user === m.user)) return;
  link.stop();
  findOut();
}

// logout ends the session and deletes its data in this browser, in all tabs. Without a connection,
// the server is notified later: the promise rejects, although all data is deleted.
export async function logout() {
  const mine = byLink();
  if (!mine) await forgetPush().catch(() => {});
  const failed = await tellOfLogout();
  if (failed && !token()) localStorage.setItem(owed, "1");
  if (!token()) tell({ kind: "logout" });
  await gone();
  if (!mine) await forgetWorker().catch(() => {});
  if (failed) throw new ApiError({ code: failed.code, message: "This browser’s data is deleted. The server is not reachable; the page logs out there when it is." });
}

// tellOfLogout returns why the server could not be notified, or null.
async function tellOfLogout() {
  try {
    await call("POST", "/auth/logout", {}, { quiet: true });
  } catch (err) {
    if (err.status !== 401) return err;
  }
  return null;
}

// gone deletes everything in this tab.
async function gone() {
  link.stop();
  setToken(null);
  await forget();
  left();
  linkState.value = { state: "offline" };
}

async function forget() {
  box.connected(null);
  calls.forgetCalls("You are logged out.");
  store.forget();
  box.forgetBox();
  forgetRuns();
  forgetHosts();
  forgetDrafts();
  await wipe().catch(() => {});
}

// payLogout notifies the server of an earlier logout.
async function payLogout() {
  if (localStorage.getItem(owed) && !(await tellOfLogout())) localStorage.removeItem(owed);
}

// retryNow reconnects at once.
export function retryNow() {
  link.retryNow();
  retryFollowing();
}
