// Turns the messages of one exchange with a host or an agent into the rows of a conversation. The
// relay's thread and the report show the same rows.

const bookkeeping = /^(start|usage|turn|other|system)$/; // stages of progress that the footer shows
const failure = /^(fail|error|declin|denied|cancel)/;

// sentence returns the text of a message for people, or "" if it has none.
export function sentence(v) {
  const text = v?.message ?? v?.text ?? v?.chunk ?? v?.preview ?? v;
  return text === undefined || text === null ? "" : typeof text === "string" ? text : JSON.stringify(text);
}

// titleOf returns what a call or an approval is about. A message of an older version has only the
// text of the host.
const titleOf = ({ title, line = "", value }, text = value) => (title ? { title, about: line } : { title: sentence(text), about: "" });

// block returns the part of a vendor's message that describes a call. Of several, it is the first
// that isNew accepts.
function block(payload, isNew) {
  const all = payload?.message?.content;
  const blocks = Array.isArray(all) ? all.filter((b) => /^tool_/.test(b?.type)) : [payload?.params?.item ?? payload?.params?.update ?? {}];
  return blocks.find((b) => isNew(idOf(b))) ?? blocks[0] ?? {};
}

const idOf = (b) => b.tool_use_id ?? b.toolCallId ?? b.id;

// rowsOf returns the rows of an exchange. A message is {type, value, ts, id?, title?, line?, error?,
// of?}: ts is its time in milliseconds, title and line are what a call or an approval is about, or an
// event of the runtime, and of is passed on to the row. The type prompt begins the exchange, and the type answer answers the message
// with the same id. The rows have one of the kinds
//
//   prompt   {text}            the task
//   text     {text}            joined pieces of text, or the result
//   thought  {text, ms}
//   call     {title, about, state, ms, input, output}   state is running, done or failed
//   progress {all, percent}    the progress of the whole exchange; all contains its messages
//   asks     {type, id, value, answer, error}   a question, or a request for approval with title and about;
//                              isOfCall means that the row of a call has both
//   failed   {text}
//   note     {title, text}
//   event    {title}           an event of the runtime
//   other    {}                a message that the caller shows
//   facts    {usage, cost, session, turns, all}   all contains the messages of which the others show nothing
export function rowsOf(messages) {
  const rows = [], calls = new Map(), asked = new Map(), texts = [];
  const facts = { kind: "facts", all: [] };
  let last = null, progress = null; // the row to which text or thoughts are appended, and the row of the progress
  const add = (m, row) => {
    last = { ts: m.ts, of: m.of, ...row };
    rows.push(last);
    return last;
  };
  const piece = (m, kind, text, message) => {
    if (last?.kind !== kind) {
      add(m, { kind, pieces: [], ms: 0 });
      if (kind === "text") texts.push(last);
    }
    last.pieces.push({ text, message });
    last.ms = m.ts - last.ts;
  };
  const call = (m, id, row) => calls.set(id, add(m, { kind: "call", state: "running", id, ...row }));
  const ended = (row, m, state, output) => Object.assign(row, { state, output, ms: m.ts - row.ts });

  const handlers = {
    prompt: (m, v) => add(m, { kind: "prompt", text: sentence(v), value: v }),
    partial: (m, v) => piece(m, "text", sentence(v), v.message),
    retract: (m, v) => texts.forEach((t) => { t.pieces = t.pieces.filter((p) => p.message === undefined || !v.messages?.includes?.(p.message)); }),
    log: (m, v) => (v.level === "thought" ? piece(m, "thought", sentence(v)) : add(m, { kind: "note", title: v.agent?.name ?? v.level ?? "log", text: sentence(v) })),
    progress: (m, v) => {
      if (bookkeeping.test(v.stage)) return note(m, v);
      if (v.stage === "tool") return begin(m, v);
      if (v.stage === "tool_result" && end(m, v)) return;
      if (!progress) {
        rows.push(progress = { kind: "progress", ts: m.ts, of: m.of, all: [] });
      }
      progress.all.push(m);
      progress.percent = v.percent ?? m.percent ?? progress.percent;
    },
    tool_call: (m, v) => call(m, `tool_call ${m.id ?? v.id}`, { title: `Call the tool ${v.tool}`, about: "", input: v.args }),
    question: (m, v) => ask(m, v),
    approval: (m, v) => ask(m, v),
    "host:decided": (m, v) => Object.assign(ask({ ...m, type: "approval" }, v), { answer: v.decision }),
    withdraw: (m, v) => {
      const row = asked.get(v.id);
      if (row && row.answer === undefined) row.error = "withdrawn";
    },
    plan_limit: (m, v) => add(m, { kind: "note", title: `limit of ${v.window ?? "the plan"}`, text: `${v.status ?? ""}${v.used_percent === undefined ? "" : ` (${Math.round(v.used_percent)} % used)`}` }),
    answer: (m) => {
      const row = calls.get(`tool_call ${m.id}`) ?? asked.get(m.id);
      if (row?.kind === "call") ended(row, m, m.error ? "failed" : "done", m.error ?? m.value);
      else if (row) Object.assign(row, { answer: m.value ?? null, error: m.error });
      else note(m);
    },
    result: (m, v) => {
      note(m, v);
      const text = typeof v === "string" ? v : v.text;
      if (text && textOf(texts.at(-1)).trim() !== text.trim()) piece(m, "text", text);
    },
    error: (m, v) => add(m, { kind: "failed", text: sentence(v) }),
    init_ack: (m) => note(m),
    other: (m) => add(m, { kind: "other" }),
  };
  function ask(m, v) {
    const id = m.id ?? v.id, about = m.type === "approval" && titleOf(m, v.description);
    const of = about && (calls.get(v.call) ?? [...calls.values()].find((c) => c.state === "running" && c.title === about.title && c.about === about.about));
    const row = add(m, { kind: "asks", type: m.type, id, call: v.call, value: v, ...about, isOfCall: !!of });
    asked.set(id, row);
    return row;
  }
  function begin(m, v) {
    const b = block(v.payload, (id) => !calls.has(id)), id = idOf(b) ?? `call ${calls.size}`, row = calls.get(id);
    const about = { ...titleOf(m), input: b.input ?? b.rawInput ?? b.arguments ?? b.command ?? b.changes };
    if (row) Object.assign(row, about);
    else call(m, id, about);
  }
  function end(m, v) {
    const open = (row) => row?.kind === "call" && row.state === "running";
    const b = block(v.payload, (id) => open(calls.get(id))), id = idOf(b);
    if (rows.some((r) => r.kind === "asks" && r.call && r.call === id && !calls.has(id))) return true; // the answer to a question, which its row shows
    const row = id === undefined ? [...calls.values()].find(open) : calls.get(id);
    if (!row) return false;
    const output = b.type === "tool_result" ? b.content : b.aggregatedOutput ?? b.rawOutput ?? b.result ?? b.content;
    ended(row, m, b.is_error || failure.test(b.status ?? "") ? "failed" : "done", output ?? sentence(v));
    return true;
  }
  function note(m, v) {
    facts.all.push(m);
    if (!v || typeof v !== "object") return;
    const { usage = facts.usage, cost_usd: cost = facts.cost, session = facts.session, turns = facts.turns } = v;
    Object.assign(facts, { usage, cost, session, turns });
  }

  for (const m of messages) {
    const handle = Object.hasOwn(handlers, m.type) ? handlers[m.type] : (x, v) => add(x, m.title ? { kind: "event", title: m.title } : { kind: "note", title: m.type, text: typeof v === "object" && !v.message && !v.text ? "" : sentence(v), value: v });
    if (last?.kind === "thought" && !(m.type === "log" && m.value?.level === "thought")) last.ms = m.ts - last.ts;
    handle(m, m.value ?? {});
  }
  for (const r of rows) if (r.pieces) r.text = textOf(r);
  return [...rows.filter((r) => !r.pieces || r.text), ...(facts.all.length > 0 ? [facts] : [])];
}

const textOf = (row) => row?.pieces.map((p) => p.text).join("") ?? "";
