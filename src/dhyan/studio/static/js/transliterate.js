/**
 * Transliteration of Hindi to Latin, roughly as spoken. Schwa deletion: the inherent a is dropped at the end of a word
 * and between two syllables with vowels; a heuristic with exceptions.
 */

const VOWELS = { अ: "a", आ: "ā", इ: "i", ई: "ī", उ: "u", ऊ: "ū", ऋ: "ri", ए: "e", ऐ: "ai", ओ: "o", औ: "au",
  ऑ: "o", ऍ: "e" };
const SIGNS = { "ा": "ā", "ि": "i", "ी": "ī", "ु": "u", "ू": "ū", "ृ": "ri", "े": "e", "ै": "ai", "ो": "o",
  "ौ": "au", "ॉ": "o", "ॅ": "e" };
const CONSONANTS = { क: "k", ख: "kh", ग: "g", घ: "gh", ङ: "ṅ", च: "ch", छ: "chh", ज: "j", झ: "jh", ञ: "ñ",
  ट: "ṭ", ठ: "ṭh", ड: "ḍ", ढ: "ḍh", ण: "ṇ", त: "t", थ: "th", द: "d", ध: "dh", न: "n", प: "p", फ: "ph",
  ब: "b", भ: "bh", म: "m", य: "y", र: "r", ल: "l", व: "v", श: "sh", ष: "ṣ", स: "s", ह: "h" };
const DOTTED = { क: "q", ख: "kh", ग: "g", ज: "z", ड: "ṛ", ढ: "ṛh", फ: "f" };
const NASAL = { "ँ": "̃", "ं": "n" };
const [HALT, NUKTA, BREATH] = ["्", "़", "ः"];
const SPECIAL = { "।": ".", "॥": ".", ऽ: "'" };

/** Transliterate the Devanagari in a text. @param {string} text */
export const transliterate = (text) =>
  text.normalize("NFD").replace(/[\u0900-\u097f]+/g, (word) => (SPECIAL[word] ?? latin(syllablesOf(word))));

/** Syllables of a word: onset, vowel and coda. */
function syllablesOf(word) {
  const syllables = [];
  const letters = [...word];
  for (const [index, letter] of letters.entries()) {
    const last = syllables.at(-1);
    if (CONSONANTS[letter]) {
      const dotted = letters[index + 1] === NUKTA;
      syllables.push({ onset: (dotted && DOTTED[letter]) || CONSONANTS[letter], vowel: "a", inherent: true, coda: "" });
    } else if (SIGNS[letter] && last) {
      Object.assign(last, { vowel: SIGNS[letter], inherent: false });
    } else if (VOWELS[letter] || SIGNS[letter]) {
      syllables.push({ onset: "", vowel: VOWELS[letter] ?? SIGNS[letter], inherent: false, coda: "" });
    } else if (letter === HALT && last) {
      Object.assign(last, { vowel: "", inherent: false });
    } else if (NASAL[letter] && last) {
      last.coda = letter === "ँ" ? NASAL[letter] : nasal(letters[index + 1]);
    } else if (letter === BREATH && last) {
      last.coda = "ḥ";
    } else if (letter >= "०" && letter <= "९") {
      syllables.push({ onset: String(letter.charCodeAt(0) - 0x966), vowel: "", inherent: false, coda: "" });
    } else if (letter !== NUKTA) {
      syllables.push({ onset: SPECIAL[letter] ?? "", vowel: "", inherent: false, coda: "" });
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
