/**
 * What can stand after `g.`, as far as the cell itself says: the members of its struct, or of the tile library's
 * type. clangd knows more, but its first answer takes seconds, and a notebook without a kernel has none.
 */

import type { IEntry } from './keywords';
import type { Names } from './names';
import { kindOf } from './overloads';

/**
 * Members of what stands before the cursor; null where it is not behind a dot or an arrow.
 */
export function membersAt(names: Names, text: string, start: number): IEntry[] | null {
  const before = /(\w+)(?:\[[^\]]*\])*\s*(?:\.|->)\s*$/.exec(text.slice(0, start));
  if (!before) {
    return null;
  }
  const name = before[1];
  const declaration = declarationOf(name, text.slice(0, start));
  const type = new RegExp(`\\b(\\w+)\\s*[&*]?\\s+[&*]?(?:\\w+\\s*,\\s*)*${name}\\s*[;,=\\[({)]`).exec(
    declaration
  )?.[1];
  const body = type && structBody(text, type);
  if (body) {
    return declared(body, type);
  }
  const kind = kindOf(name, declaration);
  return kind ? names.membersOf(kind) : [];
}

/**
 * The last declaration of a name that the end of a text sees, to that end; '' where there is none. What stands in
 * blocks that are closed, the parameters before them too, is not seen.
 */
function declarationOf(name: string, text: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ');
  let seen = text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"/g, blank);
  for (let last = ''; last !== seen; ) {
    last = seen;
    // A block that is closed leaves a semicolon, which ends a statement as it did.
    seen = seen.replace(
      /(?:\((?:[^(){}]|\([^(){}]*\))*\)\s*(?:const\s*)?)?\{[^{}]*\}/g,
      part => blank(part.slice(1)) + ';'
    );
  }
  const uses = new RegExp(
    `([\\w>)\\]])\\s*[&*]?\\s+[&*]?(?:\\w+(?:\\[[^\\]]*\\])*\\s*,\\s*)*${name}\\s*[;,=\\[({)]`,
    'g'
  );
  let found = '';
  for (const match of seen.matchAll(uses)) {
    const at = match.index ?? 0;
    const from = Math.max(...[';', '{', '}', '('].map(mark => seen.lastIndexOf(mark, at))) + 1;
    const statement = seen.slice(from);
    if (!/^\s*(?:return|else|case|goto|delete|throw|using)\b/.test(statement)) {
      found = statement;
    }
  }
  return found;
}

function structBody(text: string, type: string): string | null {
  const head = new RegExp(`\\b(?:struct|class)\\s+${type}\\b[^;{]*\\{`).exec(text);
  if (!head) {
    return null;
  }
  const from = head.index + head[0].length;
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    depth += text[i] === '{' ? 1 : text[i] === '}' ? -1 : 0;
    if (depth === 0) {
      return text.slice(from, i);
    }
  }
  return text.slice(from);
}

/** Members that a struct's body declares, with their declarations. */
function declared(body: string, struct: string): IEntry[] {
  let flat = body.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '');
  for (let last = ''; last !== flat; ) {
    last = flat;
    flat = flat.replace(/\{[^{}]*\}/g, ';');
  }
  const found: IEntry[] = [];
  for (const line of flat.split(';')) {
    const statement = line
      .replace(/^[\s\w]*:(?!:)/, '')
      .replace(/\s+/g, ' ')
      .trim();
    let bare = statement;
    for (let last = ''; last !== bare; ) {
      last = bare;
      bare = bare.replace(/<[^<>]*>/g, '');
    }
    const call = /^(?:[\w:*& ]+ )?[*&]?(\w+) ?\(/.exec(bare);
    const names = call
      ? [call[1]]
      : [...bare.matchAll(/(\w+)(?: ?\[[^\]]*\])*(?: ?=[^,]*)?(?=,|$)/g)].map(match => match[1]);
    if (/^(?:using|typedef|friend|static_assert|template)\b/.test(statement) || !statement.includes(' ')) {
      continue;
    }
    for (const name of names.filter(each => each !== struct && /^[A-Za-z_]/.test(each))) {
      found.push({
        name,
        kind: call ? 'function' : 'variable',
        signature: statement,
        doc: `Member of ${struct}.`,
        header: ''
      });
    }
  }
  return found;
}
