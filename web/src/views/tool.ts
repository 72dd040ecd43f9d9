/** What the drawer beside the picture holds, besides a lab. */
export type Tool = 'inspector' | 'links' | 'invariants' | 'notes' | 'actions' | 'runs';

/** How the classroom is shown. */
export type View = 'picture' | 'table' | 'charts' | 'story';
