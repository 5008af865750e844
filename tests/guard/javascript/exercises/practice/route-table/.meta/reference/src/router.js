'use strict';

const { compare, compile, match, split } = require('./pattern');

class Router {
  constructor() {
    this.routes = [];
  }

  /** Adds a route. Methods are compared in upper case. */
  add(method, path, handler) {
    this.routes.push({ method: method.toUpperCase(), pattern: compile(path), handler });
    return this;
  }

  /**
   * Finds the route for a request: `{ status: 200, handler, params, path }`, where `path` is the path of the route,
   * or just a status.
   */
  find(method, url) {
    const parts = tryToSplit(url);
    if (parts === null) {
      return { status: 400 };
    }
    const matching = this.routes
      .map((route) => ({ route, params: match(route.pattern, parts) }))
      .filter(({ params }) => params !== null)
      .sort((one, other) => compare(one.route.pattern, other.route.pattern));
    if (matching.length === 0) {
      return { status: 404 };
    }
    const wanted = method.toUpperCase();
    for (const candidate of wanted === 'HEAD' ? ['HEAD', 'GET'] : [wanted]) {
      const found = matching.find(({ route }) => route.method === candidate);
      if (found) {
        const { handler, pattern } = found.route;
        return { status: 200, handler, params: found.params, path: pattern.path };
      }
    }
    const allowed = new Set(matching.map(({ route }) => route.method));
    if (allowed.has('GET')) {
      allowed.add('HEAD');
    }
    return { status: 405, allow: [...allowed].sort() };
  }
}

function tryToSplit(url) {
  try {
    return split(url);
  } catch (error) {
    if (error instanceof URIError) {
      return null;
    }
    throw error;
  }
}

module.exports = { Router };
