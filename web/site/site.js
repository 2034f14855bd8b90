// The script of the site's pages: search, samples that run, fixes of wrong programs, versions. It is
// a classic script, so that it also works in pages that are opened as files. The pages can be read
// without it.
(() => {
  "use strict";
  const root = document.currentScript.dataset.root;
  const isFile = location.protocol === "file:";
  const find = (id) => document.querySelector(`[data-testid="${id}"]`);
  const create = (name, properties, ...children) => {
    const e = Object.assign(document.createElement(name), properties);
    e.append(...children);
    return e;
  };

  // ---- words, as tools/site splits the texts of pages

  const stopWords = new Set("STOP_WORDS".split(" "));
  const word = /[\p{L}\p{N}_]+(?:(?:::|[.-])[\p{L}\p{N}_]+)*/gu;

  const single = (w) => (w.length > 3 && w.at(-1) === w.at(-2) && !"aeiouls".includes(w.at(-1)) ? w.slice(0, -1) : w);

  // stem removes the endings of plurals and verbs.
  function stem(w) {
    if (w.length < 4 || /[^a-z]/.test(w)) return w;
    if (w === "used" || w === "using" || w === "uses") return "use";
    if (w.endsWith("ies") && w.length > 4) w = w.slice(0, -3) + "y";
    else if (/(ss|us|is)$/.test(w)) ;
    else if (w.endsWith("s")) w = w.slice(0, -1);
    else if (w.endsWith("ing") && w.length > 5) w = single(w.slice(0, -3));
    else if (w.endsWith("ied")) w = w.slice(0, -3) + "y";
    else if (w.endsWith("ed") && w.length > 4) w = single(w.slice(0, -2));
    if (w.endsWith("val") && w.length > 5) w = w.slice(0, -2);
    return w.length > 3 && w.endsWith("e") ? w.slice(0, -1) : w;
  }

  // wordsOf returns the words of a query: {exact} for a code or a name, otherwise {raw, stem}.
  function wordsOf(query) {
    const all = [];
    const add = (raw) => all.push({ raw, stem: stem(raw) });
    for (const [w] of query.matchAll(word)) {
      const lower = w.toLowerCase();
      const pieces = lower.split(/::|[._-]/).filter(Boolean);
      if (pieces.length > 1 || pieces[0] !== lower) all.push({ exact: lower, pieces });
      else add(lower);
    }
    const meaning = all.filter((w) => w.exact || !stopWords.has(w.raw));
    return meaning.length > 0 ? meaning : all;
  }

  // ---- search

  let index; // the index, with its terms as a list

  function load() {
    load.done ??= loadScript("search-index.js").then(() => {
      index = window.concertoSearch;
      index.words = index.terms.split(" ");
    });
    return load.done;
  }

  const loadScript = (name) => new Promise((resolve, reject) => {
    const script = create("script", { src: `${root}assets/${name}`, onload: resolve });
    script.onerror = () => reject(new Error("the index of the search could not be loaded"));
    document.head.append(script);
  });

  // lowerBound returns the position of the first term that is not before w.
  function lowerBound(w) {
    let [from, to] = [0, index.words.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (index.words[middle] < w) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  // isNear reports whether two words differ by one typing error: one letter more, less or other, or
  // two letters in the wrong order.
  function isNear(a, b) {
    if (Math.abs(a.length - b.length) > 1) return false;
    let i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    if (a.length === b.length) return a.slice(i + 1) === b.slice(i + 1) || (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
    return a.length > b.length ? a.slice(i + 1) === b.slice(i) : a.slice(i) === b.slice(i + 1);
  }

  // matches returns the terms that match a word of a query: [[number, weight]].
  function matches(w) {
    const out = new Map();
    const put = (n, weight) => {
      if (n < index.words.length) out.set(n, Math.max(out.get(n) ?? 0, weight));
    };
    const exact = (text, weight) => {
      const n = lowerBound(text);
      if (index.words[n] === text) put(n, weight);
    };
    const prefix = (text, weight) => {
      for (let n = lowerBound(text); n < index.words.length && index.words[n].startsWith(text); n++) put(n, index.words[n] === text ? 1 : weight * (text.length / index.words[n].length));
    };
    if (w.exact) {
      exact(w.exact, 3);
      prefix(w.exact, 0.8);
      if (out.size === 0) for (const p of w.pieces) exact(stem(p), 0.5);
      return out;
    }
    exact(w.raw, 1);
    exact(w.stem, 1);
    if (w.raw.length > 1) {
      prefix(w.raw, 0.5);
      if (w.stem.length > 2) prefix(w.stem, 0.5);
    }
    if (w.raw.length >= 5 && !(index.words[lowerBound(w.stem)] === w.stem)) {
      index.words.forEach((term, n) => {
        if (isNear(w.stem, term) || isNear(w.raw, term)) put(n, 0.6);
      });
    }
    return out;
  }

  // sections orders pages that match equally well.
  const sections = { Guide: 1.25, Manual: 1.1, Library: 1, Errors: 0.75, Examples: 0.75, Cookbook: 0.85, More: 0.8 };

  // search returns the pages for a query, the best first, each with its best passage.
  function search(query) {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const total = index.passages.length;
    const pages = new Map(); // page → {words: best score by word, passages: score by passage}
    words.forEach((w, at) => {
      const scores = new Map(); // passage → score
      for (const [n, weight] of matches(w)) {
        const list = [...index.lists[n].matchAll(/([0-9a-z]+)([A-Z])/g)];
        const rare = Math.log(1 + total / list.length);
        let passage = 0;
        for (const [, step, letter] of list) {
          passage += parseInt(step, 36);
          const score = (letter.charCodeAt(0) - 64) * rare * weight;
          if (score > (scores.get(passage) ?? 0)) scores.set(passage, score);
        }
      }
      for (const [passage, score] of scores) {
        const page = index.passages[passage][0];
        if (!pages.has(page)) pages.set(page, { words: [], passages: new Map() });
        const p = pages.get(page);
        p.words[at] = Math.max(p.words[at] ?? 0, score);
        const own = p.passages.get(passage) ?? { score: 0, words: 0 };
        p.passages.set(passage, { score: own.score + score, words: own.words + 1 });
      }
    });
    const found = [];
    for (const [page, p] of pages) {
      const [path, title, section] = index.pages[page];
      let best = -1;
      let bestScore = 0;
      for (const [passage, own] of p.passages) {
        const score = own.score * (own.words / words.length);
        if (score > bestScore) [best, bestScore] = [passage, score];
      }
      const covered = p.words.filter(Boolean).length / words.length;
      const sum = p.words.reduce((a, b) => a + b, 0);
      const isList = path.endsWith("index") ? 0.6 : 1;
      found.push({ path, title, section, passage: best, id: index.passages[best][1], heading: index.passages[best][2], score: (0.5 * sum + bestScore) * covered ** 1.4 * (sections[section] ?? 1) * isList });
    }
    return found.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1)).slice(0, 12);
  }

  // loadTexts loads the texts of the passages, which only excerpts need.
  function loadTexts() {
    loadTexts.done ??= loadScript("search-texts.js").catch(() => {});
    return loadTexts.done;
  }

  const before = 50; // characters of an excerpt before its first match
  const length = 170;

  // excerptOf returns the part of a text with the most words of a query, which are marked.
  function excerptOf(text, words) {
    const stems = new Set(words.flatMap((w) => (w.exact ? w.pieces.map(stem) : [w.stem])));
    const exact = words.filter((w) => w.exact).map((w) => w.exact);
    const hits = [...text.matchAll(word)].filter(([w]) => {
      const lower = w.toLowerCase();
      return exact.includes(lower) || lower.split(/::|[._-]/).some((p) => stems.has(stem(p)));
    });
    let [from, most] = [0, 0];
    hits.forEach((hit, i) => {
      const seen = new Set();
      for (let n = i; n < hits.length && hits[n].index < hit.index + length - before; n++) seen.add(stem(hits[n][0].toLowerCase()));
      if (seen.size > most) [from, most] = [hit.index, seen.size];
    });
    from = from <= before ? 0 : text.indexOf(" ", from - before) + 1;
    let to = text.length <= from + length ? text.length : text.lastIndexOf(" ", from + length);
    if (to <= from) to = from + length;
    const out = [from > 0 ? "… " : ""];
    let at = from;
    for (const hit of hits.filter((h) => h.index >= from && h.index + h[0].length <= to)) {
      out.push(text.slice(at, hit.index), create("mark", { textContent: hit[0] }));
      at = hit.index + hit[0].length;
    }
    return [...out, text.slice(at, to), to < text.length ? " …" : ""];
  }

  const input = find("search");
  const results = find("search-results");
  input.parentElement.hidden = false;

  async function show() {
    const query = input.value.trim();
    if (query === "") {
      results.hidden = true;
      results.replaceChildren();
      return;
    }
    try {
      await load();
    } catch (e) {
      results.replaceChildren(create("p", { textContent: `The search is not available: ${e.message}.` }));
      results.hidden = false;
      return;
    }
    if (input.value.trim() !== query) return;
    const found = search(query);
    const excerpts = found.map(() => create("span", { className: "excerpt" }));
    const links = found.map((r, i) => {
      const href = `${root}${r.path}.html${r.id ? `#${r.id}` : ""}`;
      const name = r.heading && r.heading !== r.title ? `${r.title}: ${r.heading}` : r.title;
      return create("a", { href }, create("b", { textContent: name }), create("span", { className: "place", textContent: r.section }), excerpts[i]);
    });
    if (links.length > 0) results.replaceChildren(...links);
    else results.replaceChildren(create("p", { textContent: `No page contains “${query}”.` }));
    results.hidden = false;
    results.scrollTop = 0;
    find("search-count").textContent = links.length === 0 ? "No results" : links.length === 1 ? "1 result" : `${links.length} results`;
    await loadTexts();
    const words = wordsOf(query);
    found.forEach((r, i) => excerpts[i].replaceChildren(...excerptOf(window.concertoTexts?.[r.passage] ?? "", words)));
  }

  window.concertoSite = { search: (query) => load().then(() => search(query)) };

  input.addEventListener("focus", () => load().then(loadTexts, () => {}));
  input.addEventListener("input", show);
  input.parentElement.addEventListener("keydown", (e) => {
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (e.key === "Escape") {
      results.hidden = true;
      input.focus();
    } else if (e.key === "ArrowDown" && at + 1 < links.length) links[at + 1].focus();
    else if (e.key === "ArrowUp" && at >= 0) (links[at - 1] ?? input).focus();
    else if (e.key === "Enter" && e.target === input && links.length > 0) links[0].click();
    else return;
    e.preventDefault();
  });
  document.addEventListener("pointerdown", (e) => {
    if (!input.parentElement.contains(e.target)) results.hidden = true;
  });
  input.parentElement.addEventListener("focusout", (e) => {
    if (e.relatedTarget && !input.parentElement.contains(e.relatedTarget)) results.hidden = true;
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, [contenteditable]")) return;
    e.preventDefault();
    input.focus();
    input.select();
  });

  // ---- samples

  // The playground of the site runs the samples, in a frame. It provides `window.playground` with
  // `ready`, `put(files)`, `run()`, `stop()`, `watch(f)` and `answer(number, value)`.
  function playground(onProgress) {
    playground.ready ??= new Promise((resolve, reject) => {
      const frame = create("iframe", { src: `${root}playground/index.html`, title: "Playground", hidden: true });
      frame.onload = () => {
        const p = frame.contentWindow.playground;
        if (typeof p?.run !== "function") {
          reject(new Error("This build of the site has no playground."));
          return;
        }
        const end = p.watch?.((now) => now.loaded && onProgress(now.loaded));
        p.ready.then(() => resolve({ api: p }), reject).finally(end);
      };
      document.body.append(frame);
    });
    return playground.ready;
  }

  // filesOf returns the files of a sample: the blocks of the page that it names.
  function filesOf(sample) {
    const files = {};
    for (const [name, id] of Object.entries(JSON.parse(sample.dataset.files))) files[name] = document.getElementById(id).textContent;
    const main = sample.dataset.main;
    if ("fragment" in sample.dataset) files[main] = `fn main() {\n${files[main]}}\n`;
    if (main !== "main.conc" && !("main.conc" in files)) {
      files["main.conc"] = files[main];
      delete files[main];
    }
    const hosts = Object.keys(files).filter((name) => name.endsWith(".host"));
    if (!("Concerto.toml" in files) && hosts.length > 0) {
      files["Concerto.toml"] = hosts.map((name) => `[hosts.${name.slice(0, -5)}]\ncommand = "./${name.slice(0, -5)}"\n`).join("\n");
    }
    return files;
  }

  let running = null; // the sample that runs

  async function run(sample) {
    const output = sample.querySelector('[data-testid="sample-output"]');
    const errors = sample.querySelector('[data-testid="sample-errors"]');
    const state = sample.querySelector(".state");
    const button = sample.querySelector('[data-testid="run-sample"]');
    if (isFile) {
      state.textContent = "Running samples requires HTTP: open this page on a server, or use concerto playground.";
      return;
    }
    if (running === sample) {
      (await playground()).api.stop();
      return;
    }
    if (running) {
      state.textContent = "Another sample is running.";
      return;
    }
    running = sample;
    button.textContent = "Stop";
    state.textContent = "Loading…";
    output.textContent = errors.textContent = "";
    output.hidden = errors.hidden = true;
    const loaded = sample.querySelector('[data-testid="loaded"]');
    const questions = sample.querySelector(".questions");
    let end;
    try {
      const { api } = await playground((progress) => (loaded.textContent = progress));
      loaded.textContent = "";
      api.put(filesOf(sample));
      state.textContent = "Running…";
      const result = api.run();
      end = api.watch?.((now) => {
        show(now);
        ask(questions, now.asks[0], api);
        if (now.status.state === "waiting") state.textContent = now.asks.length > 0 ? "The program waits for your answer." : "The program waits for an answer. Open it in the playground to reply, or stop it.";
        else state.textContent = "Running…";
      });
      const { code, stdout, stderr } = await result;
      end?.();
      show({ output: [{ kind: "stdout", text: stdout }, { kind: "stderr", text: stderr }] });
      output.hidden = false;
      errors.classList.toggle("failed", code !== 0);
      state.textContent = code === 0 ? "Done." : `Exit code ${code}.`;
    } catch (e) {
      state.textContent = e.message;
      playground.ready = undefined;
    } finally {
      end?.();
      loaded.textContent = "";
      ask(questions, undefined);
      running = null;
      button.textContent = "Run";
    }

    function show(now) {
      for (const place of [output, errors]) {
        place.textContent = now.output.filter((p) => (p.kind === "stdout") === (place === output)).map((p) => p.text).join("");
        place.hidden = place.textContent === "";
      }
    }
  }

  // ask shows a question of the program, with its choices or a field for the answer.
  function ask(place, question, api) {
    if (Number(place.dataset.number) === question?.number) return;
    place.dataset.number = question?.number ?? "";
    place.replaceChildren();
    if (!question) return;
    const answer = (value) => api.answer(question.number, value);
    const choices = (question.choices ?? []).map(([value, label]) => create("button", { type: "button", textContent: label, onclick: () => answer(value) }));
    const text = create("p", { textContent: question.prompt });
    if (question.closed) {
      place.append(text, ...choices);
      choices.at(-1).focus();
      return;
    }
    const input = create("input", { autocomplete: "off" });
    const form = create("form", { onsubmit: (e) => (e.preventDefault(), answer(input.value)) }, create("label", {}, text, input), ...choices, create("button", { textContent: "Answer" }));
    place.append(form);
    input.focus();
  }

  // linkOf returns the address that opens a sample in the playground: "#p1=" and the base64url of the
  // raw DEFLATE of {"files": {NAME: TEXT}, "open": NAME}.
  async function linkOf(sample) {
    const files = filesOf(sample);
    const text = JSON.stringify({ files, open: "main.conc" in files ? "main.conc" : sample.dataset.main });
    const packed = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
    const letters = Array.from(new Uint8Array(packed), (b) => String.fromCharCode(b)).join("");
    return `${root}playground/index.html#p1=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  }

  for (const sample of document.querySelectorAll('[data-testid="sample"]')) {
    const button = sample.querySelector('[data-testid="run-sample"]');
    button.hidden = false;
    button.addEventListener("click", () => run(sample));
    const open = create("a", { href: `${root}playground/index.html`, textContent: "Open in the playground" });
    button.after(open);
    const address = () => linkOf(sample).then((href) => (open.href = href), () => {});
    for (const event of ["pointerenter", "focus", "touchstart"]) open.addEventListener(event, address, { once: true, passive: true });
  }

  // ---- fixes: the button exchanges the wrong program and the fixed one

  for (const button of document.querySelectorAll('[data-testid="apply-fix"]')) {
    const fixed = button.previousElementSibling;
    const wrong = button.parentElement.previousElementSibling; // the buttons that copy come later
    button.hidden = false;
    button.addEventListener("click", () => {
      const text = wrong.innerHTML;
      wrong.innerHTML = fixed.innerHTML;
      fixed.innerHTML = text;
      const changed = wrong.classList.toggle("changed");
      button.textContent = changed ? "Undo" : "Apply the fix";
    });
  }

  // ---- links at headings

  for (const h of document.querySelectorAll("article :is(h2, h3, h4)[id]")) {
    const a = create("a", { className: "anchor", href: `#${h.id}`, textContent: "#" });
    a.setAttribute("aria-label", "Link to this section");
    h.append(" ", a);
  }

  // ---- buttons that copy code: of a terminal, only its commands

  const codeOf = (pre) => (pre.dataset.word === "console" ? [...pre.textContent.matchAll(/^\$ (.*(?:\\\n.*)*)\n?/gm)].map((m) => `${m[1]}\n`).join("") : pre.textContent);
  if (navigator.clipboard) {
    for (const pre of document.querySelectorAll("article pre[data-word]")) {
      const button = create("button", { type: "button", className: "copy" });
      const show = (label, drawing) => {
        button.setAttribute("aria-label", label);
        button.title = label;
        button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${drawing}"/></svg>`;
      };
      const begin = () => show("Copy this code", "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1");
      begin();
      const box = create("div", { className: "code" });
      pre.replaceWith(box);
      box.append(pre, button);
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(codeOf(pre)).then(() => show("Copied", "M3 8.5l3.5 3.5 6.5-8"), () => show("Not copied", "M4 4l8 8M12 4l-8 8"));
        setTimeout(begin, 2000);
      });
    }
  }

  // ---- the contents mark the section that is read

  const contents = new Map([...document.querySelectorAll(".contents a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  function mark() {
    const headings = [...contents.keys()].map((id) => document.getElementById(id));
    const current = headings.findLast((h) => h.getBoundingClientRect().top < 120) ?? headings[0];
    for (const [id, a] of contents) a.toggleAttribute("data-current", id === current.id);
  }
  if (contents.size > 0) {
    let frame = 0;
    addEventListener("scroll", () => (frame ||= requestAnimationFrame(() => ((frame = 0), mark()))), { passive: true });
    mark();
  }

  // ---- versions: ../versions.json is a list of names of directories next to this one

  const versions = find("versions");
  async function listVersions() {
    const all = await (await fetch(`${root}../versions.json`)).json();
    const names = (Array.isArray(all) ? all : all.versions ?? []).map((v) => v.version ?? v);
    const own = find("version").textContent;
    const links = names.filter((v) => v !== own && /^[\w.+-]+$/.test(v)).map((v) => create("a", { href: `${root}../${v}/index.html`, textContent: v }));
    if (links.length === 0) return;
    links.forEach((l, i) => versions.append(i > 0 ? ", " : "", l));
    versions.hidden = false;
  }
  // a site at the root of a server has no directory above it
  if (versions && !isFile && new URL(`${root}..`, location).href !== new URL(root || ".", location).href) listVersions().catch(() => {});

  // ---- on a narrow screen the lists of pages and headings are closed

  for (const [query, place] of [["(max-width: 56rem)", ".side"], ["(max-width: 75rem)", ".contents"]]) {
    const narrow = matchMedia(query);
    const fit = () => document.querySelector(`${place} > details`)?.toggleAttribute("open", !narrow.matches);
    narrow.addEventListener("change", fit);
    fit();
  }
  for (const a of document.querySelectorAll(".contents a")) a.addEventListener("click", () => innerWidth <= 1200 && a.closest("details").removeAttribute("open"));

  // ---- the current page is visible in its lists

  for (const list of document.querySelectorAll(".top nav, .side")) {
    const current = list.querySelector("[aria-current]");
    if (!current) continue;
    const [own, box] = [current.getBoundingClientRect(), list.getBoundingClientRect()];
    list.scrollBy(own.right > box.right ? own.left - box.left - 48 : 0, own.bottom > box.bottom ? own.top - box.top - 96 : 0);
  }
})();
