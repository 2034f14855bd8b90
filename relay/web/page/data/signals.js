// The signals of the data layer come from here alone.
export { signal, computed, effect, batch } from "parts/signals.js";
