import { html, useEffect, useId, useRef } from "./base.js";

// Dialog is a modal dialog. actions are its buttons. The focus stays in the dialog. Escape and a
// click outside close the dialog, and then the focus returns to the element that had it before.
export function Dialog({ open, title, onClose, actions, children }) {
  const box = useRef();
  const id = useId();
  useEffect(() => {
    if (open && !box.current.open) box.current.showModal();
    if (!open && box.current.open) box.current.close();
  }, [open]);
  const beside = (event) => event.target === box.current && onClose();
  return html`<dialog ref=${box} aria-labelledby=${id} onClose=${onClose} onClick=${beside}>${open && html`<h2 id=${id}>${title}</h2>${children}<div class="dialog-do">${actions}</div>`}</dialog>`;
}
