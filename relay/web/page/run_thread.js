// The thread of a run: its events in order, its requests at their places, and the field for input.
import { html, plain, useCallback } from "parts/base.js";
import { Thread } from "parts/thread.js";
import { can } from "./data/index.js";
import { useCards } from "./cards.js";
import { Composer } from "./composer.js";
import { Item } from "./item.js";
import { onTerminal } from "./words.js";
import { failure } from "./load.js";

export function RunThread({ run, id, view, query, source }) {
  const items = view.items.value, state = view.state.value, earlier = view.earlier.value;
  const open = items.filter((i) => i.kind === "request" && !i.data.resolution).map((i) => i.data);
  const { box, selected, select } = useCards(open, { opens: false });
  const requestId = query.get("request"), show = requestId && items.findLast((i) => i.kind === "request" && i.data.request_id === requestId)?.key;
  const render = useCallback((item) => html`<${Item} item=${item} selected=${item.kind === "request" && item.data.key === selected} />`, [selected]);
  // Moving the focus to a row selects its request.
  const follow = (e) => {
    const key = e.target.closest(".thread-row")?.querySelector("[data-key]")?.dataset.key;
    if (key) select(key);
  };
  return html`<div class="thread-box" data-testid="run-thread" ref=${box} onFocusIn=${follow}>
      ${state.state === "loading" && items.length === 0 && html`<p class="quiet" role="status">Loading …</p>`}
      ${failure(earlier.error)}
      <${Thread} items=${items} follow=${true} onEarlier=${earlier.more ? view.loadEarlier : null} earlier=${earlier} render=${render} show=${show} label="Events of the run" /></div>
    ${can("input") && onTerminal(source) && html`<${Composer} run=${run} id=${id} />`}`;
}
