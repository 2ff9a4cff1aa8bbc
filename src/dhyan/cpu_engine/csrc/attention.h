// Dot-product attention of one query over keys that lie anywhere, for all heads; layer norm.
#pragma once

#include <cmath>

#include "model.h"

namespace dhyan {

struct Heads {
    int heads, kv_heads, width;  // width of one head
    float scale;
    bool alibi = false;
};

inline float dot(const float* a, const float* b, int width) {
    Vec total{};
    int at = 0;
    for (; at + LANES <= width; at += LANES) total += load(a + at) * load(b + at);
    float result = sum(total);
    for (; at < width; ++at) result += a[at] * b[at];
    return result;
}

inline void add_scaled(float* out, float factor, const float* x, int width) {
    int at = 0;
    const Vec factors = splat(factor);
    for (; at + LANES <= width; at += LANES) store(out + at, load(out + at) + factors * load(x + at));
    for (; at < width; ++at) out[at] += factor * x[at];
}

// exp(score − the largest score) in place, and the sum of all; the scores after `count` up to a
// multiple of LANES become next to nothing.
inline float exponentials(float* scores, int count) {
    const int last = (count - 1) / LANES * LANES;
    const Vec tail = first_lanes(load(scores + last), count - last);
    Vec most = tail;
    for (int at = 0; at < last; at += LANES) most = max(most, load(scores + at));
    const Vec reference = splat(largest(most));
    Vec total = exp(tail - reference);
    store(scores + last, total);
    for (int at = 0; at < last; at += LANES) {
        const Vec e = exp(load(scores + at) - reference);
        store(scores + at, e);
        total += e;
    }
    return sum(total);
}

template <int VECTORS>
inline void weighted_mean(float* out, const float* weights, float sum_of_weights,
                          const float* const* values, int count, int offset) {
    Vec total[VECTORS] = {};
    for (int at = 0; at < count; ++at) {
        const Vec weight = splat(weights[at]);
        const float* value = values[at] + offset;
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; ++v) total[v] += weight * load(value + v * LANES);
    }
    const Vec factor = splat(1.0f / sum_of_weights);
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) store(out + v * LANES, factor * total[v]);
}

inline void weighted_mean(float* out, const float* weights, float sum_of_weights,
                          const float* const* values, int count, int offset, int width) {
    switch (width % LANES ? 0 : width / LANES) {
        case 1: return weighted_mean<1>(out, weights, sum_of_weights, values, count, offset);
        case 2: return weighted_mean<2>(out, weights, sum_of_weights, values, count, offset);
        case 4: return weighted_mean<4>(out, weights, sum_of_weights, values, count, offset);
        case 8: return weighted_mean<8>(out, weights, sum_of_weights, values, count, offset);
        default:
            std::memset(out, 0, width * sizeof(float));
            for (int at = 0; at < count; ++at)
                add_scaled(out, weights[at] / sum_of_weights, values[at] + offset, width);
    }
}

// The scores of one head, LANES keys at once; what follows the last one is overwritten.
template <int VECTORS>
inline void dot_scores(float* out, const float* query, const float* const* keys, int count,
                       int offset, float scale) {
    Vec part[VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) part[v] = load(query + v * LANES);
    for (int first = 0; first < count; first += LANES) {
        const int some = std::min(LANES, count - first);
        Vec total[LANES];
#pragma GCC unroll 16
        for (int at = 0; at < LANES; ++at) {
            if (at >= some) {
                total[at] = Vec{};
                continue;
            }
            const float* key = keys[first + at] + offset;
            Vec products = part[0] * load(key);
#pragma GCC unroll 8
            for (int v = 1; v < VECTORS; ++v) products += part[v] * load(key + v * LANES);
            total[at] = products;
        }
        store(out + first, splat(scale) * sums(total));
    }
}

inline void dot_scores(float* out, const float* query, const float* const* keys, int count,
                       int offset, int width, float scale) {
    switch (width % LANES ? 0 : width / LANES) {
        case 1: return dot_scores<1>(out, query, keys, count, offset, scale);
        case 2: return dot_scores<2>(out, query, keys, count, offset, scale);
        case 4: return dot_scores<4>(out, query, keys, count, offset, scale);
        case 8: return dot_scores<8>(out, query, keys, count, offset, scale);
        default:
            for (int at = 0; at < count; ++at)
                out[at] = scale * dot(query, keys[at] + offset, width);
    }
}

// The context of one query; zeros where there is nothing to attend to.
inline void attend(const Heads& heads, const float* query, const float* const* keys,
                   const float* const* values, int count, int position, float* context,
                   Buffer<float>& scores) {
    if (count == 0) {
        std::memset(context, 0, heads.heads * heads.width * sizeof(float));
        return;
    }
    const int stride = (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    float* all = scores.reserve(static_cast<size_t>(stride) * heads.heads);
    const int width = heads.width, share = heads.heads / heads.kv_heads;
    // Stage by stage for some heads at once: a stage waits for the one before.
    constexpr int TOGETHER = 4;
    for (int first = 0; first < heads.heads; first += TOGETHER) {
        const int end = std::min(first + TOGETHER, heads.heads);
        float totals[TOGETHER];
        for (int head = first; head < end; ++head)
            dot_scores(all + head * stride, query + head * width, keys, count, head / share * width,
                       width, heads.scale);
        for (int head = first; head < end; ++head) {
            float* row = all + head * stride;
            if (heads.alibi) {
                const float slope = std::exp2(-8.0f * (head + 1) / heads.heads);
                for (int at = 0; at < count; ++at) row[at] -= slope * std::abs(position - at);
            }
            totals[head - first] = exponentials(row, count);
        }
        for (int head = first; head < end; ++head)
            weighted_mean(context + head * width, all + head * stride, totals[head - first], values,
                          count, head / share * width, width);
    }
}

// Pairs of coordinates half a head apart, rotated by position × frequency.
inline void rotate(float* vectors, int heads, int width, int position) {
    const int half = width / 2;
    for (int at = 0; at < half; ++at) {
        const float frequency = std::pow(10000.0f, -(2.0f * at / width));
        const float cosine = std::cos(position * frequency), sine = std::sin(position * frequency);
        for (int head = 0; head < heads; ++head) {
            float* x = vectors + head * width + at;
            const float first = x[0], second = x[half];
            x[0] = first * cosine - second * sine;
            x[half] = second * cosine + first * sine;
        }
    }
}

struct LayerNorm {
    Buffer<float> weight, bias;
    int width = 0;

    void load_from(const Weights& weights, const std::string& name, int size) {
        width = size;
        const float* from_weight = weights.vector(name + ".weight", size);
        const float* from_bias = weights.vector(name + ".bias", size);
        std::memcpy(weight.zeros(padded(size)), from_weight, size * sizeof(float));
        std::memcpy(bias.zeros(padded(size)), from_bias, size * sizeof(float));
    }
    void apply(const Matrix& input, int rows, Matrix& out) const {
        if (&out != &input) out.resize(rows, width);
        const int stride = padded(width), extra = stride - width;
        for (int row = 0; row < rows; ++row) {
            const float* x = input.row(row);
            float* y = out.row(row);
            Vec total{};
            for (int at = 0; at < stride; at += LANES) total += load(x + at);
            const float mean = sum(total) / width;
            Vec squares{};
            for (int at = 0; at < stride; at += LANES) {
                const Vec difference = load(x + at) - splat(mean);
                squares += difference * difference;
            }
            const float variance = (sum(squares) - extra * mean * mean) / width;
            const Vec factor = splat(1.0f / std::sqrt(variance + 1e-5f));
            for (int at = 0; at < stride; at += LANES)
                store(y + at, (load(x + at) - splat(mean)) * factor * load(weight.data() + at) +
                                  load(bias.data() + at));
        }
    }
};

}  // namespace dhyan
