/**
 * Numbers as people read them.
 */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(value: number): string {
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export function count(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) {
    return `${(value / 1e9).toFixed(size < 1e10 ? 1 : 0)}G`;
  }
  if (size >= 1e6) {
    return `${(value / 1e6).toFixed(size < 1e7 ? 1 : 0)}M`;
  }
  if (size >= 1e4) {
    return `${(value / 1e3).toFixed(0)}k`;
  }
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value < 0.05 ? '<0.1' : value.toFixed(1)}%`;
}

export function quantity(value: number, unit: string): string {
  if (unit === 'bytes') {
    return bytes(value);
  }
  return `${count(value)}${unit ? ` ${unit}` : ''}`;
}

/**
 * A moment in the dashboard and the log: the time of day, and for other days the date too.
 */
export function clock(when: Date, now = new Date()): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const time = [when.getHours(), when.getMinutes(), when.getSeconds()].map(two).join(':');
  const date = [when.getFullYear(), two(when.getMonth() + 1), two(when.getDate())].join('-');
  return when.toDateString() === now.toDateString() ? time : `${date} ${time}`;
}

/**
 * A text without documentation's marks around code.
 */
export function plain(text: string): string {
  return text.replace(/`([^`]*)`/g, '$1');
}
