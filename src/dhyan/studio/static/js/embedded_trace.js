/** A page that is a file: what the server would answer stands in it, for one saved sentence. */

const held = document.querySelector("#held");
const answers = held ? JSON.parse(held.textContent) : {};

/** Whether there is no server behind this page. */
export const standalone = held !== null;

/** Whether it is a frame in another page, with no address of its own. */
export const framed = location.protocol === "about:";
document.documentElement.toggleAttribute("data-framed", framed);

/** What the server would say; nothing if only a server could. @param {string} path */
export function embeddedResponse(path, body) {
  const found = answers[path.replace(/\/stream$/, "")];
  const other = body && found && body.text.normalize("NFC") !== found.text.normalize("NFC");
  return other ? undefined : found;
}
