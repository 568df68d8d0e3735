/**
 * The language of a HipKittens cell: a magic line as such, and C++ below it.
 *
 * The whole cell is one syntax tree whose body is clang-flavoured C++ parsed by the editor's own C++ parser,
 * so that brackets, indentation, folding and comment keys are those of C++ there and of nothing on line 1.
 */

import { cppLanguage } from '@codemirror/lang-cpp';
import {
  Language,
  LanguageSupport,
  defineLanguageFacet,
  languageDataProp,
  syntaxTree
} from '@codemirror/language';
import { Prec, RangeSetBuilder, type Extension } from '@codemirror/state';
import {
  Decoration,
  ViewPlugin,
  type DecorationSet,
  type EditorView,
  type ViewUpdate
} from '@codemirror/view';
import {
  NodeSet,
  NodeType,
  Parser,
  Tree,
  parseMixed,
  type Input,
  type PartialParse,
  type TreeFragment
} from '@lezer/common';
import { styleTags, tags } from '@lezer/highlight';

import { parseMagicLine, type PartKind } from './magic';
import { FUNCTIONS } from './words';

const cellData = defineLanguageFacet();

const NAMES = ['Cell', 'MagicLine', 'Magic', 'ModuleName', 'Flag', 'Value', 'String', 'Body'] as const;

const nodes = new NodeSet(
  NAMES.map((name, id) =>
    NodeType.define({
      id,
      name,
      top: name === 'Cell',
      props: name === 'Cell' ? [[languageDataProp, cellData]] : []
    })
  )
).extend(
  styleTags({
    Magic: tags.meta,
    ModuleName: tags.definition(tags.variableName),
    Flag: tags.attributeName,
    Value: tags.attributeValue,
    String: tags.string
  })
);

const NODE_OF: Record<PartKind, (typeof NAMES)[number]> = {
  magic: 'Magic',
  name: 'ModuleName',
  flag: 'Flag',
  value: 'Value',
  string: 'String'
};

function node(name: (typeof NAMES)[number]): NodeType {
  return nodes.types[NAMES.indexOf(name)];
}

/**
 * Splits the cell into magic line and body; the body's tree is mounted by `parseMixed`.
 */
class CellParse implements PartialParse {
  stoppedAt: number | null = null;

  constructor(private readonly input: Input) {}

  get parsedPos(): number {
    return this.input.length;
  }

  advance(): Tree {
    const length = this.input.length;
    const text = this.input.read(0, Math.min(length, 4096));
    const newline = text.indexOf('\n');
    const end = newline < 0 ? text.length : newline;
    const parts = parseMagicLine(text.slice(0, end));
    const line = new Tree(
      node('MagicLine'),
      parts.map(part => new Tree(node(NODE_OF[part.kind]), [], [], part.to - part.from)),
      parts.map(part => part.from),
      end
    );
    const start = Math.min(end + 1, length);
    const children = [line];
    const positions = [0];
    if (start < length) {
      children.push(new Tree(node('Body'), [], [], length - start));
      positions.push(start);
    }
    return new Tree(node('Cell'), children, positions, length);
  }

  stopAt(position: number): void {
    this.stoppedAt = position;
  }
}

const QUALIFIERS =
  /\b__(?:global|device|host|shared|constant|managed|forceinline|noinline)__|\b__launch_bounds__\s*\([^()\n]*\)/g;

/**
 * The text for a C++ parser: HIP's qualifiers, which it would take for types, are blanked.
 */
export function withoutQualifiers(text: string): string {
  return text.includes('__') ? text.replace(QUALIFIERS, word => ' '.repeat(word.length)) : text;
}

class HipInput implements Input {
  constructor(private readonly input: Input) {}

  get length(): number {
    return this.input.length;
  }

  get lineChunks(): boolean {
    return this.input.lineChunks;
  }

  chunk(from: number): string {
    return withoutQualifiers(this.input.chunk(from));
  }

  read(from: number, to: number): string {
    return withoutQualifiers(this.input.read(from, to));
  }
}

class HipParser extends Parser {
  createParse(
    input: Input,
    fragments: readonly TreeFragment[],
    ranges: readonly { from: number; to: number }[]
  ): PartialParse {
    return cppLanguage.parser.createParse(new HipInput(input), fragments, ranges);
  }
}

const hipParser = new HipParser();

const mountBody = parseMixed(reference => (reference.type === node('Body') ? { parser: hipParser } : null));

class CellParser extends Parser {
  createParse(
    input: Input,
    fragments: readonly TreeFragment[],
    ranges: readonly { from: number; to: number }[]
  ): PartialParse {
    return mountBody(new CellParse(input), input, fragments, ranges);
  }
}

/**
 * The language itself.
 */
export const hipkittensLanguage = new Language(cellData, new CellParser(), [], 'hipkittens');

/** Words of HIP, which are no keywords to a C++ parser; those that begin with two underscores are all HIP's. */
const HIP_WORD =
  /^(?:__(?!builtin_(?!amdgcn_))\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize|atomic[A-Z]\w+|rsqrtf|dim3|hip[A-Z]\w*|u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4])$/;

/** Types and products of the tile library; its other functions are in `words.ts`. */
const KITTENS_WORD =
  /^(?:kittens|ducks|base_types|base_ops|(?:rt|st|rv|sv|art)(?:_\w+)?|gl|coord|bf16(?:_2)?|half(?:_2)?|fp8e4m3(?:_4)?|row_l|col_l|shared_allocator)$/;

export function isHipWord(word: string): boolean {
  return HIP_WORD.test(word);
}

export function isKittensWord(word: string): boolean {
  return KITTENS_WORD.test(word) || FUNCTIONS.has(word);
}

const hipMark = Decoration.mark({ class: 'jp-hipkittens-hip' });
const kittensMark = Decoration.mark({ class: 'jp-hipkittens-kittens' });

/**
 * Marks HIP's and the tile library's words, which a C++ parser takes for ordinary identifiers.
 */
class WordMarks {
  decorations: DecorationSet;

  constructor(view: EditorView) {
    this.decorations = wordMarks(view);
  }

  update(update: ViewUpdate): void {
    if (
      update.docChanged ||
      update.viewportChanged ||
      syntaxTree(update.startState) !== syntaxTree(update.state)
    ) {
      this.decorations = wordMarks(update.view);
    }
  }
}

/** Parents of a name that is being declared; a function's own name stands in a FunctionDeclarator. */
const DECLARES =
  /^(?:Init|Pointer|Reference|Array)Declarator$|^(?:Optional)?ParameterDeclaration$|^Declaration$/;

/**
 * Names of the cell's own variables and parameters, which may be words of the library too.
 */
export function ownNames(tree: Tree, text: (from: number, to: number) => string): Set<string> {
  const found = new Set<string>();
  tree.iterate({
    enter: ({ name, from, to, node }) => {
      if (name === 'Identifier' && DECLARES.test(node.parent?.name ?? '')) {
        found.add(text(from, to));
      }
    }
  });
  return found;
}

function wordMarks(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const tree = syntaxTree(view.state);
  const own = ownNames(tree, (from, to) => view.state.sliceDoc(from, to));
  const bodyStart = view.state.doc.line(1).to + 1;
  for (const { from, to } of view.visibleRanges) {
    const start = Math.max(from, bodyStart);
    if (start >= to) {
      continue;
    }
    for (const match of view.state.sliceDoc(start, to).matchAll(/[A-Za-z_]\w*/g)) {
      const word = match[0];
      const mark = isHipWord(word) ? hipMark : isKittensWord(word) && !own.has(word) ? kittensMark : null;
      if (mark) {
        const position = start + (match.index ?? 0);
        const inside = tree.resolveInner(position, 1).name;
        if (!/Comment|String|CharLiteral|Include|SystemLib/.test(inside)) {
          builder.add(position, position + word.length, mark);
        }
      }
    }
  }
  return builder.finish();
}

/**
 * Everything about the language of a HipKittens cell, before the notebook's own language.
 */
export function hipkittens(): Extension {
  return [
    Prec.highest(new LanguageSupport(hipkittensLanguage)),
    ViewPlugin.fromClass(WordMarks, { decorations: plugin => plugin.decorations })
  ];
}
