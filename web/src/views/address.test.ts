import { expect, it } from 'vitest';
import { readingOf } from './address';

it.each([
  ['?note=06-isr-and-acks', { note: '06-isr-and-acks' }],
  ['?lab=06-isr-and-acks&lang=zh', { lab: '06-isr-and-acks' }],
  ['?view=charts', { view: 'charts' }],
  ['?view=story', { view: 'story' }],
  ['?source=engine%2Fcommitlog%2Fappend.go&symbol=Log.Append', { source: 'engine/commitlog/append.go', symbol: 'Log.Append' }],
  ['?source=engine/commitlog/FORMAT.md', { source: 'engine/commitlog/FORMAT.md' }],
  ['?note=../../etc', undefined],
  ['?source=/etc/passwd', undefined],
  ['?view=dream', undefined],
  ['', undefined],
])('%s', (query, reading) => expect(readingOf(new URLSearchParams(query))).toEqual(reading));
