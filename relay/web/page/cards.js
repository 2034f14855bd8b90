// Keyboard navigation among cards and keyboard decisions.
import { useEffect, useRef, useState } from "parts/base.js";
import { can } from "./data/index.js";
import { armed } from "./armed.js";
import { useKeys } from "./keymap.js";
import { go, hrefOf } from "./route.js";

// useCards returns {box, selected, select}. box is a ref to the list, whose children have the
// attribute data-key. selected is the key of the selected request.
export function useCards(all) {
  const box = useRef(), [chosen, select] = useState(null);
  const at = Math.max(0, all.findIndex((q) => q.key === chosen)), selected = all[at]?.key ?? null;
  const move = (by) => {
    const to = all[Math.min(all.length - 1, Math.max(0, chosen === null ? 0 : at + by))];
    if (!to) return;
    armed.value = null;
    select(to.key);
    const card = box.current?.querySelector(`[data-key="${CSS.escape(to.key)}"]`);
    card?.querySelector("[data-testid=approval-card]")?.focus({ preventScroll: true });
    card?.scrollIntoView({ block: "nearest" });
  };
  const arm = (decision) => {
    if (!selected || !can("decide")) return;
    move(0);
    const more = decision === "approve" && box.current?.querySelector(`[data-key="${CSS.escape(selected)}"] [data-testid=show-all]`);
    if (more) return more.focus(); // Enter shows what is hidden
    armed.value = { key: selected, decision };
  };
  useKeys({
    next: () => move(1),
    previous: () => move(-1),
    approve: () => arm("approve"),
    deny: () => arm("deny"),
    open: () => selected && !armed.value && go(hrefOf("runs", all[at].run_id)),
  });
  useEffect(() => () => (armed.value = null), []);
  return { box, selected, select };
}
