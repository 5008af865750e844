'use strict';

const { compile, match } = require('./pattern');

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
    for (const route of this.routes) {
      const params = match(route.pattern, url);
      if (params !== null) {
        if (route.method !== method.toUpperCase()) {
          return { status: 405, allow: [route.method] };
        }
        return { status: 200, handler: route.handler, params, path: route.pattern.path };
      }
    }
    return { status: 404 };
  }
}

module.exports = { Router };
