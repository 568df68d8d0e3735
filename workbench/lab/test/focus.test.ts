import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { focusAtOnce } from '../src/focus';

const ours = '<div class="jp-hipkittens-editor"><div class="cm-content" tabindex="0"><b>x</b></div></div>';
const other = '<div class="jp-Editor"><div class="cm-content" tabindex="0"><i>y</i></div></div>';

function click(selector: string, more: MouseEventInit = {}): void {
  const event = new MouseEvent('mousedown', { bubbles: true, ...more });
  document.querySelector(selector)!.dispatchEvent(event);
}

describe('focus', () => {
  before(() => document.addEventListener('mousedown', focusAtOnce, true));

  beforeEach(() => {
    document.body.innerHTML = ours + other;
  });

  it('goes to code of ours that is clicked, before the panel hears of it', () => {
    let focused: Element | null = null;
    document.body.addEventListener('mousedown', () => (focused = document.activeElement), {
      capture: true,
      once: true
    });
    click('b');
    assert.equal(focused, document.querySelector('.jp-hipkittens-editor .cm-content'));
  });

  it('stays where it is for other cells and for clicks that select', () => {
    click('i');
    click('b', { shiftKey: true });
    click('b', { button: 2 });
    assert.equal(document.activeElement, document.body);
  });
});
