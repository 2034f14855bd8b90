// The colours that the user has selected on this device. They survive a logout.

// applyTheme applies the selected colours.
export function applyTheme() {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
