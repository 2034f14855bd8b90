// decoded returns the bytes of a text in base64.
function decoded(text) {
  const s = atob(text), out = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i); // a loop is ten times as fast as Uint8Array.from
  return out;
}

// readEmbedded returns the JSON value that a page in one file contains: gzip in base64, in <script
// class="data"> elements.
export async function readEmbedded() {
  const chunks = [...document.querySelectorAll("script.data")].map((s) => s.textContent);
  const bytes = new ReadableStream({
    pull(out) {
      const chunk = chunks.shift();
      if (chunk === undefined) out.close();
      else out.enqueue(decoded(chunk));
    },
  });
  return new Response(bytes.pipeThrough(new DecompressionStream("gzip"))).json();
}
