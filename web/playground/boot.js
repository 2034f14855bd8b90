// A classic script, because browsers load no modules from files: it explains what is missing.
"use strict";
if (location.protocol === "file:") {
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.dataset.testid = "notice";
  notice.setAttribute("role", "status");
  notice.textContent = "Open this page over HTTP: concerto playground";
  document.getElementById("app").replaceChildren(notice);
}
