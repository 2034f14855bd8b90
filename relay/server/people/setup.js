"use strict";
const at = (id) => document.getElementById(id);
at("make").addEventListener("click", async () => {
  at("said").textContent = "…";
  try {
    const answer = await fetch("auth/setup", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Concerto": "1" },
      body: JSON.stringify({ code: location.hash.slice(1), username: at("name").value, password: at("password").value }),
    });
    const said = await answer.json();
    at("said").textContent = answer.ok ? "The owner is made; log in with this name and password." : said.error.message;
  } catch (e) {
    at("said").textContent = "The server does not answer: " + e.message;
  }
});
