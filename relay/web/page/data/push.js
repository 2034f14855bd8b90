// Notifications while the page is not there: the browser's push service, told to the server.
import { api } from "./api.js";
import { sentence } from "./errors.js";
import { signal } from "./signals.js";

// push says whether this browser is told: "unsupported", "denied" (the person has said no to the
// browser), "off", "on", "busy".
export const push = signal({ state: "unsupported" });

const ready = async () => (await navigator.serviceWorker.getRegistration("/")) && navigator.serviceWorker.ready;
const supported = () => !!(globalThis.PushManager && navigator.serviceWorker && globalThis.Notification);

// lookAtPush finds out how it stands, and tells the server of who is in: somebody else may have been.
export async function lookAtPush(isIn) {
  if (!supported()) return;
  if (Notification.permission === "denied") { push.value = { state: "denied" }; return; }
  const had = await (await ready())?.pushManager.getSubscription();
  push.value = { state: had ? "on" : "off" };
  if (had && isIn) await api.post("/push/subscriptions", had.toJSON(), { quiet: true });
}

// pushOn asks the person, if need be, and subscribes; call it from a click.
export function pushOn() {
  return change(async () => {
    if ((await Notification.requestPermission()) !== "granted") return "denied";
    const registration = await ready();
    if (!registration) throw new Error("This browser cannot store the page, so it cannot receive notifications");
    const key = bytesOf((await api.get("/push/key")).key);
    const had = await registration.pushManager.getSubscription();
    if (had && !same(had.options.applicationServerKey, key)) await had.unsubscribe(); // another server's, at this address
    const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await api.post("/push/subscriptions", subscription.toJSON());
    return "on";
  });
}

// pushOff ends it.
export function pushOff() {
  return change(async () => {
    const subscription = await (await ready())?.pushManager.getSubscription();
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

// forgetPush ends it, whether the server can be reached or not.
export async function forgetPush() {
  if (!supported()) return;
  const subscription = await (await ready())?.pushManager.getSubscription();
  if (!subscription) return;
  await api.del("/push/subscriptions", subscription.toJSON(), { quiet: true }).catch(() => {}); // it drops out when nobody takes what is pushed
  await subscription.unsubscribe();
  push.value = { state: "off" };
}

const same = (buffer, bytes) => !!buffer && new Uint8Array(buffer).join() === bytes.join();

function bytesOf(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}
