/**
 * A search field for the counters of a profile, above their groups.
 *
 * The output itself is a plain page: groups that unfold. A page of JupyterLab adds the field.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

/** Adds the field to every profile that a part of the page shows, now or later. */
export function addCounterSearch(node: HTMLElement, trans: TranslationBundle): void {
  const add = (part: Element): void => {
    const found = part.matches('.wb-counters') ? [part] : part.querySelectorAll('.wb-counters');
    for (const counters of found) {
      if (!counters.querySelector(':scope > .jp-hipkittens-Find')) {
        counters.prepend(searchField(counters, trans));
      }
    }
  };
  add(node);
  new MutationObserver(changes => {
    for (const change of changes) {
      for (const added of change.addedNodes) {
        if (added instanceof HTMLElement) {
          add(added);
        }
      }
    }
  }).observe(node, { childList: true, subtree: true });
}

function searchField(counters: Element, trans: TranslationBundle): HTMLInputElement {
  const field = document.createElement('input');
  field.type = 'search';
  // Typing must not trigger the notebook's shortcuts.
  field.dataset.lmSuppressShortcuts = 'true';
  field.className = 'jp-hipkittens-Find';
  field.placeholder = trans.__('Find a counter');
  field.setAttribute('aria-label', trans.__('Find a counter by its name or by what it counts'));
  const groups = [...counters.querySelectorAll('details')];
  // Their state when the search begins, to be restored.
  let open: boolean[] | null = null;
  field.addEventListener('input', () => {
    const wanted = field.value.trim().toLowerCase();
    open ??= groups.map(group => group.open);
    groups.forEach((group, n) => {
      const left = [...group.querySelectorAll<HTMLTableRowElement>('tr')].filter(row => {
        const text = `${row.cells[0]?.textContent ?? ''} ${row.title}`.toLowerCase();
        // A heading has no counter.
        row.hidden = row.querySelector('td') !== null && !text.includes(wanted);
        return row.querySelector('td') !== null && !row.hidden;
      });
      group.hidden = left.length === 0;
      group.open = wanted ? left.length > 0 : open![n];
    });
    if (!wanted) {
      open = null;
    }
  });
  return field;
}
