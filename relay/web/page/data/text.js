// Terminal output as readable text. Text that a carriage return overwrites is omitted.

// Screen is the text of one block of output. add appends output, which may contain escape
// sequences.
export class Screen {
  text = "";
  #returned = ""; // a carriage return at the end, whose meaning depends on the next text

  add(more) {
    more = (this.#returned + more).replace(/\r+\n/g, "\n");
    this.#returned = "";
    if (!more.includes("\r")) { this.text += more; return; }
    if (more.endsWith("\r")) {
      more = more.replace(/\r+$/, "");
      this.#returned = "\r";
    }
    const [first, ...lines] = more.split("\r");
    this.text += first;
    for (const line of lines) if (line) this.#overwrite(line);
  }

  #overwrite(line) {
    this.text = this.text.slice(0, this.text.lastIndexOf("\n") + 1) + line;
  }
}
