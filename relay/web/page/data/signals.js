// The data layer imports signals only from here.
export { signal, computed, effect, batch } from "parts/signals.js";
