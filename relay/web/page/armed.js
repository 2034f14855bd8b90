// A decision by keyboard needs two keys: a or d selects the decision, Enter confirms it, and any
// other key cancels it.
import { signal } from "parts/base.js";

// armed is the selected decision {key, decision} of a request, which Enter confirms, or null.
export const armed = signal(null);
