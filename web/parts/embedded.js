// readEmbedded returns the JSON value that a page in one file contains: gzip in base64, in <script
// class="data"> elements.
export async function readEmbedded() {
  const chunks = [...document.querySelectorAll("script.data")].map((s) => s.textContent);
  const bytes = new ReadableStream({
    pull(out) {
      const chunk = chunks.shift();
      if (chunk === undefined) out.close();
      else out.enqueue(Uint8Array.from(atob(chunk), (c) => c.charCodeAt(0)));
    },
  });
  return new Response(bytes.pipeThrough(new DecompressionStream("gzip"))).json();
}
