// Requests to the server. Paths are relative to the page, which may lie beneath any prefix.

// [ms] Requests are due every second: a server that needs longer than this counts as down.
const TIMEOUT = 4000;
const TOKEN_KEY = 'headgate-token';  // in the session storage: gone with the tab

/** The server requires a token, or does not accept the one that was sent. */
export class Unauthorised extends Error {}

/** The token is right, and may not do this. */
export class Forbidden extends Error {}

/** This server has no such page. */
export class NotFound extends Error {}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN_KEY, token);
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN_KEY) !== null;
}

async function get(path) {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const response = await fetch(path, {
    headers: token ? {Authorization: `Bearer ${token}`} : {},
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT),
  });
  if (response.status === 401) {
    if (sessionStorage.getItem(TOKEN_KEY) !== token) return get(path);  // another one was given meanwhile
    throw new Unauthorised();
  }
  if (response.status === 403) throw new Forbidden();
  if (response.status === 404) throw new NotFound(`${path}: ${response.status}`);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

export async function getText(path) {
  return (await get(path)).text();
}

export async function getJson(path) {
  return (await get(path)).json();
}
