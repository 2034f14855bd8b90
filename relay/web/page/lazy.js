// What is loaded when somebody first goes there.
import { html, useEffect, useState } from "parts/base.js";

// lazy gives a component of a module that is not there yet. It is asked for once; when that fails, again at the next visit.
export function lazy(load, name) {
  let found;
  return function Lazy(props) {
    const [, came] = useState(0);
    const [failed, setFailed] = useState("");
    useEffect(() => {
      if (found) return;
      load().then((module) => ((found = module[name]), came(1)), (e) => setFailed(`This part of the page could not be loaded: ${e.message}`));
    }, []);
    if (found) return html`<${found} ...${props} />`;
    return failed ? html`<p class="failed" role="alert">${failed}</p>` : html`<p class="quiet" role="status">Loading …</p>`;
  };
}
