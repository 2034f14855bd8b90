// Renders a JSON Schema as fields. The members of an object have fields for their types, and all
// other values are entered as JSON. The server validates the result against the complete schema.

// resolve follows references within a schema and removes null from nullable types.
function resolve(schema, root) {
  let s = schema;
  for (let i = 0; i < 32 && s?.$ref; i++) s = s.$ref.replace(/^#\/?/, "").split("/").filter(Boolean).reduce((o, k) => o?.[k.replaceAll("~1", "/").replaceAll("~0", "~")], root);
  if (s === null || typeof s !== "object") return {};
  const either = (s.anyOf ?? s.oneOf)?.filter((x) => x.type !== "null");
  if (either?.length === 1) return { ...resolve(either[0], root), nullable: true };
  if (Array.isArray(s.type)) {
    const types = s.type.filter((t) => t !== "null");
    return { ...s, type: types.length === 1 ? types[0] : undefined, nullable: types.length < s.type.length };
  }
  return s;
}

function kindOf(s) {
  if (Array.isArray(s.enum)) return "enum";
  if ("const" in s) return "enum";
  if (s.type === "object" && s.properties && Object.keys(s.properties).length) return "object";
  if (["boolean", "integer", "number", "string"].includes(s.type)) return s.type;
  if (s.type === "array" && s.items?.type === "string" && !s.items.enum) return "lines";
  return "json";
}

// fieldsOf returns the members of an object schema, {name, title, description, required, kind,
// options, schema, nullable}. It returns null if the schema is not an object with members.
export function fieldsOf(schema, root = schema?.$root ?? schema) {
  const s = resolve(schema, root);
  if (kindOf(s) !== "object") return null;
  return Object.entries(s.properties).map(([name, raw]) => {
    const m = resolve(raw, root);
    return {
      name, kind: kindOf(m), title: m.title ?? name, description: m.description, required: (s.required ?? []).includes(name),
      options: m.enum ?? ("const" in m ? [m.const] : undefined), schema: { ...m, $root: root }, nullable: !!m.nullable, preset: m.default,
    };
  });
}

// initial returns the initial state of a field: an object of states for an object, else a text.
export function initial(schema, preset) {
  const fields = fieldsOf(schema);
  if (!fields) return preset === undefined ? "" : JSON.stringify(preset, null, 2);
  return Object.fromEntries(fields.map((f) => [f.name, initialOf(f, preset?.[f.name] ?? f.preset)]));
}

function initialOf(f, preset) {
  if (f.kind === "object") return initial(f.schema, preset);
  if (f.kind === "boolean") return preset === true;
  if (preset === undefined || preset === null) return "";
  if (f.kind === "enum") return String(f.options.findIndex((o) => JSON.stringify(o) === JSON.stringify(preset)));
  if (f.kind === "lines") return preset.join("\n");
  return f.kind === "json" ? JSON.stringify(preset, null, 2) : String(preset);
}

// readField parses the state of a field. It returns {value}, {error: sentence}, or {error: {path:
// sentence}} for the members of an object. For an empty optional field it returns {}.
export function readField(schema, state, required) {
  const fields = fieldsOf(schema);
  if (!fields) return readJSON(state, required);
  const wrong = {};
  const value = readMembers(fields, state, "", wrong);
  return Object.keys(wrong).length ? { error: wrong } : { value };
}

function readMembers(fields, state, path, wrong) {
  const out = {};
  for (const f of fields) {
    const at = path ? `${path}.${f.name}` : f.name;
    if (f.kind === "object") {
      const inner = fieldsOf(f.schema);
      if (!f.required && untouched(inner, state[f.name])) continue;
      out[f.name] = readMembers(inner, state[f.name], at, wrong);
      continue;
    }
    const r = read(f, state[f.name]);
    if (r.error) wrong[at] = r.error;
    else if (r.value !== undefined) out[f.name] = r.value;
    else if (f.required && f.nullable) out[f.name] = null;
    else if (f.required) wrong[at] = "Enter a value.";
  }
  return out;
}

// untouched reports whether all fields of an object are unchanged.
function untouched(fields, state) {
  return fields.every((f) => JSON.stringify(state[f.name]) === JSON.stringify(initialOf(f, f.preset)));
}

function read(f, state) {
  if (f.kind === "boolean") return { value: state };
  if (f.kind === "string") return state === "" && (!f.required || f.nullable) ? {} : readText(f.schema, state);
  if (state.trim() === "") return f.kind === "lines" && f.required ? { value: [] } : {};
  if (f.kind === "enum") return { value: f.options[Number(state)] };
  if (f.kind === "lines") return { value: state.split("\n").filter((l) => l !== "") };
  if (f.kind === "json") return readJSON(state, true);
  return readNumber(f, state.trim());
}

function readText(s, text) {
  const n = [...text].length;
  if (s.minLength > n) return { error: `Enter at least ${s.minLength} characters.` };
  if (s.maxLength < n) return { error: `Enter at most ${s.maxLength} characters (now ${n}).` };
  return { value: text };
}

function readNumber(f, text) {
  const n = Number(text);
  if (!/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) || !Number.isFinite(n)) return { error: "Enter a number." };
  if (f.kind === "integer" && !Number.isSafeInteger(n)) return { error: "Enter a whole number." };
  if (n < f.schema.minimum) return { error: `Enter ${f.schema.minimum} or more.` };
  if (n > f.schema.maximum) return { error: `Enter ${f.schema.maximum} or less.` };
  return { value: n };
}

function readJSON(text, required) {
  if (text.trim() === "") return required ? { error: "Enter a value." } : {};
  try {
    return { value: JSON.parse(text) };
  } catch (e) {
    return { error: `Invalid JSON: ${e.message}` };
  }
}
