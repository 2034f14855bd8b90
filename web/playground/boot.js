// A classic script, because browsers load no modules from files: it explains what is missing, or
// loads the page.
"use strict";
(() => {
  const missing =
    location.protocol === "file:" ? "Open this page over HTTP: concerto playground"
    : typeof WebAssembly !== "object" || typeof WebAssembly.compileStreaming !== "function" ? "This browser does not support WebAssembly"
    : "";
  if (!missing) {
    import("./main.js");
    return;
  }
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.dataset.testid = "notice";
  notice.setAttribute("role", "status");
  notice.textContent = missing;
  document.getElementById("app").replaceChildren(notice);
})();
