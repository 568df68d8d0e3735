/** What `workbench.views` puts in front of a view's module, from `copies.js`. */
declare const AREA: string;
declare function hideCopies(el: Element): () => void;
