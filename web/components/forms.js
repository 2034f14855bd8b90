import { html, signal } from "../parts/base.js";
import { Form } from "../parts/form.js";
import { hostile } from "./samples.js";

const sent = signal(null);
window.sent = sent;

const schema = {
  type: "object", required: ["name", "count", "kind", "address"],
  properties: {
    name: { type: "string", title: "Name", description: "As printed on the invoice", minLength: 2 },
    count: { type: "integer", title: "How many", minimum: 1, maximum: 99 },
    price: { type: ["number", "null"], title: "Price" },
    kind: { enum: ["new", "used", 3], title: "Kind" },
    gift: { type: "boolean", title: "It is a gift" },
    tags: { type: "array", items: { type: "string" }, title: "Tags" },
    address: { $ref: "#/$defs/address" },
    extra: { title: "Anything else" },
  },
  $defs: { address: { type: "object", title: "Address", required: ["city"], properties: { city: { type: "string", title: "City" }, zip: { type: "string", title: "ZIP" } } } },
};

const every = [
  { id: "text", question: "What is it called?", header: "Name", kind: "text", required: true },
  { id: "choice", question: "How shall it be shipped?", kind: "choice", required: true, allow_other: true, options: [{ value: "air", label: "By air", description: "Two days" }, { value: "sea", label: "By sea" }] },
  { id: "multi", question: "Which checks are to be made?", kind: "multi", allow_other: true, options: [{ value: "lint" }, { value: "test", label: "tests" }, { value: "audit" }], default: ["test"] },
  { id: "confirm", question: "Is the address right?", kind: "confirm", required: true },
  { id: "secret", question: "The password of the registry", kind: "text", secret: true },
  { id: "json", question: "Options", kind: "json" },
  { id: "order", question: "The order", kind: "json", required: true, schema },
];

const form = (questions, more = {}) => () => html`<${Form} questions=${questions} onSubmit=${(answers) => { sent.value = answers; }} ...${more} />`;

export const forms = {
  "every kind": form(every),
  "what the host refused": form(every.slice(0, 2), { errors: { text: "This name is used already.", choice: "By air is not possible." } }),
  busy: form(every.slice(0, 1), { busy: true }),
  "hostile texts": form([{ id: "x", question: hostile, header: hostile, kind: "choice", options: [{ value: hostile, label: hostile, description: hostile }] }]),
};
