/** A page for tests: jsdom's, and what a browser has and jsdom has not. */
import { JSDOM } from 'jsdom';

const { window } = new JSDOM('', { pretendToBeVisual: true, url: 'http://localhost' });
// Node has events of its own, which jsdom's nodes do not take.
const taken = /^(Abort\w+|CustomEvent|Event|EventTarget|MessageEvent|navigator|window)$/;
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis) || taken.test(name)) {
    Object.defineProperty(globalThis, name, { configurable: true, value: window[name], writable: true });
  }
}
window.DragEvent = globalThis.DragEvent = class extends window.MouseEvent {};

// CodeMirror measures text to lay it out; nothing is laid out here.
const none = { left: 0, right: 0, top: 0, bottom: 0, width: 0, height: 0, x: 0, y: 0 };
window.Range.prototype.getClientRects = () => [];
window.Range.prototype.getBoundingClientRect = () => none;
