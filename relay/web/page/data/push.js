// Notifications while the page is closed. The browser's push service delivers them.
import { api } from "./api.js";
import { sentence } from "./errors.js";
import { signal } from "./signals.js";

// push is the state of notifications in this browser: "unsupported", "denied" (the user blocked
// them in the browser), "off", "on" or "busy".
export const push = signal({ state: "unsupported" });

const ready = async () => (await navigator.serviceWorker.getRegistration("/")) && navigator.serviceWorker.ready;
const supported = () => !!(globalThis.PushManager && navigator.serviceWorker && globalThis.Notification);

// checkPush determines the state and sends the subscription to the server again, because another
// user may have logged in.
export async function checkPush(isIn) {
  if (!supported()) return;
  if (Notification.permission === "denied") { push.value = { state: "denied" }; return; }
  const existing = await (await ready())?.pushManager.getSubscription();
  push.value = { state: existing ? "on" : "off" };
  if (existing && isIn) await api.post("/push/subscriptions", existing.toJSON(), { quiet: true });
}

// pushOn requests the permission if necessary, and subscribes. Browsers allow the call only after a
// click.
export function pushOn() {
  return change(async () => {
    if ((await Notification.requestPermission()) !== "granted") return "denied";
    const registration = await ready();
    if (!registration) throw new Error("This browser cannot store the page, so it cannot receive notifications");
    const key = bytesOf((await api.get("/push/key")).key);
    const existing = await registration.pushManager.getSubscription();
    if (existing && !same(existing.options.applicationServerKey, key)) await existing.unsubscribe(); // the subscription belongs to another server at this address
    const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await api.post("/push/subscriptions", subscription.toJSON());
    return "on";
  });
}

// pushOff unsubscribes.
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

// forgetPush unsubscribes, even if the server is not reachable.
export async function forgetPush() {
  if (!supported()) return;
  const subscription = await (await ready())?.pushManager.getSubscription();
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
