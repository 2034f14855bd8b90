// Deciding by keys takes two: a or d says what, Enter does it, anything else takes it back.
import { signal } from "parts/base.js";

// armed is what Enter would do: {key, decision} of a request; null for nothing.
export const armed = signal(null);
