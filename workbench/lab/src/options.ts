/** Written by `python -m workbench.lab.options` from `workbench.magic_options`: change that. */

export interface IOption {
  name: string;
  signature: string;
  doc: string;
  /** Whether the word behind it is its value. */
  takesValue: boolean;
}

export const OPTIONS: readonly IOption[] = [
  {
    "name": "--arch",
    "signature": "--arch A",
    "doc": "Target: gfx950, gfx942, gfx1250, gfx1201, gfx1100; default: the default device's.",
    "takesValue": true
  },
  {
    "name": "-I",
    "signature": "-I DIR",
    "doc": "Folder to search for #include.",
    "takesValue": true
  },
  {
    "name": "-D",
    "signature": "-D X",
    "doc": "Macro, NAME or NAME=VALUE.",
    "takesValue": true
  },
  {
    "name": "--flags",
    "signature": "--flags \"...\"",
    "doc": "More compiler flags, quoted.",
    "takesValue": true
  },
  {
    "name": "--device-libraries",
    "signature": "--device-libraries",
    "doc": "Link ROCm's device libraries, for sources that call __ocml_* or __ockl_*.",
    "takesValue": false
  },
  {
    "name": "--verify",
    "signature": "--verify SPEC",
    "doc": "Run the cell's kernel on this spec's inputs, compare with its reference.",
    "takesValue": true
  },
  {
    "name": "--spec",
    "signature": "--spec SPEC",
    "doc": "Take inputs and launch from this spec, but do not compare.",
    "takesValue": true
  },
  {
    "name": "--shape",
    "signature": "--shape K=V,...",
    "doc": "Shape of the spec, such as rows=4096,cols=1024.",
    "takesValue": true
  },
  {
    "name": "--launch",
    "signature": "--launch EXPR",
    "doc": "How to launch the cell's kernel, such as \"scale[4, 64]\".",
    "takesValue": true
  },
  {
    "name": "--inputs",
    "signature": "--inputs EXPR",
    "doc": "All arguments of that launch, such as \"dict(x=torch.ones(256), by=2.0)\".",
    "takesValue": true
  },
  {
    "name": "--outputs",
    "signature": "--outputs A,...",
    "doc": "The arguments that the kernel writes, such as out.",
    "takesValue": true
  },
  {
    "name": "--reference",
    "signature": "--reference EXPR",
    "doc": "Compare with a function of its inputs, such as \"lambda x, by: x * by\".",
    "takesValue": true
  },
  {
    "name": "--show",
    "signature": "--show",
    "doc": "Keep what the cell passes to show(tile), and draw it after a launch.",
    "takesValue": false
  },
  {
    "name": "--time",
    "signature": "--time",
    "doc": "Time a launch: measured on a GPU, modelled on an emulated device.",
    "takesValue": false
  },
  {
    "name": "--profile",
    "signature": "--profile",
    "doc": "Count events of a launch, under rocprof's names.",
    "takesValue": false
  },
  {
    "name": "--sanitize",
    "signature": "--sanitize",
    "doc": "Look for missing waits, races, uninitialised values.",
    "takesValue": false
  },
  {
    "name": "--hipify",
    "signature": "--hipify",
    "doc": "The cell is CUDA: replace its names with HIP's, and list what is left to do.",
    "takesValue": false
  },
  {
    "name": "--fails",
    "signature": "--fails",
    "doc": "The cell fails on purpose: print the error and continue with the next cell.",
    "takesValue": false
  },
  {
    "name": "--program",
    "signature": "--program [ARG ...]",
    "doc": "Run the cell's main with these words as arguments; NAME is its result, or left out.",
    "takesValue": true
  }
];
