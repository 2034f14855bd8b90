// When shows how long ago a time was, by the server's clock, and updates the text.
import { ago, html } from "parts/base.js";
import { moment, useClock } from "parts/format.js";
import { now } from "./data/index.js";

export function When({ ts }) {
  useClock();
  return ts ? html`<time datetime=${ts} title=${moment(ts)}>${ago(ts, now())}</time>` : null;
}
