// The terminal sets styles by <style> elements and style attributes, which the content security
// policy forbids. styleAsAllowed changes the page's document so that neither needs a weaker policy.
// The text of a created style element goes into a style sheet of the page, and the style attribute
// of a created span goes into its style property.
export function styleAsAllowed() {
  if (Object.hasOwn(document, "createElement")) return;
  document.createElement = (name, ...rest) => {
    if (name === "style") return standIn();
    const element = Document.prototype.createElement.call(document, name, ...rest);
    if (name === "span") element.setAttribute = setAttribute;
    return element;
  };
}

function setAttribute(name, value) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

// standIn returns an invisible element whose text is a style sheet.
function standIn() {
  const sheet = new CSSStyleSheet();
  const element = Document.prototype.createElement.call(document, "span");
  element.hidden = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let text = "";
  Object.defineProperty(element, "textContent", { get: () => text, set: (t) => sheet.replaceSync((text = t)) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
