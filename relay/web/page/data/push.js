// Notifications while the page is closed. The browser's push service delivers them.
import { api } from "./api.js";
import { devices } from "./devices.js";
import { sentence } from "./errors.js";
import { effect, signal } from "./signals.js";

// push is the state of notifications in this browser: "unsupported", "denied" (the user blocked
// them in the browser), "off", "on" or "busy".
export const push = signal({ state: "unsupported" });

const ready = async () => (await navigator.serviceWorker.getRegistration()) && navigator.serviceWorker.ready;
const supported = () => !!(globalThis.PushManager && navigator.serviceWorker && globalThis.Notification);

// ids returns the devices of which this browser stores the keys. Machines seal texts for them, which
// the service worker opens (root/sw.js).
const ids = () => devices.value?.filter((d) => !d.temporary).map((d) => d.id);

// send sends a subscription to the server, with the devices.
function send(subscription, options) {
  sent = `${ids()}`;
  return api.post("/push/subscriptions", { ...subscription.toJSON(), devices: ids() }, options);
}

let sent = ""; // the devices in the last subscription that was sent

effect(() => {
  if (`${ids()}` === sent || push.peek().state !== "on") return;
  existing().then((s) => s && send(s, { quiet: true })).catch(() => {}); // otherwise the next start of the page sends it
});

const existing = async () => (await ready())?.pushManager.getSubscription();

// checkPush determines the state and sends the subscription to the server again, because another
// user may have logged in.
export async function checkPush(isIn) {
  if (!supported()) return;
  if (Notification.permission === "denied") { push.value = { state: "denied" }; return; }
  const subscription = await existing();
  push.value = { state: subscription ? "on" : "off" };
  if (subscription && isIn) await send(subscription, { quiet: true });
}

// pushOn requests the permission if necessary, and subscribes. Browsers allow the call only after a
// click.
export function pushOn() {
  return change(async () => {
    if ((await Notification.requestPermission()) !== "granted") return "denied";
    const registration = await ready();
    if (!registration) throw new Error("This browser cannot store the page, so it cannot receive notifications");
    const key = bytesOf((await api.get("/push/key")).key);
    const was = await existing();
    if (was && !same(was.options.applicationServerKey, key)) await was.unsubscribe(); // the subscription belongs to another server at this address
    const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await send(subscription);
    return "on";
  });
}

// pushOff unsubscribes.
export function pushOff() {
  return change(async () => {
    const subscription = await existing();
    if (subscription) {
      await api.del("/push/subscriptions", subscription.toJSON());
      await subscription.unsubscribe();
    }
    return "off";
  });
}

async function change(fn) {
  const was = push.peek();
  push.value = { state: "busy" };
  try {
    push.value = { state: await fn() };
  } catch (err) {
    push.value = { state: was.state, error: sentence(err) };
  }
}

// forgetPush unsubscribes, even if the server is not reachable.
export async function forgetPush() {
  if (!supported()) return;
  const subscription = await existing();
  if (!subscription) return;
  await api.del("/push/subscriptions", subscription.toJSON(), { quiet: true }).catch(() => {}); // otherwise the server deletes the subscription when a push fails
  await subscription.unsubscribe();
  push.value = { state: "off" };
}

const same = (buffer, bytes) => !!buffer && new Uint8Array(buffer).join() === bytes.join();

function bytesOf(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}
