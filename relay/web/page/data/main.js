// The complete data layer: the session, the connection of the overview, and the modules that depend
// on both.
import { api, byLink, call, isApart, onUnauthorized, ownToken, setToken, token } from "./api.js";
import { disableCache, getMeta, putMeta, trimRuns, wipe } from "./cache.js";
import { clockDiffers, clockMs } from "./clock.js";
import * as commands from "./commands.js";
import { drop, forgetDevices, loadDevices } from "./devices.js";
import { forgetDrafts } from "./drafts.js";
import { ApiError, sentence } from "./errors.js";
import { forgetRuns, retryFollowing, startFollowing } from "./follow.js";
import { forgetMachines } from "./machines.js";
import { Link } from "./link.js";
import * as box from "./outbox.js";
import { checkPush, forgetPush } from "./push.js";
import * as calls from "./rpc.js";
import { computed, signal } from "./signals.js";
import * as store from "./store.js";
import { broadcast, closeTabs, onTabMessage, openTabs } from "./tabs.js";
import { session, setExpired, setLoggedIn, setLoggedOut } from "./who.js";
import { forgetWorker, register } from "./worker.js";

const refreshEach = 60_000; // in ms; no event reports the loss of a run
const retryRefresh = 3_000;
const repeatNotice = 3_000;
const logoutKey = "concerto-logout"; // in localStorage; set while the server has not received a logout

const linkState = signal({ state: "offline" });

// conn is the state of the connection.
export const conn = computed(() => ({ ...linkState.value, clock_ms: clockMs.value, clock_differs: clockDiffers() }));

const noticeListeners = new Set();

// onNotice sets a function that is called with {level, text, run_id?} for messages to show as
// notifications.
export function onNotice(fn) {
  noticeListeners.add(fn);
  return () => noticeListeners.delete(fn);
}

let lastNotice = { text: "", at: 0 };

function notice(level, text, run_id) {
  if (lastNotice.text === text && Date.now() - lastNotice.at < repeatNotice) return; // one notification is enough for several keys
  lastNotice = { text, at: Date.now() };
  for (const fn of noticeListeners) fn({ level, text, run_id });
}

const link = new Link({
  opened(welcome) {
    if (welcome.user) applyUser({ user: welcome.user, role: welcome.role });
    store.begin();
    link.ask({ type: "run.subscribe", data: { cursor: {}, rest: "live", output: false } }).then(refresh, () => {});
    box.connected((message, is) => link.ask(message, is));
    calls.resend();
  },
  frame(e) {
    if (calls.answered(e)) return;
    if (e.type === "command.state") box.handleState(e.data);
    else if (e.type === "error" && commands.isUnasked(e.re || e.data?.re)) return;
    else if (e.type === "error") {
      drop(e.re || e.data?.re);
      notice("error", sentence(new ApiError({ ...e.data })), e.run_id || e.data?.run_id);
    } else store.handleFrame(e);
  },
  state(s) {
    linkState.value = s;
    if (s.state !== "online") box.connected(null);
    if (s.state === "ended") expire(s.why);
  },
});

commands.useLink(link, notice);
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
  if (byLink()) disableCache();
  openTabs();
  onTabMessage(handleTabMessage);
  onUnauthorized(() => expire("Your session has expired. Log in again."));
  store.onEvent(box.handleEvent);
  stopFollowing = startFollowing();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") store.save();
    else if (link.online) refresh();
  });
  const registered = register();
  await sendOwedLogout();
  await loadDevices();
  await restore();
  await box.openBox((run) => store.refreshRequests(run).catch(() => {}));
  trimRuns().catch(() => {});
  await checkLogin();
  registered.then(updatePush).catch(() => {});
}

const updatePush = () => checkPush(session.peek().state === "in" && !byLink());

// stop closes all connections.
export function stop() {
  started = false;
  clearTimeout(refreshing);
  link.stop();
  stopFollowing();
  closeTabs();
}

// restore shows the data of the last user that this browser has stored.
async function restore() {
  const me = await getMeta("me").catch(() => null);
  if (!me || session.peek().state === "in") return;
  session.value = { ...me, state: "unknown" };
  await store.restore().catch(() => {});
}

// checkLogin asks the server which user is logged in. Without a connection the stored data stays
// visible.
async function checkLogin() {
  try {
    await applyUser(await api.get("/auth/me", { quiet: true }));
  } catch (err) {
    if (err.status === 401) { expire("Log in again."); return; }
    const { user } = session.peek();
    session.value = { ...session.peek(), state: user ? "in" : "unknown", why: sentence(err) };
  }
  link.start();
}

// applyUser records the user. If another user was logged in before, it deletes that user's data.
async function applyUser(me) {
  const before = session.peek().user ?? (await getMeta("me").catch(() => null))?.user;
  if (before && before !== me.user) await forget();
  setLoggedIn(me);
  const { state, why, ...stored } = session.peek();
  putMeta("me", stored).catch(() => {});
}

// expire ends the parts that need credentials. Open screens stay visible.
function expire(why) {
  setExpired(why);
  link.stop();
  linkState.value = { state: "ended", why };
  box.connected(null);
  calls.forgetCalls(why);
}

// login logs in; it rejects with ApiError.
export async function login(username, password) {
  await enter("/auth/login", { username, password });
}

// setUp creates the first owner of a server with the code in the printed link, and logs in.
export async function setUp(code, username, password) {
  await enter("/auth/setup", { code, username, password });
}

async function enter(path, credentials) {
  setToken(null);
  const answer = await call("POST", path, credentials, { quiet: true });
  localStorage.removeItem(logoutKey);
  await begin(await fetchUser(answer.access_token));
  broadcast({ kind: "login", user: session.peek().user });
  register().then(updatePush).catch(() => {});
}

// fetchUser returns the user who has just logged in: by the cookie, or, if the browser stores no
// cookie (plain http to another machine, or a page with another origin), by a token.
async function fetchUser(secret) {
  if (isApart) setToken(secret);
  try {
    return await api.get("/auth/me", { quiet: true });
  } catch (err) {
    if (err.status !== 401 || isApart) throw err;
    setToken(secret, false);
    return api.get("/auth/me", { quiet: true });
  }
}

// useToken logs in this tab alone with the token of a link. share is the secret with which the link
// opens sealed runs, if it has one. The session is not in a cookie, and is
// stored only in this tab. If it rejects with ApiError, the tab retains its earlier session.
export async function useToken(secret, share) {
  if (share && !crypto.subtle) throw new ApiError({ code: "unsupported", message: "This page cannot open the link over plain http. Open it over https." });
  setToken(null, true);
  const { access_token } = await call("POST", "/auth/exchange", { token: secret }, { quiet: true, alone: true });
  setToken(access_token, true);
  try {
    const me = await api.get("/auth/me", { quiet: true });
    disableCache(...(share ? ["devices", "counters"] : []));
    if (share) await (await import("./share.js")).openShare(share);
    await begin(me);
  } catch (err) {
    setToken(null, true);
    throw err;
  }
}

async function begin(me) {
  await applyUser(me);
  link.stop();
  link.start();
}

// handleTabMessage handles messages of other tabs, which share the session unless this tab has a
// token.
function handleTabMessage(m) {
  if (ownToken()) return;
  if (m.kind === "devices") loadDevices();
  if (m.kind === "logout") clearAll();
  const { state, user } = session.peek();
  if (m.kind !== "login" || (state === "in" && user === m.user)) return;
  link.stop();
  checkLogin();
}

// logout ends the session and deletes its data in this browser, in all tabs. Without a connection,
// the server is notified later: the promise rejects, although all data is deleted.
export async function logout() {
  const mine = byLink(), had = token();
  if (!mine) await forgetPush().catch(() => {});
  const failed = await sendLogout();
  if (failed && !had) localStorage.setItem(logoutKey, "1");
  if (!ownToken()) broadcast({ kind: "logout" });
  await clearAll();
  if (!mine) await forgetWorker().catch(() => {});
  if (failed) throw new ApiError({ code: failed.code, message: `This browser’s data is deleted. The server is not reachable; ${had ? "the session there ends when it expires" : "the page logs out there when it is"}.` });
}

// sendLogout returns the reason why the server could not be notified, or null.
async function sendLogout() {
  try {
    await call("POST", "/auth/logout", {}, { quiet: true });
  } catch (err) {
    if (err.status !== 401) return err;
  }
  return null;
}

// clearAll deletes all data in this tab.
async function clearAll() {
  link.stop();
  setToken(null);
  await forget();
  setLoggedOut();
  linkState.value = { state: "offline" };
}

async function forget() {
  box.connected(null);
  calls.forgetCalls("You are logged out.");
  store.forget();
  box.forgetBox();
  forgetRuns();
  forgetMachines();
  forgetDrafts();
  forgetDevices();
  await wipe().catch(() => {});
}

// sendOwedLogout notifies the server of a logout that it has not received yet.
async function sendOwedLogout() {
  if (localStorage.getItem(logoutKey) && !(await sendLogout())) localStorage.removeItem(logoutKey);
}

// retryNow tries to reconnect at once.
export function retryNow() {
  link.retryNow();
  retryFollowing();
}
