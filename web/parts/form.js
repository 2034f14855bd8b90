import { html, icon, plain, useId, useRef, useState } from "./base.js";
import { Markdown } from "./markdown.js";
import { fieldsOf, initial, readField } from "./schema.js";

const other = Symbol("other"); // the choice to enter an answer that is not offered

// start returns the initial state of a question, which is its default answer.
function start(q) {
  if (q.kind === "multi") return { chosen: new Set(Array.isArray(q.default) ? q.default : []), other: "" };
  if (q.kind === "choice") return { chosen: q.default ?? null, other: "" };
  if (q.kind === "confirm") return q.default ?? null;
  if (q.kind === "json") return initial(q.schema ?? true, q.default);
  return q.default ?? "";
}

const missing = "Enter an answer.";

// answer returns {value} or {error} for the state of a question. For an optional question without
// an answer it returns {}. error is a sentence. For a schema, error contains one sentence for each
// path.
function answer(q, state) {
  const none = q.required ? { error: missing } : {};
  switch (q.kind) {
    case "multi": {
      const all = [...state.chosen].filter((v) => v !== other);
      if (state.chosen.has(other)) {
        if (!state.other.trim()) return { error: "Enter the other answer or clear the mark." };
        all.push(state.other);
      }
      return all.length ? { value: all } : q.required ? none : { value: [] };
    }
    case "choice":
      if (state.chosen === other) return state.other.trim() ? { value: state.other } : { error: "Enter the other answer." };
      return state.chosen === null ? none : { value: state.chosen };
    case "confirm":
      return state === null ? none : { value: state };
    case "json":
      return readField(q.schema ?? true, state, !!q.required);
    default:
      return state === "" ? none : { value: state };
  }
}

// toData converts a question's state to JSON data; fromData converts it back.
function toData(q, state) {
  if (q.kind === "multi") return { ...state, chosen: [...state.chosen].filter((v) => v !== other), writes: state.chosen.has(other) };
  return q.kind === "choice" && state.chosen === other ? { other: state.other, writes: true } : state;
}

function fromData(q, was) {
  if (q.kind === "multi") return { chosen: new Set(was.writes ? [...was.chosen, other] : was.chosen), other: was.other };
  return q.kind === "choice" && was.writes ? { chosen: other, other: was.other } : was;
}

// begin returns the initial state of a form: the stored drafts, or else the defaults.
function begin(questions, drafts) {
  return Object.fromEntries(questions.map((q) => [q.id, drafts && Object.hasOwn(drafts, q.id) ? fromData(q, drafts[q.id]) : start(q)]));
}

// useForm manages the state of questions. check() returns {answers, errors}. answers contains the
// answers by id. If an answer is missing or invalid, answers is null and the errors become visible.
// reset() hides the errors. The caller's errors, {id: sentence}, are shown too. typed {load(),
// save(states)} loads and stores drafts, without secrets.
export function useForm(questions, errors, typed) {
  const [states, setStates] = useState(() => begin(questions, typed?.load()));
  const [own, setOwn] = useState({});
  const states_ = useRef(states);
  const set = (id, state) => {
    states_.current = { ...states_.current, [id]: state };
    setStates(states_.current);
    typed?.save(Object.fromEntries(questions.filter((q) => !q.secret).map((q) => [q.id, toData(q, states_.current[q.id] ?? start(q))])));
    setOwn(({ [id]: removed, ...rest }) => rest);
  };
  const check = () => {
    const answers = {};
    const wrong = {};
    for (const q of questions) {
      const a = answer(q, states_.current[q.id] ?? start(q));
      if (a.error) wrong[q.id] = a.error;
      else if (a.value !== undefined) answers[q.id] = a.value;
    }
    setOwn(wrong);
    return Object.keys(wrong).length ? { answers: null, errors: wrong } : { answers, errors: {} };
  };
  return { questions, states, set, check, errors: { ...errors, ...own } };
}

// focusWrong focuses the first invalid field in an element once it is rendered.
export function focusWrong(box) {
  requestAnimationFrame(() => box?.querySelector(":is(input, textarea, select)[aria-invalid=true], fieldset[aria-invalid=true] input")?.focus());
}

// Fields shows the questions of a form.
export function Fields({ form, disabled }) {
  return form.questions.map((q) => html`<${Question} key=${q.id} q=${q} state=${form.states[q.id] ?? start(q)} set=${(s) => form.set(q.id, s)} error=${form.errors[q.id]} disabled=${disabled} />`);
}

// Form shows questions and passes valid answers to onSubmit(answers).
export function Form({ questions, errors, onSubmit, busy, label = "Send" }) {
  const form = useForm(questions, errors);
  const box = useRef();
  const submit = (event) => {
    event.preventDefault();
    if (busy) return;
    const { answers } = form.check();
    if (answers) onSubmit(answers);
    else focusWrong(box.current);
  };
  return html`<form class="form" ref=${box} onSubmit=${submit} novalidate><${Fields} form=${form} />
    <div class="dialog-do"><button class="primary" type="submit" aria-disabled=${String(!!busy)}>${busy ? "Sending …" : label}</button></div></form>`;
}

function Question(props) {
  const { q, error } = props;
  const id = useId();
  const described = typeof error === "string" ? `${id}-error` : undefined;
  const title = html`${q.header && html`<span class="form-header">${plain(q.header)}</span>`}<${Markdown} text=${q.question ?? ""} />${q.required ? "" : html` <span class="form-needed">(optional)</span>`}`;
  const wrong = typeof error === "string" && html`<${Wrong} id=${described} text=${error} />`;
  const inner = { ...props, id, described };
  if (q.kind === "choice" || q.kind === "multi" || q.kind === "confirm") {
    return html`<fieldset class="form-question" aria-describedby=${described} aria-invalid=${error ? "true" : undefined} role=${q.kind === "multi" ? "group" : "radiogroup"} aria-required=${q.kind !== "multi" && q.required ? "true" : undefined}>
      <legend>${title}</legend><${Options} ...${inner} />${wrong}</fieldset>`;
  }
  if (q.kind === "json" && fieldsOf(q.schema)) {
    return html`<fieldset class="form-question"><legend>${title}</legend><${Schema} schema=${q.schema} state=${props.state} set=${props.set} errors=${error} disabled=${props.disabled} />${wrong}</fieldset>`;
  }
  return html`<div class="form-question"><label class="asks" for=${id}>${title}</label><${Entry} ...${inner} />${wrong}</div>`;
}

function Wrong({ id, text }) {
  return html`<p class="form-error" id=${id}>${icon("alert")}<span>${plain(text)}</span></p>`;
}

function Entry({ q, id, state, set, described, disabled }) {
  const rest = { id, disabled, "aria-describedby": described, "aria-invalid": described ? "true" : undefined, "aria-required": q.required ? "true" : undefined, onInput: (e) => set(e.target.value), autocapitalize: "none" };
  if (q.secret) return html`<input type="password" autocomplete="off" value=${state} ...${rest} /><p class="form-hint">The answer is never stored, shown or logged.</p>`;
  if (q.kind === "json") return html`<textarea class="json" rows="4" spellcheck=${false} placeholder="JSON" value=${state} ...${rest}></textarea>`;
  const long = String(state).includes("\n") || String(state).length > 80;
  return html`<textarea rows=${long ? 6 : 2} value=${state} ...${rest}></textarea>`;
}

function Options({ q, id, state, set, disabled }) {
  const multi = q.kind === "multi";
  const confirm = q.kind === "confirm";
  const options = confirm ? [{ value: true, label: "Yes" }, { value: false, label: "No" }] : q.options ?? [];
  const has = (v) => (confirm ? state === v : multi ? state.chosen.has(v) : state.chosen === v);
  const choose = (v, on) => {
    if (confirm) return set(v);
    if (!multi) return set({ ...state, chosen: v });
    const chosen = new Set(state.chosen);
    if (on) chosen.add(v);
    else chosen.delete(v);
    set({ ...state, chosen });
  };
  const all = q.allow_other ? [...options, { value: other, label: "Other" }] : options;
  return html`${all.map((o, i) => html`<label class="form-option" key=${i}><input type=${multi ? "checkbox" : "radio"} name=${id} checked=${has(o.value)} disabled=${disabled} onChange=${(e) => choose(o.value, e.target.checked)} />
      <span>${plain(o.label ?? String(o.value))}${o.description && html`<small>${plain(o.description)}</small>`}</span></label>`)}
    ${q.allow_other && has(other) && html`<input type="text" aria-label="Other answer" value=${state.other} disabled=${disabled} onInput=${(e) => set({ ...state, other: e.target.value })} />`}`;
}

// Schema shows an object's members as fields.
function Schema({ schema, state, set, errors, path = "", disabled }) {
  return fieldsOf(schema).map((f) => html`<${Member} key=${f.name} f=${f} at=${path ? `${path}.${f.name}` : f.name} state=${state[f.name]} set=${(s) => set({ ...state, [f.name]: s })} errors=${errors} disabled=${disabled} />`);
}

function Member({ f, at, state, set, errors, disabled }) {
  const id = useId();
  const error = errors && typeof errors === "object" ? errors[at] : undefined;
  const title = html`${plain(f.title)}${f.required ? "" : html` <span class="form-needed">(optional)</span>`}`;
  const hint = f.description && html`<p class="form-hint" id=${`${id}-hint`}>${plain(f.description)}</p>`;
  const wrong = error && html`<${Wrong} id=${`${id}-error`} text=${error} />`;
  const described = [f.description && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  if (f.kind === "object") {
    return html`<fieldset class="form-question"><legend>${title}</legend>${hint}<${Schema} schema=${f.schema} state=${state} set=${set} errors=${errors} path=${at} disabled=${disabled} />${wrong}</fieldset>`;
  }
  const rest = { id, disabled, "aria-describedby": described, "aria-invalid": error ? "true" : undefined, "aria-required": f.required && f.kind !== "boolean" ? "true" : undefined };
  if (f.kind === "boolean") {
    return html`<div class="form-question"><label class="form-option"><input type="checkbox" checked=${state === true} ...${rest} onChange=${(e) => set(e.target.checked)} /><span>${plain(f.title)}</span></label>${hint}${wrong}</div>`;
  }
  return html`<div class="form-question"><label class="asks" for=${id}>${title}</label><${Control} f=${f} state=${state} set=${set} rest=${rest} />${hint}${wrong}</div>`;
}

function Control({ f, state, set, rest }) {
  const onInput = (e) => set(e.target.value);
  if (f.kind === "enum") {
    return html`<select ...${rest} value=${state} onChange=${onInput}><option value="">${f.required ? "Choose …" : "—"}</option>${f.options.map((o, i) => html`<option key=${i} value=${String(i)}>${plain(typeof o === "string" ? o : JSON.stringify(o))}</option>`)}</select>`;
  }
  if (f.kind === "number" || f.kind === "integer") return html`<input type="text" inputmode=${f.kind === "integer" ? "numeric" : "decimal"} value=${state} ...${rest} onInput=${onInput} />`;
  if (f.kind === "lines") return html`<textarea rows="3" placeholder="one a line" value=${state} ...${rest} onInput=${onInput}></textarea>`;
  if (f.kind === "json") return html`<textarea class="json" rows="3" placeholder="JSON" spellcheck=${false} value=${state} ...${rest} onInput=${onInput}></textarea>`;
  return html`<textarea rows=${String(state).length > 80 ? 4 : 1} value=${state} ...${rest} onInput=${onInput}></textarea>`;
}
