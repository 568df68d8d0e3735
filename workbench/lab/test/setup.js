/** What a browser has and jsdom has not. */
const { TextDecoder, TextEncoder } = require('util');

Object.assign(globalThis, { TextDecoder, TextEncoder });

// CodeMirror measures text to lay it out; nothing is laid out here.
const none = { left: 0, right: 0, top: 0, bottom: 0, width: 0, height: 0, x: 0, y: 0 };
Range.prototype.getClientRects = () => [];
Range.prototype.getBoundingClientRect = () => none;
