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

// A figure of a notebook is a picture until a reader reaches for it; then plotly draws it, live.
const plotly = (() => {
  const here = new URL('plotly.min.js', document.currentScript.src);
  let loading;
  return () =>
    (loading ??= new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = here;
      script.onload = () => resolve(globalThis.Plotly);
      script.onerror = reject;
      document.head.append(script);
    }));
})();

async function enliven(box) {
  if (box.dataset.live) {
    return;
  }
  box.dataset.live = 'yes';
  const { data, layout, frames } = JSON.parse(box.querySelector('script').textContent);
  try {
    const library = await plotly();
    const live = document.createElement('div');
    // Text has a size only where it is laid out.
    live.style.cssText = 'position: absolute; visibility: hidden';
    box.append(live);
    const width = box.clientWidth;
    const config = { responsive: true, displaylogo: false };
    await library.newPlot(live, data, { ...layout, width, autosize: true }, config);
    if (frames) {
      await library.addFrames(live, frames);
    }
    box.querySelector(':scope > svg').remove();
    live.style.cssText = '';
  } catch {
    delete box.dataset.live; // The picture stays.
  }
}

addEventListener('DOMContentLoaded', () => {
  for (const box of document.querySelectorAll('.wb-live')) {
    for (const event of ['pointerenter', 'focusin', 'touchstart']) {
      box.addEventListener(event, () => enliven(box), { once: true, passive: true });
    }
  }
});
