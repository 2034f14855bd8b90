// Requests of a screen: loading data, with errors and reload, and running actions.
import { html, plain, useEffect, useRef, useState } from "parts/base.js";

// failure shows why something failed, if it did.
export const failure = (text) => text && html`<p class="failed" role="alert">${plain(text)}</p>`;

// useLoad calls ask when the component is mounted and when a dependency changes. It returns {value,
// failed, busy, reload}, and ignores answers to outdated requests.
export function useLoad(ask, on) {
  const [state, set] = useState({ busy: true });
  const turn = useRef(0);
  const reload = async () => {
    const mine = ++turn.current;
    set((s) => ({ ...s, busy: true }));
    try {
      const value = await ask();
      if (mine === turn.current) set({ value, busy: false });
    } catch (e) {
      if (mine === turn.current) set((s) => ({ value: s.value, failed: e.message, busy: false }));
    }
  };
  useEffect(() => {
    set({ busy: true });
    reload();
    return () => turn.current++;
  }, on);
  return { ...state, reload };
}

// Loaded shows the data, the loading state, or the error.
export function Loaded({ load, what, children }) {
  return html`${load.failed && html`<p class="failed" role="alert">${load.failed} <button type="button" onClick=${load.reload}>Try reload</button></p>`}
    ${load.value === undefined && !load.failed && html`<p class="quiet" role="status">Loading ${what} …</p>`}
    ${load.value !== undefined && children(load.value)}`;
}

// useDo returns [run, busy, failed]. run performs the action unless it is already running. failed
// is the error of the last action.
export function useDo(act) {
  const [state, set] = useState({ busy: false, failed: "" });
  const going = useRef(false);
  const run = async (...args) => {
    if (going.current) return;
    going.current = true;
    set({ busy: true, failed: "" });
    try {
      const value = await act(...args);
      set({ busy: false, failed: "" });
      return value;
    } catch (e) {
      set({ busy: false, failed: e.message });
    } finally {
      going.current = false;
    }
  };
  return [run, state.busy, state.failed];
}
