/**
 * Keeps the last events of a hub, for debugging.
 *
 * Returns `events`, oldest first, and `stop`.
 */
export function record(hub, pattern = '**', limit = 100) {
  const events = [];
  const stop = hub.on(pattern, ({ topic, data }) => {
    events.push({ topic, data });
    if (events.length > limit) {
      events.shift();
    }
  });
  return { events, stop };
}
