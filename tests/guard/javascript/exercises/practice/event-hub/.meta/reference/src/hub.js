import { check, hears, isPattern } from './topic.js';

export class Hub {
  constructor() {
    // One list for topics and patterns, as the order of the calls is the order of the additions.
    this.entries = [];
  }

  /** Adds a listener for a topic or a pattern. Returns a function that removes it. */
  on(topic, listener) {
    return this.#add({ topic, listener, once: false, removed: false });
  }

  /** Adds a listener for one event. */
  once(topic, listener) {
    return this.#add({ topic, listener, once: true, removed: false });
  }

  /** Removes the most recent addition of a listener. */
  off(topic, listener) {
    for (let place = this.entries.length - 1; place >= 0; place -= 1) {
      const entry = this.entries[place];
      if (entry.topic === topic && entry.listener === listener) {
        this.#remove(entry);
        return true;
      }
    }
    return false;
  }

  /** Passes an event on to all who listen. */
  emit(topic, data) {
    check(topic);
    if (isPattern(topic)) {
      throw new TypeError(`cannot emit to a pattern: ${topic}`);
    }
    const event = { topic, data };
    const errors = [];
    let called = 0;
    for (const entry of this.entries.filter((candidate) => hears(candidate.topic, topic))) {
      if (entry.removed) {
        continue;
      }
      if (entry.once) {
        this.#remove(entry);
      }
      called += 1;
      try {
        entry.listener(event);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 1) {
      throw new AggregateError(errors, `${errors.length} listeners of ${topic} failed`);
    }
    if (errors.length === 1) {
      throw errors[0];
    }
    return called;
  }

  #add(entry) {
    check(entry.topic);
    this.entries.push(entry);
    return () => this.#remove(entry);
  }

  #remove(entry) {
    const place = this.entries.indexOf(entry);
    if (place >= 0) {
      this.entries.splice(place, 1);
      entry.removed = true;
    }
    return place >= 0;
  }
}
