/**
 * Hindi in Latin letters, roughly as it is spoken. The inherent a is left out at the end of a word
 * and between two syllables that have vowels; it is a rule of thumb, and names break it.
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

/** A text in Latin letters; what is not Devanagari stays. @param {string} text */
export const transliterate = (text) =>
  text.normalize("NFD").replace(/[\u0900-\u097f]+/g, (word) => (SPECIAL[word] ?? latin(sounds(word))));

/** The sounds of a word: consonants, each with its vowel; "" where the inherent a may still fall. */
function sounds(word) {
  const found = [];
  const letters = [...word];
  for (const [at, letter] of letters.entries()) {
    const last = found.at(-1);
    if (CONSONANTS[letter]) {
      const dotted = letters[at + 1] === NUKTA;
      found.push({ onset: (dotted && DOTTED[letter]) || CONSONANTS[letter], vowel: "a", inherent: true, coda: "" });
    } else if (SIGNS[letter] && last) {
      Object.assign(last, { vowel: SIGNS[letter], inherent: false });
    } else if (VOWELS[letter] || SIGNS[letter]) {
      found.push({ onset: "", vowel: VOWELS[letter] ?? SIGNS[letter], inherent: false, coda: "" });
    } else if (letter === HALT && last) {
      Object.assign(last, { vowel: "", inherent: false });
    } else if (NASAL[letter] && last) {
      last.coda = letter === "ँ" ? NASAL[letter] : nasal(letters[at + 1]);
    } else if (letter === BREATH && last) {
      last.coda = "ḥ";
    } else if (letter >= "०" && letter <= "९") {
      found.push({ onset: String(letter.charCodeAt(0) - 0x966), vowel: "", inherent: false, coda: "" });
    } else if (letter !== NUKTA) {
      found.push({ onset: SPECIAL[letter] ?? "", vowel: "", inherent: false, coda: "" });
    }
  }
  return found;
}

/** An anusvara is m before lips, and a nasal vowel where nothing follows. */
const nasal = (next) => (next === undefined ? NASAL["ँ"] : "पफबभम".includes(next) ? "m" : "n");

/** Leave out the a at the end, and from the right every one between two syllables with vowels. */
function latin(found) {
  const silent = (at) => found[at].inherent && !found[at].coda;
  const last = found.length - 1;
  const clings = found[last - 1]?.vowel === "" && "yrvl".includes(found[last].onset); // mitra, but dost
  if (last > 0 && silent(last) && !clings) found[last].vowel = "";
  for (let at = last - 1; at > 0; at -= 1) {
    const between = found[at - 1].vowel !== "" && found[at + 1].vowel !== "" && found[at + 1].onset !== "";
    if (silent(at) && between) found[at].vowel = "";
  }
  return found.map((one) => one.onset + one.vowel + one.coda).join("").normalize("NFC");
}
