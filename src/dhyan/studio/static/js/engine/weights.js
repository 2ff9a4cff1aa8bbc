/** Weights of a model file in the safetensors format, stored as in `dhyan.quantization`, read as 32-bit floats. */

const SCALE = ":scale";

/** @typedef {{data: Float32Array, shape: number[]}} Tensor */
/** @typedef {{weight: Float32Array, bias: Float32Array | null, rows: number, columns: number}} Linear */
/** @typedef {{weight: Float32Array, bias: Float32Array}} Norm */

export class Weights {
  /** @param {ArrayBuffer} buffer the bytes of a .safetensors file */
  constructor(buffer) {
    const length = Number(new DataView(buffer).getBigUint64(0, true));
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    this.data = buffer.slice(8 + length);
    /** @type {Map<string, Tensor>} */
    this.read = new Map();
  }

  /** @param {string} name */
  has(name) {
    return name in this.header;
  }

  /** A tensor as floats; int8 rows are multiplied by their scales. @param {string} name @returns {Tensor} */
  get(name) {
    const tensor = this.read.get(name) ?? { data: this.#floats(name), shape: this.header[name].shape };
    this.read.set(name, tensor);
    return tensor;
  }

  /** A linear layer; without a bias if none is stored. @param {string} name @param {string} [weight] name of a shared matrix
   * @returns {Linear} */
  linear(name, weight = `${name}.weight`) {
    const { data, shape: [rows, columns] } = this.get(weight);
    return { weight: data, bias: this.has(`${name}.bias`) ? this.get(`${name}.bias`).data : null, rows, columns };
  }

  /** @param {string} name @returns {Norm} */
  norm(name) {
    return { weight: this.get(`${name}.weight`).data, bias: this.get(`${name}.bias`).data };
  }

  #floats(name) {
    const { dtype, shape, data_offsets: [start, stop] } = this.header[name];
    const bytes = this.data.slice(start, stop);
    if (dtype === "F32") return new Float32Array(bytes);
    if (dtype === "F16") return Float32Array.from(new Uint16Array(bytes), fromHalf);
    if (dtype !== "I8") throw new Error(`${name}: weights of type ${dtype}`);
    const whole = new Int8Array(bytes);
    const scale = this.get(name + SCALE).data;
    const width = whole.length / shape[0];
    return Float32Array.from(whole, (value, index) => value * scale[Math.floor(index / width)]);
  }
}

/** @param {string} base64 @returns {ArrayBuffer} */
export function decodeBase64(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes.buffer;
}

/** The number that 16 bits stand for. @param {number} bits */
function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 0x1f, bits & 0x3ff];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
