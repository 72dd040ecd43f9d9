import { expect, it } from 'vitest';
import { paceOf } from './pace';

it.each([
  ['calm: as often as it can be read', { records: 20, elapsedMS: 60, tookMS: 2 }, 60],
  ['busy: five times a second', { records: 2000, elapsedMS: 200, tookMS: 12 }, 200],
  ['busy while the clock runs back', { records: -2000, elapsedMS: 200, tookMS: 12 }, 200],
  ['the clock stands: at once', { records: 0, elapsedMS: 200, tookMS: 12 }, 60],
  ['a large classroom on a slow machine: a fifth of the time', { records: 10, elapsedMS: 300, tookMS: 90 }, 450],
  ['however slow, once a second', { records: 10, elapsedMS: 1000, tookMS: 700 }, 1000],
])('%s', (_, picture, pace) => expect(paceOf(picture)).toBe(pace));
