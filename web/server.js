// What the server answers.

const PATIENCE = 4000;  // [ms]
const KEPT = 'headgate-token';

/** The server wants its token, or another one. */
export class Unauthorised extends Error {}

export function keepToken(token) {
  sessionStorage.setItem(KEPT, token);
}

export function hasToken() {
  return sessionStorage.getItem(KEPT) !== null;
}

async function get(path) {
  const token = sessionStorage.getItem(KEPT);
  const response = await fetch(path, {
    headers: token ? {Authorization: `Bearer ${token}`} : {},
    cache: 'no-store',
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (response.status === 401) throw new Unauthorised();
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

export async function getText(path) {
  return (await get(path)).text();
}

export async function getJson(path) {
  return (await get(path)).json();
}
