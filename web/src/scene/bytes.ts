/** A number of bytes in the unit that leaves one to three digits before the point: 58,954 as 59 kB. */
export function inUnit(bytes: number): { value: number; unit: 'B' | 'kB' | 'MB' | 'GB' } {
  const units = ['B', 'kB', 'MB', 'GB'] as const;
  let value = bytes;
  let index = 0;
  while (value >= 1000 && index < units.length - 1) {
    value /= 1000;
    index++;
  }
  return { value: value >= 10 ? Math.round(value) : Math.round(value * 10) / 10, unit: units[index]! };
}
