import {
  hasKernels,
  isHipkittens,
  isOurs,
  isTriton,
  moduleName,
  parseMagicLine,
  withOptions,
  optionsAt
} from '../src/magic';

describe('magic line', () => {
  it('is the first line and nothing else', () => {
    expect(isHipkittens('%%hipkittens k\n')).toBe(true);
    expect(isHipkittens('%%hipkittens')).toBe(true);
    expect(isHipkittens(' %%hipkittens k')).toBe(false);
    expect(isHipkittens('\n%%hipkittens k')).toBe(false);
    expect(isHipkittens('%%hipkittensx')).toBe(false);
    expect(isHipkittens('%%hipkittens?')).toBe(false);
    expect(isHipkittens('%hipkittens doctor')).toBe(false);
  });

  it('of a Triton cell is known too, and is no C++', () => {
    expect(isTriton('%%triton k --profile\n')).toBe(true);
    expect(isOurs('%%triton k')).toBe(true);
    expect(isHipkittens('%%triton k')).toBe(false);
    expect(isTriton('%%tritonx k')).toBe(false);
    expect(hasKernels('%%triton k')).toBe(true);
    expect(hasKernels('import triton\n\n@triton.jit\ndef add(x):\n')).toBe(true);
    expect(hasKernels('%%writefile a.py\n@triton.jit\n')).toBe(false);
    expect(hasKernels('x = 1\n')).toBe(false);
    expect(moduleName('%%triton soft --time')).toBe('soft');
    expect(withOptions('%%triton k\nx = 1', ['--profile'])).toBe('%%triton k --profile\nx = 1');
  });

  it('has a name, options and their values', () => {
    const kinds = parseMagicLine(
      '%%hipkittens rms --arch gfx950 -DN=4 -D M --profile --flags "-O1 -g" x'
    ).map(part => [part.kind, part.text]);
    expect(kinds).toEqual([
      ['magic', '%%hipkittens'],
      ['name', 'rms'],
      ['flag', '--arch'],
      ['value', 'gfx950'],
      ['flag', '-DN=4'],
      ['flag', '-D'],
      ['value', 'M'],
      ['flag', '--profile'],
      ['flag', '--flags'],
      ['string', '"-O1 -g"'],
      ['value', 'x']
    ]);
    expect(moduleName('%%hipkittens --time soft')).toBe('soft');
    expect(moduleName('%%hipkittens --arch gfx942 soft')).toBe('soft');
    expect(moduleName('%%hipkittens')).toBe('');
  });

  it('takes options once, and the lines below stay where they are', () => {
    expect(withOptions('%%hipkittens k\nint a;', ['--profile'])).toBe('%%hipkittens k --profile\nint a;');
    expect(withOptions('%%hipkittens k --profile\nint a;', ['--profile'])).toBe(
      '%%hipkittens k --profile\nint a;'
    );
    expect(withOptions('%%hipkittens k', ['--verify', 'a/b', '--time'])).toBe(
      '%%hipkittens k --verify a/b --time'
    );
    expect(withOptions('%%hipkittens k --verify c/d\nx', ['--verify', 'a/b'])).toBe(
      '%%hipkittens k --verify c/d\nx'
    );
  });
});

describe('options', () => {
  it('are those that begin as what is typed', () => {
    const { begun, options } = optionsAt('%%hipkittens k --prof');
    expect([begun, options.map(({ name }) => name)]).toEqual([6, ['--profile']]);
    expect(optionsAt('%%hipkittens ro').options).toEqual([]);
  });
});
