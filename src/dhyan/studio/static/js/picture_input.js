/** Picture input of the header: a file chooser that also takes a dropped file, with a preview and the limits. */

import { el, setChildren } from "./dom.js";
import { message } from "./messages.js";
import { isPicture, MAX_PICTURE, PICTURE_TYPES, pictureOf, readPicture, storePicture } from "./pictures.js";
import { state } from "./state.js";
import { showStatus } from "./status.js";

const KILOBYTES = Math.floor((MAX_PICTURE * 3) / 4 / 1000);

/** @param {(name: string) => void} onChoose gets the name of a picture that was read */
export function pictureInput(onChoose) {
  const preview = el("span", { class: "picture-holder" });
  const input = el("input", { type: "file", id: "picture", accept: PICTURE_TYPES.join(","), "aria-label": message("picture_choose"), "aria-describedby": "picture-limits",
    on: { change: () => read(input.files?.[0]) } });
  const field = el("div", { class: "picture-field", on: {
    dragover: (event) => {
      event.preventDefault();
      field.classList.add("over");
    },
    dragleave: () => field.classList.remove("over"),
    drop: (event) => {
      event.preventDefault();
      field.classList.remove("over");
      read(event.dataTransfer?.files[0]);
    } } }, preview, input);
  const node = el("div", { class: "picture-input", hidden: true }, field, el("p", { id: "picture-limits", class: "muted picture-limits" }, message("picture_limits", KILOBYTES)));

  /** @param {File | undefined} file */
  async function read(file) {
    if (!file) return;
    try {
      const { uri, smaller } = await readPicture(file);
      onChoose(await storePicture(uri));
      if (smaller) showStatus(message("picture_smaller", KILOBYTES));
    } catch (error) {
      showStatus(new Error(error.message === "picture_type" ? message("picture_type") : message("picture_broken")));
    }
  }

  return Object.assign(node, {
    /** Show the picture of the state. */
    sync() {
      const uri = pictureOf(state.text);
      setChildren(preview, uri && el("img", { class: "picture-preview", src: uri, alt: message("picture_preview") }));
      if (!isPicture(state.text)) input.value = "";
    },
  });
}
