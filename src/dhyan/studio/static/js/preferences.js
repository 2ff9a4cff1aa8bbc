/** What is switched on or off from visit to visit; where a browser keeps nothing, for this visit. */

const here = new Set();

/** Whether something is switched on. @param {string} name */
export function getPreference(name) {
  try {
    return Boolean(localStorage.getItem(name));
  } catch {
    return here.has(name);
  }
}

/** Switch it. @param {string} name @param {boolean} on */
export function setPreference(name, on) {
  try {
    if (on) localStorage.setItem(name, "1");
    else localStorage.removeItem(name);
  } catch {
    if (on) here.add(name);
    else here.delete(name);
  }
}
