// A queue that handles many events in slices, so that the page stays responsive.
import { batch } from "./signals.js";

const slice = 8; // in ms; half of the duration of a frame

// Queue passes its elements to `handle` one by one and in order. It calls `onSlice` at the end of
// each slice, so that signals change at most once in a slice.
export class Queue {
  #waiting = [];
  #at = 0;
  #scheduled = false;
  #handle;
  #onSlice;
  #port = new MessageChannel(); // timers are not suitable, because browsers delay the timers of background tabs

  constructor(handle, onSlice) {
    this.#handle = handle;
    this.#onSlice = onSlice;
    this.#port.port1.onmessage = () => this.#slice();
  }

  get length() { return this.#waiting.length - this.#at; }

  put(x) {
    this.#waiting.push(x);
    this.#schedule();
  }

  putAll(all) {
    for (const x of all) this.#waiting.push(x);
    if (all.length) this.#schedule();
  }

  // clear removes the waiting elements and returns them.
  clear() {
    const all = this.#waiting.slice(this.#at);
    this.#waiting = [];
    this.#at = 0;
    return all;
  }

  close() {
    this.clear();
    this.#port.port1.close();
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#port.port2.postMessage(0);
  }

  #slice() {
    this.#scheduled = false;
    const end = performance.now() + slice;
    batch(() => {
      while (this.#at < this.#waiting.length && performance.now() < end) this.#one();
      if (!this.length) this.clear();
      this.#onSlice();
    });
    if (this.length) this.#schedule();
  }

  #one() {
    try {
      this.#handle(this.#waiting[this.#at++]);
    } catch (err) {
      console.error("an event could not be handled", err); // the other elements can still be handled
    }
  }
}
