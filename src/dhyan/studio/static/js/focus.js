/** Keyboard focus across a render: the same word, cell or row has it afterwards. */

const IDENTIFYING = ["side", "index", "row", "column", "key", "value", "token", "switch"]; // data attributes

/**
 * Render; if the focus was inside the container, its successor gets it without scrolling.
 * @template T @param {Element} container @param {() => T} render @returns {T}
 */
export function keepFocus(container, render) {
  const focused = document.activeElement;
  if (!focused || focused === container || !container.contains(focused)) return render();
  const path = pathTo(container, focused);
  const [selector, ancestors] = [selectorOf(focused), ancestorsOf(container, focused)];
  const result = render();
  if (document.activeElement === focused) return result;
  const kept = ancestors.find((ancestor) => container.contains(ancestor)); // there may be several maps with such a cell
  const successor = /** @type {HTMLElement | null} */ ((selector && kept.querySelector(selector)) || follow(container, path, focused.tagName));
  successor?.focus({ preventScroll: true });
  return result;
}

/** A selector by id or by data attributes; null where there are none. @param {Element} element */
function selectorOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const data = /** @type {HTMLElement} */ (element).dataset;
  const names = data.row === undefined ? IDENTIFYING : ["row", "column"]; // a cell's value may change
  const own = names.filter((name) => data[name] !== undefined).map((name) => `[data-${name}="${CSS.escape(data[name] ?? "")}"]`);
  if (!own.length) return null;
  const kind = element.classList.length ? `.${CSS.escape(element.classList[0])}` : element.tagName.toLowerCase();
  return kind + own.join("");
}

/** The ancestors up to the container, nearest first. */
function ancestorsOf(container, element) {
  const ancestors = [];
  for (let node = element; node !== container; node = node.parentElement) ancestors.push(node.parentElement);
  return ancestors;
}

/** The index of each ancestor among its siblings, from the container down. */
function pathTo(container, element) {
  const path = [];
  for (let node = element; node !== container; node = node.parentElement) path.unshift([...node.parentElement.children].indexOf(node));
  return path;
}

/** The element at a path, if it is of the same kind. */
function follow(container, path, tagName) {
  const element = path.reduce((node, index) => node?.children[index], container);
  return element?.tagName === tagName ? element : null;
}
