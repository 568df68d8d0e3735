import { diagnosticCount, forEachDiagnostic, type Diagnostic } from '@codemirror/lint';
import { EditorState, Text } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

import { diagnosticsExtension, goToFinding, offsetOf, rangeOf, showFindings } from '../src/diagnostics';
import type { IFinding } from '../src/payload';

const TEXT = '%%hipkittens k\nint main() {\n    return 𝒙 + value\n}';

function finding(line: number, column: number, more: Partial<IFinding> = {}): IFinding {
  return {
    line,
    column,
    end_line: 0,
    end_column: 0,
    severity: 'error',
    message: 'wrong',
    fixits: [],
    notes: [],
    source: 'compiler',
    option: '',
    ...more
  };
}

const doc = Text.of(TEXT.split('\n'));
const marked = (found: IFinding) => {
  const { from, to } = rangeOf(doc, found);
  return doc.sliceString(from, to);
};

describe('places of findings', () => {
  it('count characters, not UTF-16 units', () => {
    expect(doc.sliceString(offsetOf(doc, [3, 13]), offsetOf(doc, [3, 14]))).toBe(' ');
    expect(marked(finding(3, 16))).toBe('value');
  });

  it('cover the word, the line, or what the finding says', () => {
    expect(marked(finding(2, 5))).toBe('main');
    expect(marked(finding(2, 9))).toBe('(');
    expect(marked(finding(2, 1, { end_line: 2, end_column: 9 }))).toBe('int main');
    expect(marked(finding(3, 0))).toBe('return 𝒙 + value');
    expect(marked(finding(0, 0))).toBe('%%hipkittens k');
  });

  it('stay inside the text', () => {
    expect(marked(finding(3, 21))).toBe('e');
    expect(marked(finding(99, 7))).toBe('}');
    expect(marked(finding(3, 900))).toBe('e');
  });
});

describe('findings in an editor', () => {
  const make = () =>
    new EditorView({
      parent: document.body,
      state: EditorState.create({ doc: TEXT, extensions: diagnosticsExtension() })
    });
  const all = (view: EditorView) => {
    const found: (Diagnostic & { at: number })[] = [];
    forEachDiagnostic(view.state, (diagnostic, from) => found.push({ ...diagnostic, at: from }));
    return found;
  };

  it('show with severity, notes and option, and are cleared at once by an empty list', () => {
    const view = make();
    showFindings(view, [
      finding(2, 5, { severity: 'warning', option: '-Wmain', notes: ['line 1: see here'] }),
      finding(2, 1, { severity: 'remark', source: 'sanitizer' })
    ]);
    const [remark, warning] = all(view);
    expect(warning.severity).toBe('warning');
    expect(warning.message).toBe('wrong [-Wmain]\nline 1: see here');
    expect(remark.severity).toBe('info');
    expect(remark.source).toBe('sanitizer');
    showFindings(view, []);
    expect(diagnosticCount(view.state)).toBe(0);
  });

  it('are shown by the keyboard too, one after the other, until the cursor moves', () => {
    const view = make();
    const shown = () =>
      [...view.dom.querySelectorAll('.cm-tooltip-lint .cm-diagnostic')].map(item => item.textContent);
    expect(goToFinding(view, true)).toBe(false);
    showFindings(view, [finding(2, 5), finding(3, 12, { message: 'other', severity: 'warning' })]);
    expect(goToFinding(view, true)).toBe(true);
    expect(shown()).toEqual(['wrong']);
    goToFinding(view, true);
    expect(shown()).toEqual(['other']);
    goToFinding(view, false);
    expect(shown()).toEqual(['wrong']);
    view.dispatch({ selection: { anchor: 0 } });
    expect(shown()).toEqual([]);
  });

  it('are cleared by an edit', () => {
    const view = make();
    showFindings(view, [finding(2, 5)]);
    view.dispatch({ selection: { anchor: 3 } });
    expect(diagnosticCount(view.state)).toBe(1);
    view.dispatch({ changes: { from: view.state.doc.length, insert: '\n' } });
    expect(diagnosticCount(view.state)).toBe(0);
  });

  it('are fixed one after the other, each at its place', () => {
    const view = make();
    showFindings(view, [
      finding(2, 5, { fixits: [{ start: [2, 5], end: [2, 9], text: 'entry_point' }] }),
      finding(2, 9, { fixits: [{ start: [2, 9], end: [2, 11], text: '(void)' }], message: 'no parameters' }),
      finding(3, 21, { fixits: [{ start: [3, 21], end: [3, 21], text: ';' }] })
    ]);
    const apply = (name: string) => {
      const diagnostic = all(view).find(one => one.actions?.[0].name === name)!;
      diagnostic.actions![0].apply(view, diagnostic.at, diagnostic.at);
    };
    apply("Replace 'main' by 'entry_point'");
    expect(diagnosticCount(view.state)).toBe(2);
    apply("Replace '()' by '(void)'");
    apply("Insert ';'");
    expect(view.state.doc.toString()).toBe(
      '%%hipkittens k\nint entry_point(void) {\n    return 𝒙 + value;\n}'
    );
    expect(diagnosticCount(view.state)).toBe(0);
  });
});
