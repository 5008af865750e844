import { check, hears, isPattern } from './topic.js';

export class Hub {
  constructor() {
    this.topics = new Map();
    this.patterns = [];
  }

  /** Adds a listener for a topic or a pattern. Returns a function that removes it. */
  on(topic, listener) {
    check(topic);
    if (isPattern(topic)) {
      this.patterns.push({ topic, listener });
    } else {
      const listeners = this.topics.get(topic) ?? [];
      listeners.push({ topic, listener });
      this.topics.set(topic, listeners);
    }
    return () => this.off(topic, listener);
  }

  /** Adds a listener for one event. */
  once(topic, listener) {
    const wrapper = (event) => {
      listener(event);
      this.off(topic, wrapper);
    };
    return this.on(topic, wrapper);
  }

  /** Removes a listener. */
  off(topic, listener) {
    const listeners = isPattern(topic) ? this.patterns : this.topics.get(topic) ?? [];
    const place = listeners.findIndex((entry) => entry.topic === topic && entry.listener === listener);
    if (place >= 0) {
      listeners.splice(place, 1);
    }
    return place >= 0;
  }

  /** Passes an event on to all who listen. */
  emit(topic, data) {
    check(topic);
    if (isPattern(topic)) {
      throw new TypeError(`cannot emit to a pattern: ${topic}`);
    }
    const event = { topic, data };
    let called = 0;
    for (const { listener } of this.topics.get(topic) ?? []) {
      listener(event);
      called += 1;
    }
    for (const { topic: pattern, listener } of this.patterns) {
      if (hears(pattern, topic)) {
        listener(event);
        called += 1;
      }
    }
    return called;
  }
}
