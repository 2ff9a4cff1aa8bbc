// Linear layers over packed weights, in float32 or int8, and the output layer with its best tokens.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

#include "simd.h"

namespace dhyan {

// Memory that is aligned to a cache line and grows without keeping its contents.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
        other.data_ = nullptr;
        other.size_ = 0;
    }
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Buffer() { std::free(data_); }

    T* reserve(size_t size) {
        if (size > size_) {
            std::free(data_);
            data_ = nullptr;
            size_ = 0;
            const size_t bytes = (size * sizeof(T) + 63) / 64 * 64;
            data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
            if (data_ == nullptr) throw std::bad_alloc();
            size_ = size;
        }
        return data_;
    }
    T* zeros(size_t size) {
        reserve(size);
        std::memset(static_cast<void*>(data_), 0, size * sizeof(T));
        return data_;
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

  private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

// A matrix of float32 whose rows are padded with zeros.
class Matrix {
  public:
    int rows = 0, width = 0, stride = 0;

    void resize(int new_rows, int new_width) {
        rows = new_rows;
        width = new_width;
        stride = padded(new_width);
        buffer_.reserve(static_cast<size_t>(rows) * stride);
    }
    void zero() {
        std::memset(buffer_.data(), 0, static_cast<size_t>(rows) * stride * sizeof(float));
    }
    float* row(int at) { return buffer_.data() + static_cast<size_t>(at) * stride; }
    const float* row(int at) const { return buffer_.data() + static_cast<size_t>(at) * stride; }

  private:
    Buffer<float> buffer_;
};

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define DHYAN_DOT_OF_BYTES 1
typedef int8_t QuantizedInput;
typedef uint8_t QuantizedWeight;  // 128 is added to it
constexpr int GROUP = 4;          // products that an instruction adds up
#else
#define DHYAN_DOT_OF_BYTES 0
typedef int16_t QuantizedInput;
typedef int16_t QuantizedWeight;
constexpr int GROUP = 2;
#endif

#if defined(__AVX512F__)
constexpr int TILE_ROWS = 6, TILE_VECTORS = 4;
#elif defined(__AVX2__)
constexpr int TILE_ROWS = 6, TILE_VECTORS = 2;
#else
constexpr int TILE_ROWS = 4, TILE_VECTORS = 2;
#endif
constexpr int TILE_COLUMNS = TILE_VECTORS * LANES;
static_assert(ALIGNMENT % TILE_COLUMNS == 0, "a tile never crosses the padding");

inline IntVec add_products(IntVec total, IntVec weights, int32_t input) {
#if defined(__AVX512VNNI__)
    return (IntVec)_mm512_dpbusd_epi32((__m512i)total, (__m512i)weights, _mm512_set1_epi32(input));
#elif defined(__AVXVNNI__)
    return (IntVec)_mm256_dpbusd_avx_epi32((__m256i)total, (__m256i)weights,
                                           _mm256_set1_epi32(input));
#elif defined(__AVX512BW__)
    return total + (IntVec)_mm512_madd_epi16((__m512i)weights, _mm512_set1_epi32(input));
#elif defined(__AVX2__)
    return total + (IntVec)_mm256_madd_epi16((__m256i)weights, _mm256_set1_epi32(input));
#elif defined(__x86_64__)
    return total + (IntVec)_mm_madd_epi16((__m128i)weights, _mm_set1_epi32(input));
#else
    int16_t pair[2], all[2 * LANES];
    std::memcpy(pair, &input, sizeof pair);
    std::memcpy(all, &weights, sizeof all);
    for (int at = 0; at < LANES; ++at)
        total[at] += int32_t(pair[0]) * all[2 * at] + int32_t(pair[1]) * all[2 * at + 1];
    return total;
#endif
}

// Inputs of a layer in int8: a scale for each row, which its largest number decides.
struct QuantizedRows {
    Buffer<QuantizedInput> values;
    Buffer<float> scales;
    Buffer<int32_t> sums;
    int stride = 0;

    void quantize(const Matrix& inputs, int rows) {
        stride = inputs.stride;
        values.reserve(static_cast<size_t>(rows) * stride);
        scales.reserve(rows);
        sums.reserve(rows);
        constexpr int TOGETHER = 4;  // the largest values of some rows first: none waits for its own
        for (int first = 0; first < rows; first += TOGETHER) {
            const int end = std::min(first + TOGETHER, rows);
            float limits[TOGETHER];
            for (int row = first; row < end; ++row) limits[row - first] = limit(inputs.row(row));
            for (int row = first; row < end; ++row)
                quantize_row(inputs.row(row), limits[row - first], row);
        }
    }

    float limit(const float* input) const {
        Vec most{};
        for (int at = 0; at < stride; at += LANES) most = max(most, magnitude(load(input + at)));
        return largest(most);
    }

    void quantize_row(const float* input, float limit, int row) {
        const Vec factor = splat(limit > 0 ? 127.0f / limit : 0.0f);
        scales.data()[row] = limit / 127.0f;
        QuantizedInput* out = values.data() + static_cast<size_t>(row) * stride;
        IntVec total{};
        for (int at = 0; at < stride; at += LANES) {
            const IntVec whole = round_to_int(load(input + at) * factor);
            total += whole;
#if defined(__AVX512F__) && DHYAN_DOT_OF_BYTES
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at),
                             _mm512_cvtepi32_epi8((__m512i)whole));
#else
            for (int lane = 0; lane < LANES; ++lane)
                out[at + lane] = static_cast<QuantizedInput>(whole[lane]);
#endif
        }
        sums.data()[row] = sum(total);
    }
};

// A part of the rows of a weight matrix, and of its columns if it is applied to a part of an input.
struct WeightRows {
    const float* weight = nullptr;
    const float* bias = nullptr;  // none if null
    int rows = 0;
    int first_column = 0;
    int all_columns = 0;  // of the matrix it is part of
};

// y = W x + b. Several layers over one input are one, each part padded by itself.
class Linear {
  public:
    int inputs = 0, outputs = 0;  // outputs with the padding of each part

    Linear() = default;
    Linear(const std::vector<WeightRows>& parts, int inputs, bool int8, float padding_bias = 0.0f)
        : inputs(inputs), int8_(int8) {
        for (const WeightRows& part : parts) outputs += padded(part.rows);
        bias_.reserve(outputs);
        std::fill(bias_.data(), bias_.data() + outputs, padding_bias);
        stride_ = padded(inputs);
        const size_t size = static_cast<size_t>(outputs) * stride_;
        if (int8_) {
            scales_.zeros(outputs);
#if DHYAN_DOT_OF_BYTES
            std::memset(bytes_.reserve(size), 128, size);
#else
            bytes_.zeros(size);
#endif
        } else {
            floats_.zeros(size);
        }
        int first = 0;
        for (const WeightRows& part : parts) {
            for (int row = 0; row < part.rows; ++row)
                pack_row(part.weight + static_cast<size_t>(row) * part.all_columns +
                             part.first_column,
                         part.bias == nullptr ? 0.0f : part.bias[row], first + row);
            first += padded(part.rows);
        }
    }

    bool int8() const { return int8_; }

    // Calls epilogue(row, column, values) for each row and tile of columns.
    template <class Epilogue>
    void run(const Matrix& input, QuantizedRows& quantized, int rows, Epilogue&& epilogue) const {
        if (int8_) quantized.quantize(input, rows);
        run_quantized(input, quantized, rows, epilogue);
    }

    // The same for an input that was quantized for the layer before.
    template <class Epilogue>
    void run_quantized(const Matrix& input, QuantizedRows& quantized, int rows,
                       Epilogue&& epilogue) const {
        for (int column = 0; column < outputs; column += TILE_COLUMNS) {
            for (int row = 0; row < rows;) {
                const int left = rows - row;
                const int tiles = (left + TILE_ROWS - 1) / TILE_ROWS;
                const int count = (left + tiles - 1) / tiles;
                switch (count) {
                    case 1: tile<1>(input, quantized, row, column, epilogue); break;
                    case 2: tile<2>(input, quantized, row, column, epilogue); break;
                    case 3: tile<3>(input, quantized, row, column, epilogue); break;
                    case 4: tile<4>(input, quantized, row, column, epilogue); break;
                    case 5: tile<5>(input, quantized, row, column, epilogue); break;
                    default: tile<6>(input, quantized, row, column, epilogue); break;
                }
                row += count;
            }
        }
    }

  private:
    bool int8_ = false;
    int stride_ = 0;
    Buffer<float> bias_, scales_, floats_;
    Buffer<QuantizedWeight> bytes_;

    size_t place(int output, int input, int group) const {
        const int tile = output / TILE_COLUMNS, column = output % TILE_COLUMNS;
        return static_cast<size_t>(tile) * TILE_COLUMNS * stride_ +
               static_cast<size_t>(input / group) * TILE_COLUMNS * group + column * group +
               input % group;
    }

    void pack_row(const float* weights, float bias, int output) {
        bias_.data()[output] = bias;
        if (!int8_) {
            for (int at = 0; at < inputs; ++at) floats_.data()[place(output, at, 1)] = weights[at];
            return;
        }
        float most = 0.0f;
        for (int at = 0; at < inputs; ++at) most = std::max(most, std::fabs(weights[at]));
        const float scale = most / 127.0f;
        scales_.data()[output] = scale;
        for (int at = 0; at < inputs; ++at) {
            const int whole = scale > 0 ? static_cast<int>(std::lrintf(weights[at] / scale)) : 0;
            const int limited = std::min(127, std::max(-127, whole));
            bytes_.data()[place(output, at, GROUP)] =
                static_cast<QuantizedWeight>(limited + (DHYAN_DOT_OF_BYTES ? 128 : 0));
        }
    }

    template <int ROWS, class Epilogue>
    inline void tile(const Matrix& input, const QuantizedRows& quantized, int row, int column,
                     Epilogue& epilogue) const {
        if (int8_)
            int8_tile<ROWS>(quantized, row, column, epilogue);
        else
            float_tile<ROWS>(input, row, column, epilogue);
    }

    template <int ROWS, class Epilogue>
    inline void float_tile(const Matrix& input, int row, int column, Epilogue& epilogue) const {
        const float* weights = floats_.data() + static_cast<size_t>(column) * stride_;
        const float* from = input.row(row);
        const int stride = input.stride;
        Vec total[ROWS][TILE_VECTORS] = {};
        for (int at = 0; at < inputs; ++at) {
            Vec column_of_weights[TILE_VECTORS];
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; ++v)
                column_of_weights[v] = load(weights + at * TILE_COLUMNS + v * LANES);
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; ++r) {
                const Vec x = splat(from[r * stride + at]);
#pragma GCC unroll 8
                for (int v = 0; v < TILE_VECTORS; ++v) total[r][v] += x * column_of_weights[v];
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; ++v)
                total[r][v] += load(bias_.data() + column + v * LANES);
            epilogue(row + r, column, total[r]);
        }
    }

    template <int ROWS, class Epilogue>
    inline void int8_tile(const QuantizedRows& quantized, int row, int column,
                          Epilogue& epilogue) const {
        const QuantizedWeight* weights = bytes_.data() + static_cast<size_t>(column) * stride_;
        const int stride = quantized.stride;
        const QuantizedInput* from = quantized.values.data() + static_cast<size_t>(row) * stride;
        IntVec total[ROWS][TILE_VECTORS];
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r) {
            const int32_t start = DHYAN_DOT_OF_BYTES ? -128 * quantized.sums.data()[row + r] : 0;
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; ++v) total[r][v] = splat(start);
        }
        for (int at = 0; at < inputs; at += GROUP) {
            IntVec column_of_weights[TILE_VECTORS];
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; ++v)
                std::memcpy(&column_of_weights[v],
                            weights + at * TILE_COLUMNS + v * LANES * GROUP, sizeof(IntVec));
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; ++r) {
                int32_t x;
                std::memcpy(&x, from + r * stride + at, sizeof x);
#pragma GCC unroll 8
                for (int v = 0; v < TILE_VECTORS; ++v)
                    total[r][v] = add_products(total[r][v], column_of_weights[v], x);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r) {
            const Vec scale = splat(quantized.scales.data()[row + r]);
            Vec result[TILE_VECTORS];
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; ++v)
                result[v] = to_float(total[r][v]) *
                                (scale * load(scales_.data() + column + v * LANES)) +
                            load(bias_.data() + column + v * LANES);
            epilogue(row + r, column, result);
        }
    }
};

enum Activation { RELU = 0, GELU = 1, SILU = 2, SWIGLU = 3, NO_ACTIVATION = 4 };

inline Vec activate(Vec x, int activation) {
    switch (activation) {
        case RELU: return max(x, Vec{});
        case SILU:
        case SWIGLU: return x * sigmoid(x);
        case GELU:
            for (int lane = 0; lane < LANES; ++lane)
                x[lane] *= 0.5f * (1.0f + std::erf(x[lane] * 0.70710678f));
            return x;
        default: return x;
    }
}

// out = W x + b for the first rows of x, activated.
inline void apply(const Linear& layer, const Matrix& input, int rows, QuantizedRows& quantized,
                  Matrix& out, int activation = NO_ACTIVATION, bool quantized_already = false) {
    out.resize(rows, layer.outputs);
    auto write = [&](int row, int column, Vec(&values)[TILE_VECTORS]) {
        float* to = out.row(row) + column;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; ++v) store(to + v * LANES, values[v]);
    };
    auto write_relu = [&](int row, int column, Vec(&values)[TILE_VECTORS]) {
        float* to = out.row(row) + column;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; ++v) store(to + v * LANES, max(values[v], Vec{}));
    };
    auto write_activated = [&](int row, int column, Vec(&values)[TILE_VECTORS]) {
        float* to = out.row(row) + column;
        for (int v = 0; v < TILE_VECTORS; ++v) store(to + v * LANES, activate(values[v], activation));
    };
    if (layer.int8() && !quantized_already) quantized.quantize(input, rows);
    if (activation == NO_ACTIVATION)
        layer.run_quantized(input, quantized, rows, write);
    else if (activation == RELU)
        layer.run_quantized(input, quantized, rows, write_relu);
    else
        layer.run_quantized(input, quantized, rows, write_activated);
}

// out += W x + b for the first rows.
inline void apply_add(const Linear& layer, const Matrix& input, int rows, QuantizedRows& quantized,
                      Matrix& out, bool quantized_already = false) {
    auto add = [&](int row, int column, Vec(&values)[TILE_VECTORS]) {
        float* to = out.row(row) + column;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; ++v)
            store(to + v * LANES, load(to + v * LANES) + values[v]);
    };
    if (layer.int8() && !quantized_already) quantized.quantize(input, rows);
    layer.run_quantized(input, quantized, rows, add);
}

constexpr int MAX_BEST = 64;  // twice the widest beam

// The best tokens of a row, and the logarithm of the sum of all exponentials of its logits.
struct BestTokens {
    alignas(64) Vec total;
    float reference;  // what is subtracted from logits before exp
    float threshold;
    int count;
    float logit[MAX_BEST];
    int32_t token[MAX_BEST];

    void clear() {
        total = Vec{};
        threshold = -std::numeric_limits<float>::infinity();
        count = 0;
    }
    void insert(float value, int32_t id, int most) {
        int at = count < most ? count++ : most - 1;
        for (; at > 0 && logit[at - 1] < value; --at) {
            logit[at] = logit[at - 1];
            token[at] = token[at - 1];
        }
        logit[at] = value;
        token[at] = id;
        if (count == most) threshold = logit[most - 1];
    }
    float logsumexp() const { return reference + std::log(sum(total)); }
};

// Runs the output layer without storing its logits. PAD and BOS are in the sum and never the best.
inline void best_tokens(const Linear& output, const Matrix& hidden, int rows,
                        QuantizedRows& quantized, int most, int pad, int bos,
                        std::vector<BestTokens>& best) {
    if (static_cast<int>(best.size()) < rows) best.resize(rows);
    for (int row = 0; row < rows; ++row) best[row].clear();
    auto collect = [&](int row, int column, Vec(&values)[TILE_VECTORS]) {
        BestTokens& of_row = best[row];
        Vec most_of_tile = values[0];
#pragma GCC unroll 8
        for (int v = 1; v < TILE_VECTORS; ++v) most_of_tile = max(most_of_tile, values[v]);
        if (column == 0) of_row.reference = largest(most_of_tile);
        const Vec reference = splat(of_row.reference);
        Vec total = of_row.total;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; ++v) total += exp(values[v] - reference);
        of_row.total = total;
        if (!any_greater(most_of_tile, splat(of_row.threshold))) return;
        for (int v = 0; v < TILE_VECTORS; ++v) {
            if (!any_greater(values[v], splat(of_row.threshold))) continue;
            for (int lane = 0; lane < LANES; ++lane) {
                const int id = column + v * LANES + lane;
                if (values[v][lane] > of_row.threshold && id != pad && id != bos)
                    of_row.insert(values[v][lane], id, most);
            }
        }
    };
    output.run(hidden, quantized, rows, collect);
    bool overflow = false;  // logits far above those of the first tile: with another reference
    for (int row = 0; row < rows; ++row) {
        BestTokens& of_row = best[row];
        if (of_row.count > 0 && of_row.logit[0] - of_row.reference > 80.0f) {
            of_row.reference = of_row.logit[0];
            of_row.total = Vec{};
            overflow = true;
        } else {
            of_row.threshold = std::numeric_limits<float>::infinity();  // complete
        }
    }
    if (!overflow) return;
    auto add_again = [&](int row, int, Vec(&values)[TILE_VECTORS]) {
        BestTokens& of_row = best[row];
        if (of_row.threshold == std::numeric_limits<float>::infinity()) return;
        for (int v = 0; v < TILE_VECTORS; ++v)
            of_row.total += exp(values[v] - splat(of_row.reference));
    };
    output.run(hidden, quantized, rows, add_again);
}

}  // namespace dhyan
