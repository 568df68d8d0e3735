// Hides the static copy of a dashboard while the live one is on the page, and keeps figures as wide as
// their cards. Without a kernel this code never
// runs, so a notebook that is reopened from disk shows the copy.
const AREA = '.jp-OutputArea, .jp-SimplifiedOutputArea, .output';
const CHILD = '.jp-OutputArea-child, .output_area';

function copies(area) {
  const found = [];
  for (const mark of area.querySelectorAll('.wb-static')) {
    let node = mark.closest(CHILD);
    for (let left = Number(mark.dataset.outputs); node && left >= 0; left--) {
      found.push(node);
      node = node.nextElementSibling;
    }
  }
  return found;
}

// A plot that was drawn while its card had another width is told to look again: plotly listens to the window.
function fit(area) {
  for (const plot of area.querySelectorAll('.js-plotly-plot')) {
    const drawn = plot.querySelector('.main-svg');
    const width = plot.parentElement?.clientWidth ?? 0;
    if (drawn && width > 0 && Math.abs(drawn.clientWidth - width) > 3) {
      window.dispatchEvent(new Event('resize'));
      return;
    }
  }
}

function render({ el }) {
  el.style.display = 'none';
  const hidden = new Set();
  let observer = null;
  let fitting = 0;
  const start = () => {
    const area = el.closest(AREA);
    if (!area) {
      return;
    }
    const hide = () => {
      for (const node of copies(area)) {
        if (node.style.display !== 'none') {
          node.style.display = 'none';
          hidden.add(node);
        }
      }
    };
    // The copy is written after the widget, and again whenever it changes.
    observer = new MutationObserver(hide);
    observer.observe(area, { childList: true, subtree: true });
    hide();
    fitting = setInterval(() => fit(area), 1000);
  };
  requestAnimationFrame(start);
  return () => {
    observer?.disconnect();
    clearInterval(fitting);
    for (const node of hidden) {
      node.style.display = '';
    }
  };
}

export default { render };
