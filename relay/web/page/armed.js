// Deciding by keyboard takes two keys: a or d selects the decision, Enter confirms it, and any
// other key cancels it.
import { signal } from "parts/base.js";

// armed is the decision that Enter confirms, {key, decision} of a request, or null.
export const armed = signal(null);
