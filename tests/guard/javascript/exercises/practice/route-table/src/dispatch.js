'use strict';

const TEXTS = { 400: 'Bad Request', 404: 'Not Found', 405: 'Method Not Allowed' };

/**
 * Answers a request with the handler of its route. A handler gets the parameters and returns the body.
 */
function dispatch(router, method, url) {
  const found = router.find(method, url);
  if (found.status !== 200) {
    const headers = found.allow ? { allow: found.allow.join(', ') } : {};
    return { status: found.status, headers, body: TEXTS[found.status] };
  }
  const body = found.handler(found.params);
  return { status: 200, headers: {}, body: method.toUpperCase() === 'HEAD' ? '' : body };
}

module.exports = { dispatch };
