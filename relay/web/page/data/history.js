// The loaded events of a run, as the items of one thread: the last events, and earlier pages that
// were loaded.
import { ending } from "./derive.js";
import { Fold } from "./fold.js";

// History receives events in order (add) and pages of earlier events (prepend).
export class History {
  #folds; // oldest first; new events change only the last one
  #endings = []; // outcomes of requests whose events are not loaded
  #exit = null;
  #run;
  #items = [];
  #metas = []; // the metas of the folds from which #meta was computed
  #meta = {};

  constructor(run) {
    this.#run = run;
    this.#folds = [new Fold(run)];
  }

  add(e) {
    if (e.broken) this.#folds.at(-1).add(e.broken);
    const ended = ending(e);
    if (ended && !this.#newestFirst((f) => f.settle(ended))) this.#endings.push(ended);
    if (!this.#newestFirst((f) => f.update(e))) this.#folds.at(-1).add(e);
    if (e.type === "run.output") return;
    this.#folds.at(-1).block = null;
    if (e.type === "run.exited") this.#exitWith(e);
  }

  #newestFirst(fn) {
    for (let i = this.#folds.length - 1; i >= 0; i--) if (fn(this.#folds[i])) return true;
    return false;
  }

  #exitWith(e) {
    this.#exit = e;
    for (const f of this.#folds) f.exit(e);
  }

  // prepend adds events that directly precede the loaded ones.
  prepend(events) {
    const page = new History(this.#run);
    for (const e of events) page.add(e);
    const fold = page.#folds[0];
    fold.block = null; // only the last fold receives new output
    this.#endings = this.#endings.filter((ended) => !fold.settle(ended));
    this.#endings.push(...page.#endings);
    for (let i = this.#folds.length - 1; i >= 0; i--) this.#folds[i].after(fold);
    if (this.#exit) fold.exit(this.#exit);
    this.#folds.unshift(fold);
  }

  // items returns all items, oldest first. It returns the same array as before if nothing has
  // changed.
  items() {
    if (!this.#folds.some((f) => f.changed)) return this.#items;
    for (const f of this.#folds) f.changed = false;
    this.#items = this.#folds.flatMap((f) => f.items);
    return this.#items;
  }

  // meta returns the last value of each member of run.meta. It returns the same object as before if
  // nothing has changed.
  meta() {
    const all = this.#folds.map((f) => f.meta);
    if (all.length !== this.#metas.length || all.some((m, i) => m !== this.#metas[i])) {
      this.#metas = all;
      this.#meta = Object.assign({}, ...all);
    }
    return this.#meta;
  }

  // size returns the size of the terminal, or null if it is unknown.
  size() { return this.#folds.findLast((f) => f.size)?.size ?? null; }
}
