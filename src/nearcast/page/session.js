// Whose token it is that looks. It lives in this tab alone: not in the address, not in a cookie, not on disk.

const KEY = "nearcast.token";
const AS = "nearcast.as";

/** What the fragment of the address says: `#token=…`, and for operators `as=client`. The token is removed at once. */
export function takeFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  const token = said.get("token");
  if (token === null) return null;
  history.replaceState(history.state, "", location.pathname + location.search);
  return keep(token.trim(), said.get("as") ?? "");
}

export function keep(token, as = "") {
  sessionStorage.setItem(KEY, token);
  sessionStorage.setItem(AS, as);
  return { token, as };
}

export function kept() {
  const token = sessionStorage.getItem(KEY);
  return token ? { token, as: sessionStorage.getItem(AS) ?? "" } : null;
}

export function forget() {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(AS);
}
