/** Boolean preferences in localStorage; kept in memory where storage is unavailable. */

const sessionPreferences = new Set();

/** Whether a preference is on. @param {string} name */
export function getPreference(name) {
  try {
    return Boolean(localStorage.getItem(name));
  } catch {
    return sessionPreferences.has(name);
  }
}

/** Set a preference. @param {string} name @param {boolean} on */
export function setPreference(name, on) {
  try {
    if (on) localStorage.setItem(name, "1");
    else localStorage.removeItem(name);
  } catch {
    if (on) sessionPreferences.add(name);
    else sessionPreferences.delete(name);
  }
}
