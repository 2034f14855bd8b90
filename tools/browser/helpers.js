// Functions that tests call in a page.
window.__see = {
  // all returns the visible elements of a place in page order.
  all(place) {
    let found;
    if (place === ":focus") found = [document.activeElement];
    else if (place[0] === "@") found = [...document.querySelectorAll(`[data-testid="${CSS.escape(place.slice(1))}"]`)];
    else if (place[0] === "=") {
      const operable = "a[href], button, input, select, textarea, summary, label, [role], [tabindex]";
      found = [...document.querySelectorAll(operable)].filter((e) => [e.innerText?.trim(), e.getAttribute("aria-label")].includes(place.slice(1)));
    } else found = [...document.querySelectorAll(place)];
    return found.filter((e) => place === ":focus" || e === document.body || e.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
  },
  one(place) { return this.all(place)[0]; },
  text(place) { return this.one(place)?.innerText ?? ""; },
  // point scrolls a place into view and returns its middle once the element is still and a click
  // would hit it.
  async point(place) {
    const e = this.one(place);
    if (!e) return null;
    e.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    if (e.matches(":disabled, [aria-disabled=true]")) return null;
    const at = () => {
      const r = e.getClientRects()[0] ?? e.getBoundingClientRect();
      return { x: r.x + r.width / 2, y: r.y + r.height / 2 };
    };
    const before = at();
    await new Promise((done) => {
      requestAnimationFrame(() => requestAnimationFrame(done));
      setTimeout(done, 1000); // a busy browser may draw no frame for a long time
    });
    const p = at();
    if (p.x !== before.x || p.y !== before.y) return null;
    const hit = document.elementFromPoint(p.x, p.y);
    const reaches = (hit) => e.contains(hit) || hit.closest("label")?.contains(e) || hit.contains(e) && e.closest("label") === hit;
    if (!hit || !reaches(hit)) return null;
    this.pressed = this.clicked = false;
    addEventListener("pointerdown", (ev) => { this.pressed = reaches(ev.target); }, { capture: true, once: true });
    addEventListener("click", (ev) => { this.clicked = reaches(ev.target); }, { capture: true, once: true });
    return p;
  },
  async wait(test, most) {
    for (const end = performance.now() + most; ;) {
      try {
        const v = await test();
        if (v) return v;
      } catch { /* not yet */ }
      if (performance.now() > end) return false;
      await new Promise((done) => setTimeout(done, 10));
    }
  },
};
