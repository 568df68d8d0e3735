/**
 * The kernel's data about a compiled cell: the types of `payload.schema.json` and how to read them.
 *
 * A payload comes out of a notebook file, so nothing about it is taken for granted.
 */

export const MIME_TYPE = 'application/vnd.hipkittens.cell+json';
export const VERSION = 1;

export type Origin = 'measured' | 'counted' | 'modelled' | 'published';
export type Position = [line: number, column: number];

export interface IFix {
  start: Position;
  end: Position;
  text: string;
}

export interface IFinding {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  severity: 'error' | 'warning' | 'note' | 'remark';
  message: string;
  fixits: IFix[];
  notes: string[];
  source: 'compiler' | 'sanitizer' | 'device';
  option: string;
}

export interface IDevice {
  name: string;
  label: string;
  arch: string;
  /** In bytes, 0 where unknown. */
  memory_total: number;
  memory_used: number;
}

export interface IResources {
  vgpr: number;
  agpr: number;
  sgpr: number;
  lds: number;
  scratch: number;
  spills: number;
  occupancy: number;
  limited_by: string;
}

export interface IKernel {
  name: string;
  signature: string;
  resources: IResources | null;
  changes: string[];
}

export interface IRun {
  kind: 'compile' | 'run' | 'time' | 'verify' | 'profile' | 'sanitize';
  at: string;
  kernel: string;
  /** `provenance`: the origin and how far a modelled time may be off; absent in notebooks of older versions. */
  time: { value: number; unit: string; origin: Origin; provenance?: string } | null;
  verified: boolean | null;
  changes: string[];
  error: string;
}

export interface IMeasure {
  key: string;
  label: string;
  unit: string;
  origin: Origin;
  /** The message; absent in notebooks of older versions. */
  doc?: string;
}

export interface IHeatLine {
  line: number;
  values: Record<string, number>;
  instructions: Record<string, number>;
}

export interface IHeat {
  kernel: string;
  measures: IMeasure[];
  lines: IHeatLine[];
  elsewhere: Record<string, number>;
  note: string;
}

export interface ICellPayload {
  version: number;
  checksum: number | null;
  name: string;
  status: 'compiled' | 'failed';
  device: IDevice | null;
  origin: Origin | '';
  compile: { seconds: number; cached: boolean; compiler: string } | null;
  diagnostics: IFinding[];
  kernels: IKernel[];
  run: IRun | null;
  heat: IHeat | null;
}

/**
 * The payload in a MIME bundle's data, or null if there is none that this version can read.
 */
export function parsePayload(data: unknown): ICellPayload | null {
  if (typeof data !== 'object' || data === null) {
    return null;
  }
  const value = data as Partial<ICellPayload>;
  if (value.version !== VERSION || typeof value.name !== 'string') {
    return null;
  }
  return {
    version: VERSION,
    checksum: typeof value.checksum === 'number' ? value.checksum : null,
    name: value.name,
    status: value.status === 'failed' ? 'failed' : 'compiled',
    device: value.device ?? null,
    origin: value.origin ?? '',
    compile: value.compile ?? null,
    diagnostics: Array.isArray(value.diagnostics) ? value.diagnostics : [],
    kernels: Array.isArray(value.kernels) ? value.kernels : [],
    run: value.run ?? null,
    heat: value.heat && Array.isArray(value.heat.lines) && value.heat.measures?.length ? value.heat : null
  };
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) {
    value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return value;
});

/**
 * CRC-32 of the cell's text after its first line, as `workbench.lab.payload.checksum` computes it.
 */
export function checksum(cell: string): number {
  const end = cell.indexOf('\n');
  const body = end < 0 ? '' : cell.slice(end + 1).replace(/\s+$/, '');
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(body)) {
    crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff];
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Whether a payload's line numbers still hold for the cell's text.
 */
export function isCurrent(payload: ICellPayload, cell: string): boolean {
  return payload.checksum === null || payload.checksum === checksum(cell);
}
