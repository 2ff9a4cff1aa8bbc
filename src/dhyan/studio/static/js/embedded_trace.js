/** Standalone page: the server's responses for one saved sentence are embedded in it. */

const element = document.querySelector("#embedded-responses");
const responses = element ? JSON.parse(element.textContent) : {};

/** Whether the page runs without a server. */
export const standalone = element !== null;

/** Whether the page is an iframe without its own address. */
export const framed = location.protocol === "about:";
document.documentElement.toggleAttribute("data-framed", framed);

/** The embedded response of a path; undefined where only a server could answer. @param {string} path @param {{text: string}} [body] */
export function embeddedResponse(path, body) {
  const response = responses[path.replace(/\/stream$/, "")];
  const differs = body && response && body.text.normalize("NFC") !== response.text.normalize("NFC");
  return differs ? undefined : response;
}
