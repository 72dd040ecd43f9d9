import type { Forms } from '../message';

export const notes = {
  'note.button': 'Notes',
  'note.title': 'Notes: the ideas behind it',
  'note.about': 'One page for each lab: what the thing is, why it works, where to see it, and the code that does it.',
  'note.back': 'Back',
  'note.close': 'Close the notes',
  'note.lab': 'Do the lab',
  'note.line': 'line {line}',
  'note.wholeFile': 'Show the whole file',
  'note.unavailable': 'This cannot be read: {detail}',
} as const satisfies Record<string, string | Forms>;
