// A connection to the server: GET /ws/app. It sends hello, reconnects after a loss, and probes the
// connection, because a page does not see the pings that its browser answers.
import { api, home, incoming, token } from "./api.js";
import { recordServerTime } from "./clock.js";
import { ApiError, sentence } from "./errors.js";
import { backoff, uuid } from "./ids.js";
import { Queue } from "./queue.js";

const agent = "concerto-page/1";
const welcomeWithin = 10_000; // ms
const probeWithin = 10_000;
const probeSoon = 4_000; // when the connection may be lost, in ms
const replyWithin = 15_000;

// closes contains a sentence and a meaning for each close code of the server. "ended" is final.
// "wait" counts as a failed attempt. After any other code the page reconnects at once.
const closes = {
  1008: ["The server rejected a message from this page.", "wait"],
  1009: ["A message was too long.", "wait"],
  1011: ["The server could not do this. Try again later.", "wait"],
  1012: ["The server is restarting.", ""],
  4401: ["Your session has expired. Log in again.", "ended"],
  4403: ["This is not allowed.", "wait"],
  4408: ["This page was too slow to receive the events.", ""],
  4429: ["Too many requests.", "wait"],
};

// Link manages one connection at a time. Its owner provides:
//
// opened(welcome): connected; the owner must subscribe again.
//
// frame(envelope): a frame arrived that is no reply.
//
// state({state, why?, retry_at?}): connecting | online | offline | ended.
//
// whole: whether it receives all events of its runs.
export class Link {
  #owner;
  #ws = null;
  #tries = 0;
  #timer = 0;
  #probing = 0;
  #heartbeat = 20_000;
  #replies = new Map(); // callbacks for replies, by the ID of the message
  #running = false;
  #turn = 0; // number of the current connection; frames of earlier connections are ignored
  #last = 0; // time of the last frame
  #inbox = new Queue((m) => { if (m.turn === this.#turn) this.#handleFrame(m); }, () => {}); // a browser delivers many frames at once

  constructor(owner) { this.#owner = owner; }

  // A closing connection counts as offline before its close event, because messages that are sent
  // to it are lost.
  get online() { return this.#ws !== null && this.#ws.welcomed && this.#ws.readyState === 1; }

  start() {
    if (this.#running) return;
    this.#running = true;
    this.#tries = 0;
    for (const [on, fn] of this.#signs) on[0].addEventListener(on[1], fn);
    this.#connect();
  }

  stop() {
    this.#running = false;
    for (const [on, fn] of this.#signs) on[0].removeEventListener(on[1], fn);
    this.#drop();
  }

  // retryNow reconnects at once. If the connection is open, it probes the connection.
  retryNow() {
    if (!this.#running) return;
    if (this.#ws) { this.#probe(probeSoon); return; }
    this.#tries = 0;
    this.#connect();
  }

  // The browser reports that the network is available again, or that the page is visible again.
  #signs = [
    [[globalThis, "online"], () => this.retryNow()],
    [[globalThis, "offline"], () => { if (this.#ws) this.#probe(probeSoon); }],
    [[globalThis.document, "visibilitychange"], () => { if (document.visibilityState === "visible") this.retryNow(); }],
  ];

  // send sends a message {type, run_id?, id?, data}. It returns false if there is no connection.
  send(message) {
    if (!this.online) return false;
    this.#ws.send(JSON.stringify({ ...message, ts: new Date().toISOString() }));
    return true;
  }

  // ask sends a message with an id and returns the frame that answers it: one whose re is the id,
  // or for which `is(frame)` holds. It rejects with ApiError if that is an error, and with the code
  // "unreachable" if there is no connection or it closes first.
  ask(message, is) {
    const id = message.id || uuid();
    return new Promise((resolve, reject) => {
      if (!this.send({ ...message, id })) { reject(new ApiError({ code: "unreachable" })); return; }
      const timer = setTimeout(() => {
        this.#replies.delete(id);
        this.#probe(probeSoon);
        reject(new ApiError({ code: "unreachable", message: "The server did not answer." }));
      }, replyWithin);
      this.#replies.set(id, { resolve, reject, is, timer });
    });
  }

  #connect() {
    clearTimeout(this.#timer);
    const turn = ++this.#turn;
    this.#owner.state({ state: "connecting" });
    this.#address().then((url) => {
      if (turn === this.#turn && this.#running) this.#open(url, turn);
    }, (err) => {
      if (turn === this.#turn && this.#running) this.#failed(err);
    });
  }

  async #address() {
    const url = new URL("/ws/app?follow=none", home);
    url.protocol = url.protocol.replace("http", "ws");
    if (token()) url.searchParams.set("ticket", (await api.post("/auth/ticket")).ticket);
    return url;
  }

  #open(url, turn) {
    const ws = new WebSocket(url);
    const sentAt = Date.now();
    this.#ws = ws;
    ws.welcomed = false;
    ws.onopen = () => ws.send(JSON.stringify({ type: "hello", ts: new Date().toISOString(), id: "hello", data: { protocol: 2, agent } }));
    ws.onmessage = (e) => {
      this.#last = Date.now();
      this.#inbox.put({ text: e.data, turn, sentAt });
    };
    ws.onclose = (e) => { if (turn === this.#turn) this.#closed(e.code, e.reason); };
    this.#timer = setTimeout(() => this.#closed(0), welcomeWithin);
  }

  #handleFrame({ text, sentAt, turn }) {
    let e;
    try { e = JSON.parse(text); } catch { return; } // the server sends only JSON
    if (e.type === "welcome") {
      clearTimeout(this.#timer);
      this.#tries = 0;
      this.#ws.welcomed = true;
      this.#heartbeat = (e.data.heartbeat_s || 20) * 1000;
      recordServerTime(e.ts, sentAt);
      this.#owner.state({ state: "online" });
      this.#owner.opened(e.data);
      this.#listen(this.#heartbeat);
      return;
    }
    if (!this.#answers(e)) incoming.frame(e, (x) => { if (turn === this.#turn) this.#owner.frame(x); }, this.#owner);
  }

  #answers(e) {
    const re = e.re || (e.type === "error" ? e.data?.re : undefined);
    for (const [id, r] of this.#replies) {
      if (re ? re !== id : !r.is?.(e)) continue;
      this.#replies.delete(id);
      clearTimeout(r.timer);
      if (e.type === "error") r.reject(new ApiError({ ...e.data }));
      else r.resolve(e);
      return true;
    }
    return false;
  }

  // listen probes the connection if no frame has arrived for long.
  #listen(within) {
    clearTimeout(this.#probing);
    this.#probing = setTimeout(() => {
      const quiet = Date.now() - this.#last;
      if (quiet < this.#heartbeat) this.#listen(this.#heartbeat - quiet);
      else this.#probe(probeWithin);
    }, within);
  }

  // probe sends a request that the server answers at once: a subscription to no runs.
  #probe(within) {
    if (!this.online) return;
    const sentAt = Date.now();
    clearTimeout(this.#probing);
    this.#probing = setTimeout(() => {
      if (this.#last >= sentAt) this.#listen(this.#heartbeat);
      else this.#closed(0);
    }, within);
    this.send({ type: "run.subscribe", id: "probe", data: {} });
  }

  #drop() {
    this.#turn++;
    clearTimeout(this.#timer);
    clearTimeout(this.#probing);
    const ws = this.#ws;
    this.#ws = null;
    if (ws) ws.close();
    const all = [...this.#replies.values()];
    this.#replies.clear();
    for (const r of all) { clearTimeout(r.timer); r.reject(new ApiError({ code: "unreachable" })); }
  }

  #closed(code, reason) {
    const wasOnline = this.#ws?.welcomed;
    this.#drop();
    if (!this.#running) return;
    const [why, means] = closes[code] || ["The connection was lost.", wasOnline ? "" : "ask"];
    if (means === "ended") this.#end(reason || why);
    else if (means === "ask") this.#refused();
    else this.#reconnect(why, means === "wait");
  }

  // refused determines the reason why a connection failed, because the browser does not report it.
  #refused() {
    const turn = this.#turn;
    api.get("/auth/me", { quiet: true }).then(
      () => { if (turn === this.#turn && this.#running) this.#reconnect("The server accepts no connections at the moment.", true); },
      (err) => { if (turn === this.#turn && this.#running) this.#failed(err); },
    );
  }

  #failed(err) {
    if (err.status === 401) this.#end(err.message);
    else this.#reconnect(sentence(err), true);
  }

  #end(why) {
    this.stop();
    this.#owner.state({ state: "ended", why });
  }

  // reconnect connects again: at once after a connection that worked, and otherwise with increasing
  // delays.
  #reconnect(why, wait) {
    const after = wait ? backoff(this.#tries++) : backoff(0, 250);
    if (!wait) this.#tries = Math.max(this.#tries, 1);
    this.#owner.state({ state: "offline", why, retry_at: Date.now() + after });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), after);
  }
}
