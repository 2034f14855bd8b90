;;; session.el --- The script of the Emacs test -*- lexical-binding: t; -*-

;;; Commentary:

;; Opens a program and writes the language server's results to a file.

;;; Code:

(require 'concerto-mode)
(require 'eglot)
(require 'flymake)
(require 'json)

(setq eglot-sync-connect 20
      eglot-autoshutdown nil
      concerto-command (getenv "CONCERTO"))

(defvar session-out nil)

(defun session-await (what ok)
  "Wait for WHAT, until OK gives something."
  (let ((end (+ (float-time) 20)))
    (while (not (funcall ok))
      (when (> (float-time) end)
        (error "Waited too long for %s" what))
      (accept-process-output nil 0.01))))

(defun session-say (key value)
  "Write down a VALUE under a KEY."
  (push (cons key value) session-out))

(defun session-text ()
  "The text of the program."
  (buffer-substring-no-properties (point-min) (1- (point-max))))

(defun session-at (line column)
  "Go to a LINE and a COLUMN."
  (goto-char (point-min))
  (forward-line (1- line))
  (forward-char column))

(find-file (getenv "PROGRAM"))
(eglot-ensure)
(apply #'eglot (eglot--guess-contact))
(flymake-start)
(session-await "diagnostics" #'flymake-diagnostics)
(let ((found (car (flymake-diagnostics))))
  (session-say 'diagnostic
               `((line . ,(line-number-at-pos (flymake-diagnostic-beg found)))
                 (message . ,(flymake-diagnostic-text found)))))

(session-at 6 8)
(let* ((answer (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover (eglot--TextDocumentPositionParams)))
       (contents (plist-get answer :contents)))
  (session-say 'hover (plist-get contents :value)))
(let ((to (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
  (session-say 'definition (xref-location-line (xref-item-location (car to)))))

(session-at 7 0)
(delete-region (point) (line-end-position))
(insert "    println(m);")
(eglot--signal-textDocument/didChange)
(session-await "diagnostics to go" (lambda () (flymake-start) (accept-process-output nil 0.05) (null (flymake-diagnostics))))

(session-at 1 3)
(eglot-rename "twofold")
(session-say 'renamed (session-text))
(eglot-format-buffer)
(session-say 'formatted (session-text))
(with-temp-file (getenv "OUT")
  (insert (json-encode session-out)))
(eglot-shutdown (eglot--current-server-or-lose))
(set-buffer-modified-p nil)
(kill-emacs 0)

;;; session.el ends here
