// The copy that is saved with the notebook beside a live view: hidden while the view is on the page.
//
// Put before each widget's own script; a widget's script is one text. Until it runs, the JupyterLab extension's style
// hides the copy (jp-hipkittens-LiveView), which wb-alone ends.
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

// Hides the copies beside an element; returns a function that shows them again.
function hideCopies(el) {
  const hidden = new Set();
  let observer = null;
  requestAnimationFrame(() => {
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
    observer.observe(area, { childList: true });
    hide();
    el.classList.add('wb-alone');
  });
  return () => {
    observer?.disconnect();
    for (const node of hidden) {
      node.style.display = '';
    }
  };
}
