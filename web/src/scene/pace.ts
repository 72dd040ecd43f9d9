/** Between two pictures of what has a name: it is DOM, and nobody reads faster. */
const CALM_MS = 60;
/** The same while so many records a second go by: what changes that fast is read in passing. */
const BUSY_MS = 200;
const BUSY_RECORDS = 2000;
/** Making and showing such pictures takes so much of the time at most. */
const SHARE = 1 / 5;
const SLOWEST_MS = 1000;

/**
 * Milliseconds from a picture to the next one. What moves is drawn in every frame; what has a name follows in steps, and the faster the
 * records go by and the longer a picture takes, the longer the steps are. While the clock stands no records go by, so that what it is put
 * at shows at once.
 */
export function paceOf(picture: { records: number; elapsedMS: number; tookMS: number }): number {
  const { records, elapsedMS, tookMS } = picture;
  const busy = Math.abs(records) * 1000 > BUSY_RECORDS * elapsedMS;
  return Math.min(SLOWEST_MS, Math.max(busy ? BUSY_MS : CALM_MS, tookMS / SHARE));
}
