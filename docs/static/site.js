// What keyboards and screen readers need and the theme leaves out.
addEventListener('DOMContentLoaded', () => {
  for (const summary of document.querySelectorAll('summary')) {
    if (!summary.textContent.trim() && !summary.ariaLabel) {
      summary.ariaLabel = 'Pages of this section';
    }
  }
  // A table that scrolls can be scrolled by keys.
  for (const table of document.querySelectorAll('.bd-article table')) {
    if (table.scrollWidth > table.clientWidth) {
      table.tabIndex = 0;
    }
  }
});
