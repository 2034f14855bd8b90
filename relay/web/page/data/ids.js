// IDs and random numbers. crypto.randomUUID exists only on secure pages, and a page that is served
// over plain http in a home network is not secure.

// uuid returns a random UUID (version 4).
export function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  return Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("").replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// backoff returns the delay before attempt n, counted from 0. It is a random value below a limit
// that doubles with each attempt.
export function backoff(n, first = 500, most = 30_000) {
  return Math.random() * Math.min(most, first * 2 ** Math.min(n, 20));
}
