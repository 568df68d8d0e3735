/**
 * Documentation as nodes: the plain Markdown that `workbench.lab.doxygen` makes of doc comments.
 */

/**
 * Paragraphs, lists, `code` and fenced code; everything else stays text, so nothing in a comment becomes HTML.
 */
export function documentationNodes(text: string): HTMLElement[] {
  const nodes: HTMLElement[] = [];
  let list: HTMLElement | null = null;
  let code: string[] | null = null;
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length) {
      nodes.push(inline(document.createElement('p'), paragraph.join('\n')));
      paragraph = [];
    }
  };
  for (const line of text.split('\n')) {
    if (code) {
      if (line === '```') {
        nodes.push(block(code.join('\n')));
        code = null;
      } else {
        code.push(line);
      }
      continue;
    }
    const item = /^- (.*)$/.exec(line);
    if (item) {
      flush();
      if (!list) {
        list = document.createElement('ul');
        nodes.push(list);
      }
      list.append(inline(document.createElement('li'), item[1]));
      continue;
    }
    list = null;
    if (line === '```') {
      flush();
      code = [];
    } else if (!line.trim()) {
      flush();
    } else {
      paragraph.push(line);
    }
  }
  flush();
  if (code) {
    nodes.push(block(code.join('\n')));
  }
  return nodes;
}

function block(text: string): HTMLElement {
  const dom = document.createElement('pre');
  dom.className = 'jp-hipkittens-Example';
  dom.textContent = text;
  return dom;
}

/** Text with `code` in it. */
function inline(dom: HTMLElement, text: string): HTMLElement {
  for (const [index, part] of text.split('`').entries()) {
    if (index % 2 === 1) {
      const code = document.createElement('code');
      code.textContent = part;
      dom.append(code);
    } else if (part) {
      dom.append(part);
    }
  }
  return dom;
}

/**
 * One name: its declaration, its facts, its documentation.
 */
export function describeName(signature: string, doc: string, facts: readonly string[] = []): HTMLElement[] {
  const declaration = document.createElement('pre');
  declaration.textContent = signature;
  const details = facts.map(fact => {
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-Dim';
    dom.textContent = fact;
    return dom;
  });
  return [declaration, ...details, ...documentationNodes(doc)];
}
