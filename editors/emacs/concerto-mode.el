;;; concerto-mode.el --- A mode for Concerto -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages
;; URL: https://github.com/concerto-lang/concerto

;;; Commentary:

;; Highlights and indents Concerto programs. `M-x eglot' starts the language server.

;;; Code:

(require 'concerto-words)

(defgroup concerto nil
  "Programs of Concerto."
  :group 'languages)

(defcustom concerto-command "concerto"
  "The command, by a name that is found in the path, or by its own path."
  :type 'string
  :group 'concerto)

(defcustom concerto-indent 4
  "How far a block is indented."
  :type 'integer
  :group 'concerto)

(defvar concerto-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 124" table)
    (modify-syntax-entry ?* ". 23bn" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "w" table)
    (modify-syntax-entry ?' "." table)
    table)
  "What characters mean.")

(defconst concerto-font-lock
  `(("\\.\\([A-Za-z_][A-Za-z0-9_]*\\)" 1 'default t)
    ("@[A-Za-z_][A-Za-z0-9_]*" . font-lock-preprocessor-face)
    (,(concat "\\_<\\(?:" (regexp-opt '("fn" "stage")) "\\)\\s-+\\([A-Za-z_][A-Za-z0-9_]*\\)") 1 font-lock-function-name-face)
    (,(regexp-opt concerto-declaration-words 'words) . font-lock-keyword-face)
    (,(regexp-opt concerto-control-words 'words) . font-lock-keyword-face)
    (,(regexp-opt concerto-constant-words 'words) . font-lock-constant-face)
    ("\\_<[A-Z][A-Za-z0-9_]*\\_>" . font-lock-type-face))
  "What is coloured, in this order.")

(defun concerto-indent-line ()
  "Indent a line by the brackets that are open before it."
  (interactive)
  (let* ((depth (save-excursion
                  (beginning-of-line)
                  (car (syntax-ppss))))
         (closes (save-excursion
                   (back-to-indentation)
                   (looking-at-p "[]})]")))
         (column (* concerto-indent (max 0 (if closes (1- depth) depth)))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

;;;###autoload
(define-derived-mode concerto-mode prog-mode "Concerto"
  "Programs of Concerto."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local font-lock-defaults '(concerto-font-lock))
  (setq-local indent-line-function #'concerto-indent-line)
  (setq-local indent-tabs-mode nil))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.conc\\'" . concerto-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               `(concerto-mode . ,(lambda (&rest _) (list concerto-command "lsp")))))

(provide 'concerto-mode)
;;; concerto-mode.el ends here
