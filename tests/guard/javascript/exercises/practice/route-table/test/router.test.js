'use strict';

const assert = require('node:assert/strict');
const { describe, it } = require('node:test');

const { Router, dispatch } = require('../src');

/** A router in which each handler returns the path of its route. */
function router(...routes) {
  const made = new Router();
  for (const route of routes) {
    const [method, path] = route.startsWith('/') ? ['GET', route] : route.split(/ (.*)/);
    made.add(method, path, () => `${method} ${path}`);
  }
  return made;
}

function found(made, url, method = 'GET') {
  const { status, path, params } = made.find(method, url);
  return status === 200 ? { path, params: { ...params } } : status;
}

describe('plain routes', () => {
  const made = router('/', '/users', '/users/:id', 'POST /users');

  it('finds literals and parameters', () => {
    assert.deepEqual(found(made, '/'), { path: '/', params: {} });
    assert.deepEqual(found(made, '/users'), { path: '/users', params: {} });
    assert.deepEqual(found(made, '/users/7'), { path: '/users/:id', params: { id: '7' } });
  });

  it('needs all segments', () => {
    assert.equal(found(made, '/nothing'), 404);
    assert.equal(found(made, '/users/7/posts'), 404);
    assert.equal(found(router('/users/:id'), '/users'), 404);
  });

  it('rejects bad paths of routes', () => {
    assert.throws(() => router('users'), TypeError);
    assert.throws(() => router('/*rest/x'), TypeError);
  });
});

describe('precedence', () => {
  function both(one, other, url, winner) {
    assert.equal(found(router(one, other), url).path, winner);
    assert.equal(found(router(other, one), url).path, winner);
  }

  it('prefers a literal', () => {
    both('/users/:id', '/users/new', '/users/new', '/users/new');
  });

  it('looks from the left', () => {
    both('/:kind/new', '/users/:id', '/users/new', '/users/:id');
    both('/a/:x/*rest', '/:y/b/c', '/a/b/c', '/a/:x/*rest');
  });

  it('prefers a parameter to a rest', () => {
    both('/files/*path', '/files/:name', '/files/a', '/files/:name');
  });

  it('prefers a literal path to one with an empty rest', () => {
    both('/files/*path', '/files', '/files', '/files');
    both('/*path', '/', '/', '/');
  });

  it('keeps the order of equal routes', () => {
    assert.equal(found(router('/:a', '/:b'), '/x').path, '/:a');
    assert.equal(found(router('/:b/c', '/:a/c'), '/x/c').path, '/:b/c');
  });
});

describe('parameters and rests', () => {
  it('does not match an empty segment with a parameter', () => {
    assert.equal(found(router('/users/:id'), '/users/'), 404);
    assert.equal(found(router('/a/:x/b'), '/a//b'), 404);
  });

  it('matches any number of segments with a rest', () => {
    const made = router('/files/*path');
    assert.deepEqual(found(made, '/files').params, { path: '' });
    assert.deepEqual(found(made, '/files/').params, { path: '' });
    assert.deepEqual(found(made, '/files/a/b.txt').params, { path: 'a/b.txt' });
    assert.equal(found(made, '/file'), 404);
  });

  it('keeps empty segments in a rest', () => {
    assert.deepEqual(found(router('/files/*path'), '/files/a//b').params, { path: 'a//b' });
    assert.deepEqual(found(router('/files/*path'), '/files//a').params, { path: '/a' });
  });
});

describe('encoding', () => {
  it('decodes parameters', () => {
    const made = router('/tags/:tag');
    assert.deepEqual(found(made, '/tags/caf%C3%A9%20au%2Flait').params, { tag: 'café au/lait' });
    assert.deepEqual(found(made, '/tags/c++').params, { tag: 'c++' });
    assert.deepEqual(found(made, '/tags/a%3Fb').params, { tag: 'a?b' });
  });

  it('compares literals after decoding', () => {
    assert.equal(found(router('/about us'), '/about%20us').path, '/about us');
    assert.equal(found(router('/users'), '/%75sers').path, '/users');
  });

  it('decodes a rest by segment', () => {
    assert.deepEqual(found(router('/f/*path'), '/f/a%20b/c%2Fd').params, { path: 'a b/c/d' });
  });

  it('rejects a malformed encoding', () => {
    const made = router('/tags/:tag', '/f/*path');
    for (const url of ['/tags/%', '/tags/%zz', '/f/a/%C3', '/nothing/%', '/%/tags']) {
      assert.deepEqual(made.find('GET', url), { status: 400 }, url);
    }
  });

  it('does not look at the encoding of the query', () => {
    assert.equal(found(router('/tags/:tag'), '/tags/a?q=%').path, '/tags/:tag');
  });
});

describe('the URL', () => {
  it('ignores the query and the fragment', () => {
    const made = router('/users/:id');
    for (const url of ['/users/7?x=1', '/users/7#top', '/users/7?x=/a/b#c', '/users/7#a?b', '/users/7/?x']) {
      assert.deepEqual(found(made, url), { path: '/users/:id', params: { id: '7' } }, url);
    }
    assert.equal(found(router('/'), '/?x=1').path, '/');
  });

  it('ignores one slash at the end', () => {
    const made = router('/users', '/users/:id');
    assert.equal(found(made, '/users/').path, '/users');
    assert.equal(found(made, '/users/7/').path, '/users/:id');
    assert.equal(found(made, '/users//'), 404);
  });
});

describe('methods', () => {
  it('compares methods in upper case', () => {
    assert.equal(found(router('post /users'), '/users', 'Post').path, '/users');
  });

  it('looks on for the right method', () => {
    const made = router('GET /users/:id', 'DELETE /users/:id', 'POST /users/new');
    assert.equal(found(made, '/users/7', 'DELETE').path, '/users/:id');
    assert.deepEqual(found(made, '/users/new'), { path: '/users/:id', params: { id: 'new' } });
  });

  it('lists the methods of all matching routes', () => {
    const made = router('PUT /users/:id', 'POST /users/new', 'PUT /users/new', 'PATCH /posts');
    assert.deepEqual(made.find('DELETE', '/users/new'), { status: 405, allow: ['POST', 'PUT'] });
    assert.deepEqual(made.find('GET', '/users/7'), { status: 405, allow: ['PUT'] });
  });

  it('adds HEAD to GET', () => {
    assert.deepEqual(router('/a', 'POST /a').find('PUT', '/a').allow, ['GET', 'HEAD', 'POST']);
    assert.deepEqual(router('/a', 'HEAD /a').find('PUT', '/a').allow, ['GET', 'HEAD']);
    assert.deepEqual(router('POST /a').find('HEAD', '/a'), { status: 405, allow: ['POST'] });
  });

  it('serves HEAD', () => {
    assert.equal(found(router('/a/:x', '/a/b'), '/a/b', 'HEAD').path, '/a/b');
    assert.equal(found(router('/a/b', 'HEAD /a/:x'), '/a/b', 'HEAD').path, '/a/:x');
  });
});

describe('dispatch', () => {
  const made = router('/users/:id');

  it('answers', () => {
    assert.deepEqual(dispatch(made, 'GET', '/users/7'), { status: 200, headers: {}, body: 'GET /users/:id' });
    assert.equal(dispatch(made, 'GET', '/').body, 'Not Found');
  });

  it('answers without a body or with an error', () => {
    assert.deepEqual(dispatch(made, 'HEAD', '/users/7'), { status: 200, headers: {}, body: '' });
    assert.deepEqual(dispatch(made, 'PUT', '/users/7').headers, { allow: 'GET, HEAD' });
    assert.equal(dispatch(made, 'GET', '/users/%').body, 'Bad Request');
  });
});
