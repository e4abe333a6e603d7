// Sets the theme that was chosen on the page, before anything is drawn; a classic script, as modules run after the first paint.

(() => {
  try {
    const theme = localStorage.getItem("dh_bridge.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* a page of a file may have no storage */ }
})();
