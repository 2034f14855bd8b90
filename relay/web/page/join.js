// The screen of the enrolment of this browser (#/join/…). The page loads this module, and those that
// only it needs, when a link of an enrolment is opened.
import { html, plain, useEffect, useRef, useState } from "parts/base.js";
import { checkLink, join, parseLink } from "./data/enrol.js";
import { devices, home, isApart, session } from "./data/index.js";
import { Icon } from "./icons.js";
import { lazy } from "./lazy.js";
import { failure, useDo } from "./load.js";
import { hrefOf, joinLink } from "./route.js";
import { Head } from "./shell.js";

const Choice = lazy(() => import("./passkey.js"), "Choice");
const again = "Run concerto-relay devices add on the machine again, and open the new link.";

// failures contains a sentence with the next step for each code of an enrolment that failed.
const failures = {
  __proto__: null,
  bad_message: () => "The link is incomplete. Scan the code again, or copy the whole link.",
  bad_name: () => "Enter a name of 1 to 200 bytes without invisible characters.",
  expired: () => `The link has expired. ${again}`,
  refused: () => `The owner did not confirm this device. ${again}`,
  insecure: () => "Over plain http this page can show runs, but it cannot create keys. Open the relay over https, and then the link again.",
  wrong_server: (link) => (isApart ? `The link is for ${link.server}, and this page for ${home}. Start concerto-relay page --server ${link.server}, and open the link again.` : `The link is for ${link.server}. Open it there, or add --page ${location.origin} to concerto-relay devices add.`),
  unknown_account: () => "The server does not know the account yet. Run concerto-relay doctor on the machine to check that hostd is connected.",
};
const untrusted = "The server’s list of devices is not that of the link’s account, so nothing was stored. Ask the owner whether the link is for this relay.";

const failureOf = (err, link) => failures[err.code]?.(link) ?? (err.name === "Refusal" ? untrusted : err.message);

// read returns the opened link, or why it cannot be used.
function read(text) {
  let link;
  try {
    link = parseLink(text);
    checkLink(link);
    return { link };
  } catch (err) {
    return { link, failed: failureOf(err, link) };
  }
}

export function Join() {
  const text = joinLink.value, [done, setDone] = useState(null);
  useEffect(() => () => (joinLink.value = ""), []); // the secret is no longer needed
  if (done) return html`<${Joined} device=${done} />`;
  const { link, failed } = text ? read(text) : { failed: `This page does not store the links of enrolments. Open the link or scan the code again.` };
  const has = link && devices.value?.find((d) => d.account === link.account && !d.problem);
  return html`<${Head} title="Enrol this device" />
    ${has ? html`<p>This browser is enrolled in this account as ${plain(has.name)}.</p><p><a class="button" href=${hrefOf("settings")}>Show its devices</a></p>` : failed ? failure(failed) : html`<${Form} key=${text} link=${link} onDone=${setDone} />`}`;
}

function Form({ link, onDone }) {
  const name = useRef(), make = useRef(), [waiting, setWaiting] = useState(null);
  const [enrol, busy, failed] = useDo(async () => {
    try {
      onDone(await join(link, name.current.value.trim(), setWaiting, make.current));
    } catch (err) {
      setWaiting(null);
      throw new Error(failureOf(err, link));
    }
  });
  if (waiting) {
    return html`<section class="panel narrow" aria-label="Waiting for the owner"><p role="status" class="event"><${Icon} name="busy" spin /><span class="grow">Waiting for the owner to confirm on the machine.</span></p>
      <p>On the machine, concerto-relay devices add shows the name of this device and asks. Leave this page open until then.</p>
      <dl class="facts"><div><dt>name</dt><dd>${plain(waiting.name)}</dd></div><div><dt>device</dt><dd class="mono">${waiting.id}</dd></div></dl>${waiting.temporary && html`<${Temporary} />`}</section>`;
  }
  return html`<form class="panel narrow" onSubmit=${(e) => (e.preventDefault(), enrol())}>
    <p>An enrolled device signs your decisions and input. The account’s machines then execute only what enrolled devices have signed.</p>
    <dl class="facts"><div><dt>account</dt><dd class="mono wrap" data-testid="join-account">${link.account}</dd></div><div><dt>server</dt><dd class="wrap">${plain(link.server)}</dd></div><div><dt>user</dt><dd>${plain(session.value.user)}</dd></div></dl>
    <label class="field">Name of this device<input ref=${name} data-testid="join-name" maxlength="100" required autocomplete="off" defaultValue=${proposedName()} /></label><${Choice} make=${make} />
    ${failure(failed)}
    <button class="primary" data-testid="join" aria-disabled=${busy}>${busy ? "Enrolling …" : "Enrol this device"}</button>
  </form>`;
}

function Joined({ device }) {
  return html`<${Head} title="Enrolled" /><section class="panel narrow" aria-label="Enrolled"><p role="status">${plain(device.name)} is enrolled${device.role === "viewer" && " as a viewer, which can decide nothing"}.</p>
    <p><a class="button primary" href=${hrefOf("inbox")}>Show the inbox</a></p></section>`;
}

const Temporary = () => html`<p class="note">This device is temporary: the browser cannot store its keys. They are lost when you close this tab, and end after 12 hours.</p>`;

// proposedName returns the browser and the system, such as "Firefox on Android".
function proposedName() {
  const find = (all) => all.find(([mark]) => navigator.userAgent.includes(mark))?.[1];
  const system = find([["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Mac OS", "Mac"], ["Windows", "Windows"], ["CrOS", "ChromeOS"], ["Linux", "Linux"]]);
  return `${find([["Firefox", "Firefox"], ["Edg", "Edge"], ["Chrome", "Chrome"], ["Safari", "Safari"]]) ?? "Browser"}${system ? " on " + system : ""}`;
}
