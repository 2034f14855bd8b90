// Loading of modules on first use.
import { html, useEffect, useState } from "parts/base.js";
import { failure } from "./load.js";

// lazy returns a component whose module is loaded once. After a failure, the next visit loads the
// module again.
export function lazy(load, name) {
  let found;
  return function Lazy(props) {
    const [, came] = useState(0);
    const [failed, setFailed] = useState("");
    useEffect(() => {
      if (found) return;
      load().then((module) => ((found = module[name]), came(1)), (e) => setFailed(`This part of the page could not be loaded. Check the connection and reload the page. (${e.message})`));
    }, []);
    if (found) return html`<${found} ...${props} />`;
    return failure(failed) || html`<p class="quiet" role="status">Loading …</p>`;
  };
}
