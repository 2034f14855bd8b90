// The signals of the data layer come from here alone.
export { signal, computed, effect, batch, untracked } from "@preact/signals-core";
