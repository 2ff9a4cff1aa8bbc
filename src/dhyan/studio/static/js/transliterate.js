/**
 * Transliteration of Hindi to Latin, roughly as spoken. Schwa deletion: the inherent a is dropped at the end of a word
 * and between two syllables with vowels; a heuristic with exceptions.
 */

const VOWELS = { अ: "a", आ: "ā", इ: "i", ई: "ī", उ: "u", ऊ: "ū", ऋ: "ri", ए: "e", ऐ: "ai", ओ: "o", औ: "au",
  ऑ: "o", ऍ: "e" };
const VOWEL_SIGNS = { "ा": "ā", "ि": "i", "ी": "ī", "ु": "u", "ू": "ū", "ृ": "ri", "े": "e", "ै": "ai", "ो": "o",
  "ौ": "au", "ॉ": "o", "ॅ": "e" };
const CONSONANTS = { क: "k", ख: "kh", ग: "g", घ: "gh", ङ: "ṅ", च: "ch", छ: "chh", ज: "j", झ: "jh", ञ: "ñ",
  ट: "ṭ", ठ: "ṭh", ड: "ḍ", ढ: "ḍh", ण: "ṇ", त: "t", थ: "th", द: "d", ध: "dh", न: "n", प: "p", फ: "ph",
  ब: "b", भ: "bh", म: "m", य: "y", र: "r", ल: "l", व: "v", श: "sh", ष: "ṣ", स: "s", ह: "h" };
const NUKTA_CONSONANTS = { क: "q", ख: "kh", ग: "g", ज: "z", ड: "ṛ", ढ: "ṛh", फ: "f" };
const NASAL = { "ँ": "̃", "ं": "n" };
const [VIRAMA, NUKTA, VISARGA] = ["्", "़", "ः"];
const SPECIAL = { "।": ".", "॥": ".", ऽ: "'" };

/** Transliterate the Devanagari in a text. @param {string} text */
export const transliterate = (text) =>
  text.normalize("NFD").replace(/[\u0900-\u097f]+/g, (word) => (SPECIAL[word] ?? latin(syllablesOf(word))));

/** Syllables of a word: onset, vowel and coda. */
function syllablesOf(word) {
  const syllables = [];
  const characters = [...word];
  for (const [index, character] of characters.entries()) {
    const last = syllables.at(-1);
    if (CONSONANTS[character]) {
      const hasNukta = characters[index + 1] === NUKTA;
      syllables.push({ onset: (hasNukta && NUKTA_CONSONANTS[character]) || CONSONANTS[character], vowel: "a", inherent: true, coda: "" });
    } else if (VOWEL_SIGNS[character] && last) {
      Object.assign(last, { vowel: VOWEL_SIGNS[character], inherent: false });
    } else if (VOWELS[character] || VOWEL_SIGNS[character]) {
      syllables.push({ onset: "", vowel: VOWELS[character] ?? VOWEL_SIGNS[character], inherent: false, coda: "" });
    } else if (character === VIRAMA && last) {
      Object.assign(last, { vowel: "", inherent: false });
    } else if (NASAL[character] && last) {
      last.coda = character === "ँ" ? NASAL[character] : nasal(characters[index + 1]);
    } else if (character === VISARGA && last) {
      last.coda = "ḥ";
    } else if (character >= "०" && character <= "९") {
      syllables.push({ onset: String(character.charCodeAt(0) - 0x966), vowel: "", inherent: false, coda: "" });
    } else if (character !== NUKTA) {
      syllables.push({ onset: SPECIAL[character] ?? "", vowel: "", inherent: false, coda: "" });
    }
  }
  return syllables;
}

/** Anusvara: m before labials, nasalization at the end of a word, else n. */
const nasal = (next) => (next === undefined ? NASAL["ँ"] : "पफबभम".includes(next) ? "m" : "n");

/** Schwa deletion: at the end, and from the right between two syllables with vowels. */
function latin(syllables) {
  const silent = (index) => syllables[index].inherent && !syllables[index].coda;
  const last = syllables.length - 1;
  const isCluster = syllables[last - 1]?.vowel === "" && "yrvl".includes(syllables[last].onset); // mitra, but dost
  if (last > 0 && silent(last) && !isCluster) syllables[last].vowel = "";
  for (let index = last - 1; index > 0; index -= 1) {
    const between = syllables[index - 1].vowel !== "" && syllables[index + 1].vowel !== "" && syllables[index + 1].onset !== "";
    if (silent(index) && between) syllables[index].vowel = "";
  }
  return syllables.map((syllable) => syllable.onset + syllable.vowel + syllable.coda).join("").normalize("NFC");
}
