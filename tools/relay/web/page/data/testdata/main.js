// A page without screens: the tests use the data layer as screens do.
import * as data from "page/data/index.js";
import { History } from "page/data/history.js";
import { folds } from "page/data/fold.js";
import { View } from "page/data/view.js";
import { Screen } from "page/data/text.js";
import { rights } from "page/data/who.js";
import { batch, computed, effect, signal } from "page/data/signals.js";
import * as cache from "page/data/cache.js";
import * as clock from "page/data/clock.js";
import * as canonical from "page/data/canonical.js";
import * as keys from "page/data/keys.js";
import * as roster from "page/data/roster.js";
import { waiting } from "page/data/devices.js";
import * as epochs from "page/data/epochs.js";
import * as chain from "page/data/chain.js";
import * as sealedcommand from "page/data/sealedcommand.js";

Object.assign(globalThis, { data, History, folds, View, Screen, rights, batch, computed, effect, signal, cache, clock, views: {}, waiting, enrolment: () => import("page/data/enrol.js"), share: () => import("page/data/share.js"), passkeys: () => import("page/data/passkey.js"), beats: () => import("page/data/beat.js"), forms: { ...canonical, ...keys, ...roster, ...epochs, ...chain, ...sealedcommand } });

// watch opens a run and leaves it open.
globalThis.watch = (id) => (views[id] ??= data.openRun(id));
globalThis.items = (id) => watch(id).items.value;
globalThis.output = (id) => items(id).filter((x) => x.kind === "output").map((x) => x.text).join("");
globalThis.state = (id) => watch(id).state.value;
globalThis.request = (id) => data.requests.value.find((q) => q.request_id === id) || data.settled.value.find((q) => q.request_id === id);
globalThis.card = (id) => data.cardState(request(id));
globalThis.entry = (id) => data.outbox.value.findLast((x) => x.request_id === id || x.id === id);

const started = location.search === "?idle" ? Promise.resolve() : data.start();
started.then(() => { globalThis.ready = true; });
