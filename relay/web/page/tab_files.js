// The files of a run's directory: read, search, and edit. A write needs an approval.
import { bytes, html, icon, plain, useEffect, useRef, useState } from "parts/base.js";
import { Source } from "parts/source.js";
import { requests, rpc, sentence } from "./data/index.js";
import { Card } from "./card.js";
import { failure, Loaded, useDo, useLoad } from "./load.js";
import { useKeys } from "./keymap.js";
import { go, hrefOf } from "./route.js";

const join = (dir, name) => (dir && dir !== "." ? `${dir}/${name}` : name);
const parent = (path) => path.split("/").slice(0, -1).join("/");

export function FilesTab({ id, query }) {
  const dir = query.get("dir") ?? "", file = query.get("file") ?? "", q = query.get("q") ?? "", line = Number(query.get("line")) || 0;
  const to = (more) => hrefOf("runs", id, "files", Object.fromEntries(Object.entries(more).filter(([, v]) => v)));
  const field = useRef();
  useKeys({ filter: () => field.current?.focus() });
  const search = (e) => {
    e.preventDefault();
    go(to({ q: field.current.value, dir }));
  };
  return html`<div class="files scroll-tab"><form class="bar" role="search" onSubmit=${search}><input ref=${field} type="search" class="grow mono" aria-label="Search in all files" placeholder="Search in files" defaultValue=${q} spellcheck=${false} autocapitalize="none" /><button>Search</button></form>
    <${Crumbs} dir=${file ? parent(file) : dir} file=${file} to=${to} />
    ${file ? html`<${File} key=${file} id=${id} path=${file} line=${line} />` : q ? html`<${Found} id=${id} q=${q} to=${to} />` : html`<${Dir} id=${id} dir=${dir} to=${to} />`}</div>`;
}

function Crumbs({ dir, file, to }) {
  const parts = dir.split("/").filter((p) => p);
  return html`<nav class="crumbs" aria-label="Directory"><a href=${to({})}>files</a>${parts.map((p, i) => html`<span key=${i}> / <a href=${to({ dir: parts.slice(0, i + 1).join("/") })}>${plain(p)}</a></span>`)}${file && html` / <b>${plain(file.split("/").pop())}</b>`}</nav>`;
}

function Dir({ id, dir, to }) {
  const load = useLoad(() => rpc("rpc.fs.list", id, dir ? { path: dir } : {}), [id, dir]);
  return html`<${Loaded} load=${load} what="the directory">${(d) => html`<ul class="rows files-list">${[...d.entries].sort((a, b) => b.is_dir - a.is_dir).map((e) => html`<li key=${e.name}>
      ${e.is_link ? html`<span class="file-row quiet">${plain(e.name)} <span>symbolic link, not followed</span></span>` : html`<a class="file-row" href=${to(e.is_dir ? { dir: join(dir, e.name) } : { file: join(dir, e.name) })}><span class="picture">${icon(e.is_dir ? "folder" : "file")}</span><span class="grow">${plain(e.name)}${e.is_dir && "/"}</span><span class="quiet">${e.size_bytes != null && bytes(e.size_bytes)}</span></a>`}</li>`)}</ul>
    ${d.entries.length === 0 && html`<p class="quiet">The directory is empty.</p>`}${d.truncated && html`<p class="quiet">Only the first 500 entries are shown.</p>`}`}</${Loaded}>`;
}

function Found({ id, q, to }) {
  const load = useLoad(() => rpc("rpc.fs.search", id, { q }), [id, q]);
  return html`<${Loaded} load=${load} what="the matches">${(d) => html`<p class="quiet" role="status">${d.matches.length === 0 ? "No matches." : `${d.matches.length}${d.truncated ? " or more" : ""} matching ${d.matches.length === 1 ? "line" : "lines"}.`}</p>
    <ul class="rows">${d.matches.map((m, i) => html`<li key=${i}><a class="file-row match" href=${to({ file: m.path, line: m.line })}><span class="mono quiet">${plain(m.path)}:${m.line}</span><code class="grow clip">${plain(m.text.trim())}</code></a></li>`)}</ul>`}</${Loaded}>`;
}

function File({ id, path, line }) {
  const load = useLoad(() => rpc("rpc.fs.read", id, { path }), [id, path]);
  const [editing, setEditing] = useState(null); // {base, text} of the edited file; null if no file is being edited
  return html`<${Loaded} load=${load} what="the file">${(f) => editing
    ? html`<${Editor} id=${id} path=${path} was=${editing} now=${f} onSaved=${() => (setEditing(null), load.reload())} onLeave=${() => setEditing(null)} onLook=${load.reload} />`
    : html`<div class="bar file-bar"><span class="grow quiet">${bytes(f.size)}${f.truncated && ", only the first MiB is shown"}</span>
        <button type="button" onClick=${load.reload}>Reload</button>${!f.truncated && html`<button type="button" data-testid="edit" onClick=${() => setEditing({ base: f.sha256, text: f.content })}>Edit</button>`}</div>
      <${Source} text=${f.content} line=${line} lang=${path.endsWith(".conc") ? "concerto" : undefined} label=${plain(path)} />`}</${Loaded}>`;
}

// Editor writes a file after an approval. The text stays until the file is written.
function Editor({ id, path, was, now, onSaved, onLeave, onLook }) {
  const field = useRef(), [callId, setCallId] = useState(""), [base, setBase] = useState(was.base);
  const [write, busy, failed] = useDo(async () => {
    const call = rpc("rpc.fs.write", id, { path, content: field.current.value, base_sha256: base });
    setCallId(call.id);
    try {
      await call;
    } catch (e) {
      setCallId("");
      if (e.code === "changed") onLook(); // load the current content of the file
      throw new Error(e.code === "denied" ? "The write was denied." : e.code === "changed" ? "The file has changed since you opened it. Nothing was written." : sentence(e));
    }
    onSaved();
  });
  const waits = requests.value.find((q) => q.run_id === id && q.request_id === callId);
  useEffect(() => field.current?.focus(), []);
  const box = useRef();
  useEffect(() => box.current?.scrollIntoView({ block: "center" }), [!!waits]);
  const changed = now.sha256 !== base;
  return html`<div class="editor"><textarea ref=${field} class="mono" data-testid="editor" aria-label=${"Edit " + plain(path)} spellcheck=${false} autocapitalize="none" readonly=${busy} defaultValue=${was.text}></textarea>
    ${failure(failed)}
    ${changed && !busy && html`<div class="banner"><span>The file has changed since you opened it. Your text is still here.</span> <button type="button" onClick=${() => setBase(now.sha256)}>Overwrite</button></div><details><summary>Current content</summary><pre class="log">${plain(now.content)}</pre></details>`}
    ${busy && html`<p role="status" class="quiet">${waits ? "The write needs an approval:" : "Sending to the machine …"}</p>`}
    ${waits && html`<div class="request" ref=${box} data-key=${waits.key}><${Card} request=${waits} /></div>`}
    <div class="bar"><button type="button" class="primary" data-testid="save" aria-disabled=${busy || changed} onClick=${() => !changed && write()}>Write</button><button type="button" aria-disabled=${busy} onClick=${() => !busy && onLeave()}>Cancel</button></div></div>`;
}
