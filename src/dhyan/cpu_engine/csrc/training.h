// Training on a CPU: recurrent layers and decoder loops, forward and backward, each thread with rows
// of its own; cross-entropy and its gradient in place; residual sum, dropout and layer norm.
#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <thread>
#include <vector>

#include "simd.h"

namespace dhyan {
namespace training {

typedef uint16_t Half16 __attribute__((vector_size(2 * LANES)));
typedef uint32_t WordVec __attribute__((vector_size(4 * LANES)));

// Work on rows [first, last) of each thread.
template <class Work>
void parallel(int64_t rows, int threads, const Work& work) {
    threads = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(threads, rows)));
    std::vector<std::thread> others;
    std::vector<std::exception_ptr> failures(threads);
    const auto part = [&](int at) {
        try {
            work(rows * at / threads, rows * (at + 1) / threads, at);
        } catch (...) {
            failures[at] = std::current_exception();
        }
    };
    for (int at = 1; at < threads; ++at) others.emplace_back(part, at);
    part(0);
    for (auto& other : others) other.join();
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

// Loads and stores of the first `count` lanes; the others are zero.
inline Vec load_part(const float* from, int count) {
    float lanes[LANES] = {};
    std::memcpy(lanes, from, count * sizeof(float));
    return load(lanes);
}
inline void store_part(float* to, Vec v, int count) {
    float lanes[LANES];
    store(lanes, v);
    std::memcpy(to, lanes, count * sizeof(float));
}
inline Vec load_part(const uint16_t* from, int count) {
    Half16 half{};
    std::memcpy(&half, from, count * sizeof(uint16_t));
    return (Vec)(__builtin_convertvector(half, WordVec) << 16);
}
inline void store_part(uint16_t* to, Vec v, int count) {  // to the nearest, ties to even
    const WordVec bits = (WordVec)v;
    const WordVec rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const WordVec nan = (WordVec)(v != v);
    const Half16 half = __builtin_convertvector((rounded & ~nan) | (nan & 0x7fc0u), Half16);
    std::memcpy(to, &half, count * sizeof(uint16_t));
}
inline Vec load_lanes(const float* from) { return load(from); }
inline void store_lanes(float* to, Vec v) { store(to, v); }
inline Vec load_lanes(const uint16_t* from) { return load_part(from, LANES); }
inline void store_lanes(uint16_t* to, Vec v) { store_part(to, v, LANES); }

// Calls work(at, count) for every vector of a row; count is less than LANES for the last at most.
template <class Work>
inline void each(int width, const Work& work) {
    int at = 0;
    for (; at + LANES <= width; at += LANES) work(at, std::integral_constant<int, LANES>{});
    if (at < width) work(at, width - at);
}
template <class T>
inline Vec get(const T* from, std::integral_constant<int, LANES>) { return load_lanes(from); }
template <class T>
inline Vec get(const T* from, int count) { return load_part(from, count); }
template <class T>
inline void put(T* to, Vec v, std::integral_constant<int, LANES>) { store_lanes(to, v); }
template <class T>
inline void put(T* to, Vec v, int count) { store_part(to, v, count); }

inline float dot(const float* a, const float* b, int width) {
    Vec total{};
    each(width, [&](int at, auto n) { total += get(a + at, n) * get(b + at, n); });
    return sum(total);
}
inline void add_scaled(float* to, const float* from, float factor, int width) {
    each(width, [&](int at, auto n) {
        put(to + at, get(to + at, n) + splat(factor) * get(from + at, n), n);
    });
}

// Matrix products: a block of rows times a packed matrix.

constexpr int PANEL = 2 * LANES;
constexpr int TILE = LANES == 16 ? 12 : LANES == 8 ? 6 : 4;

// A matrix [inner × columns] in panels of columns, each contiguous; missing columns are zero.
struct Packed {
    int inner = 0, columns = 0;
    std::vector<float> data;

    int panels() const { return (columns + PANEL - 1) / PANEL; }
    int stride() const { return panels() * PANEL; }

    // Of `weight`, [inner × columns], or its transpose, [columns × inner].
    Packed(const float* weight, int inner_, int columns_, bool transposed)
        : inner(inner_), columns(columns_) {
        data.resize(static_cast<size_t>(stride()) * inner);
        for (int panel = 0; panel < panels(); ++panel) {
            float* to = &data[static_cast<size_t>(panel) * PANEL * inner];
            const int first = panel * PANEL, count = std::min(PANEL, columns - first);
            if (transposed)
                for (int column = 0; column < count; ++column) {
                    const float* from = weight + static_cast<size_t>(first + column) * inner;
                    for (int k = 0; k < inner; ++k) to[k * PANEL + column] = from[k];
                }
            else
                for (int k = 0; k < inner; ++k)
                    std::memcpy(to + k * PANEL, weight + static_cast<size_t>(k) * columns + first,
                                count * sizeof(float));
        }
    }
    Packed() = default;
};

template <int ROWS>
inline void tile(const float* left, int64_t left_stride, const float* panel, int inner, float* out,
                 int64_t out_stride, bool add) {
    Vec total[ROWS][2];
    for (int row = 0; row < ROWS; ++row)
        for (int part = 0; part < 2; ++part)
            total[row][part] = add ? load(out + row * out_stride + part * LANES) : Vec{};
    for (int k = 0; k < inner; ++k) {
        const Vec first = load(panel + k * PANEL), second = load(panel + k * PANEL + LANES);
#pragma GCC unroll 12
        for (int row = 0; row < ROWS; ++row) {
            const Vec scalar = splat(left[row * left_stride + k]);
            total[row][0] += scalar * first;
            total[row][1] += scalar * second;
        }
    }
    for (int row = 0; row < ROWS; ++row)
        for (int part = 0; part < 2; ++part) store(out + row * out_stride + part * LANES, total[row][part]);
}

template <int ROWS>
inline void tile_of(int rows, const float* left, int64_t left_stride, const float* panel, int inner,
                    float* out, int64_t out_stride, bool add) {
    if (rows == ROWS)
        tile<ROWS>(left, left_stride, panel, inner, out, out_stride, add);
    else if constexpr (ROWS > 1)
        tile_of<ROWS - 1>(rows, left, left_stride, panel, inner, out, out_stride, add);
}

// out [rows × right.stride()] = (out +) left [rows × inner] · right.
inline void multiply(const float* left, int64_t left_stride, int rows, const Packed& right,
                     float* out, bool add) {
    const int64_t out_stride = right.stride();
    for (int panel = 0; panel < right.panels(); ++panel) {
        const float* from = &right.data[static_cast<size_t>(panel) * PANEL * right.inner];
        // Tiles of nearly equal height: 13 rows are 7 and 6, not 12 and 1.
        const int tiles = (rows + TILE - 1) / TILE;
        for (int at = 0; at < tiles; ++at) {
            const int first = rows * at / tiles, count = rows * (at + 1) / tiles - first;
            tile_of<TILE>(count, left + first * left_stride, left_stride, from, right.inner,
                          out + first * out_stride + panel * PANEL, out_stride, add);
        }
    }
}

// Cells. The gates are blocks: of an LSTM i, f, g, o; of a GRU r, z, and the inputs' and the
// state's part of n; of an Elman cell one. What is carried is an LSTM's c, else h itself.

enum TrainedCell { LSTM_CELL = 0, GRU_CELL = 1, ELMAN_CELL = 2 };
constexpr int blocks_of(int cell) { return cell == ELMAN_CELL ? 1 : 4; }

// The state after a step; `gates` are activated in place, `carry` becomes the next.
inline void cell_forward(int cell, int width, float* gates, float* carry, float* state) {
    each(width, [&](int at, auto n) {
        float* gate = gates + at;
        if (cell == LSTM_CELL) {
            const Vec i = sigmoid(get(gate, n)), f = sigmoid(get(gate + width, n));
            const Vec g = tanh(get(gate + 2 * width, n)), o = sigmoid(get(gate + 3 * width, n));
            const Vec c = f * get(carry + at, n) + i * g;
            put(gate, i, n), put(gate + width, f, n), put(gate + 2 * width, g, n);
            put(gate + 3 * width, o, n), put(carry + at, c, n), put(state + at, o * tanh(c), n);
        } else if (cell == GRU_CELL) {
            const Vec r = sigmoid(get(gate, n)), z = sigmoid(get(gate + width, n));
            const Vec of_state = get(gate + 3 * width, n);
            const Vec candidate = tanh(get(gate + 2 * width, n) + r * of_state);
            const Vec h = (splat(1.0f) - z) * candidate + z * get(carry + at, n);
            put(gate, r, n), put(gate + width, z, n), put(gate + 2 * width, candidate, n);
            put(carry + at, h, n), put(state + at, h, n);
        } else {
            const Vec h = tanh(get(gate, n));
            put(gate, h, n), put(carry + at, h, n), put(state + at, h, n);
        }
    });
}

// The gradients of the gates before activation from those of the state and of what is carried,
// which becomes that before the step; of a GRU and an Elman cell both are one, `dcarry`.
inline void cell_backward(int cell, int width, const float* gates, const float* before,
                          const float* dstate, float* dcarry, float* dgates) {
    const Vec one = splat(1.0f);
    each(width, [&](int at, auto n) {
        const float* gate = gates + at;
        float* dgate = dgates + at;
        const Vec dh = get(dstate + at, n), carried = get(dcarry + at, n);
        const Vec last = get(before + at, n);
        if (cell == LSTM_CELL) {
            const Vec i = get(gate, n), f = get(gate + width, n);
            const Vec g = get(gate + 2 * width, n), o = get(gate + 3 * width, n);
            const Vec c = tanh(f * last + i * g);
            const Vec dc = carried + dh * o * (one - c * c);
            put(dgate + 3 * width, dh * c * o * (one - o), n);
            put(dgate + width, dc * last * f * (one - f), n);
            put(dgate, dc * g * i * (one - i), n);
            put(dgate + 2 * width, dc * i * (one - g * g), n);
            put(dcarry + at, dc * f, n);
        } else if (cell == GRU_CELL) {
            const Vec r = get(gate, n), z = get(gate + width, n);
            const Vec candidate = get(gate + 2 * width, n), of_state = get(gate + 3 * width, n);
            const Vec d = dh + carried;
            const Vec dsum = d * (one - z) * (one - candidate * candidate);
            put(dgate, dsum * of_state * r * (one - r), n);
            put(dgate + width, d * (last - candidate) * z * (one - z), n);
            put(dgate + 2 * width, dsum, n), put(dgate + 3 * width, dsum * r, n);
            put(dcarry + at, d * z, n);
        } else {
            const Vec h = get(gate, n);
            put(dgate, (dh + carried) * (one - h * h), n), put(dcarry + at, Vec{}, n);
        }
    });
}

// A recurrent layer in one direction or both, over rows that may end early.

struct LayerShape {
    int64_t rows, steps;
    int32_t directions, width, cell, reverse;
    const int64_t* lengths;  // or null
    int gates() const { return blocks_of(cell) * width; }
    int length(int64_t row) const {
        return static_cast<int>(lengths == nullptr ? steps : lengths[row]);
    }
    // Where a step of a row and direction is, in tensors [row, step, direction].
    int64_t at(int64_t row, int step, int direction) const {
        const bool backwards = (direction + reverse) % 2 == 1;
        return (row * steps + (backwards ? length(row) - 1 - step : step)) * directions + direction;
    }
};

// The rows of a thread, the longest first: those still read at a step are the first ones.
inline std::vector<int64_t> longest_first(const LayerShape& shape, int64_t first, int64_t last) {
    std::vector<int64_t> order(last - first);
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return shape.length(a) > shape.length(b);
    });
    return order;
}

inline void layer_forward(const LayerShape& shape, const float* input_gates, const float* weight,
                          const float* first_state, const float* first_carry, float* out,
                          float* previous, float* before, float* gates, float* last_state,
                          float* last_carry, int threads) {
    const int width = shape.width, count = shape.gates();
    std::vector<Packed> packed;
    for (int direction = 0; direction < shape.directions; ++direction)
        packed.emplace_back(weight + static_cast<size_t>(direction) * count * width, width, count, true);
    parallel(shape.rows, threads, [&](int64_t first, int64_t last, int) {
        const auto order = longest_first(shape, first, last);
        std::vector<float> state(order.size() * width), carry(state.size());
        std::vector<float> sums(order.size() * packed[0].stride());
        const int64_t stride = packed[0].stride();
        for (int direction = 0; direction < shape.directions; ++direction) {
            for (size_t at = 0; at < order.size(); ++at) {
                const int64_t from = (order[at] * shape.directions + direction) * width;
                if (first_state == nullptr) {
                    std::fill_n(&state[at * width], width, 0.0f);
                    std::fill_n(&carry[at * width], width, 0.0f);
                } else {
                    std::memcpy(&state[at * width], first_state + from, width * sizeof(float));
                    std::memcpy(&carry[at * width], first_carry + from, width * sizeof(float));
                }
            }
            size_t active = order.size();
            for (int step = 0; step < shape.steps; ++step) {
                while (active > 0 && shape.length(order[active - 1]) <= step) --active;
                if (active == 0) break;
                multiply(state.data(), width, static_cast<int>(active), packed[direction],
                         sums.data(), false);
                for (size_t at = 0; at < active; ++at) {
                    const int64_t place = shape.at(order[at], step, direction);
                    float* gate = gates + place * count;
                    each(count, [&](int k, auto n) {
                        put(gate + k, get(input_gates + place * count + k, n) +
                                          get(&sums[at * stride + k], n), n);
                    });
                    std::memcpy(previous + place * width, &state[at * width], width * sizeof(float));
                    std::memcpy(before + place * width, &carry[at * width], width * sizeof(float));
                    cell_forward(shape.cell, width, gate, &carry[at * width], &state[at * width]);
                    std::memcpy(out + place * width, &state[at * width], width * sizeof(float));
                }
            }
            for (size_t at = 0; at < order.size(); ++at) {
                const int64_t to = (order[at] * shape.directions + direction) * width;
                std::memcpy(last_state + to, &state[at * width], width * sizeof(float));
                std::memcpy(last_carry + to, &carry[at * width], width * sizeof(float));
            }
        }
    });
}

inline void layer_backward(const LayerShape& shape, const float* weight, const float* before,
                           const float* gates, const float* dout, const float* dlast,
                           const float* dend, float* dgates, float* dfirst, float* dcarry,
                           int threads) {
    const int width = shape.width, count = shape.gates();
    std::vector<Packed> packed;
    for (int direction = 0; direction < shape.directions; ++direction)
        packed.emplace_back(weight + static_cast<size_t>(direction) * count * width, count, width, false);
    parallel(shape.rows, threads, [&](int64_t first, int64_t last, int) {
        const auto order = longest_first(shape, first, last);
        const int64_t stride = packed[0].stride();
        std::vector<float> dstate(order.size() * stride), step_gates(order.size() * count);
        for (int direction = 0; direction < shape.directions; ++direction) {
            for (size_t at = 0; at < order.size(); ++at) {
                const int64_t from = (order[at] * shape.directions + direction) * width;
                std::memcpy(&dstate[at * stride], dlast + from, width * sizeof(float));
                std::memcpy(dcarry + from, dend + from, width * sizeof(float));
            }
            size_t active = 0;
            for (int step = static_cast<int>(shape.steps) - 1; step >= 0; --step) {
                while (active < order.size() && shape.length(order[active]) > step) ++active;
                if (active == 0) continue;
                for (size_t at = 0; at < active; ++at) {
                    const int64_t place = shape.at(order[at], step, direction);
                    float* dh = &dstate[at * stride];
                    add_scaled(dh, dout + place * width, 1.0f, width);
                    cell_backward(shape.cell, width, gates + place * count, before + place * width,
                                  dh, dcarry + (order[at] * shape.directions + direction) * width,
                                  &step_gates[at * count]);
                    std::memcpy(dgates + place * count, &step_gates[at * count],
                                count * sizeof(float));
                }
                multiply(step_gates.data(), count, static_cast<int>(active), packed[direction],
                         dstate.data(), false);
            }
            for (size_t at = 0; at < order.size(); ++at)
                std::memcpy(dfirst + (order[at] * shape.directions + direction) * width,
                            &dstate[at * stride], width * sizeof(float));
        }
    });
}

// Attention of a decoder's step, and the decoders' loops.

struct LoopShape {  // as in dhyan.kernels.cpu.library
    int64_t rows, steps, positions;
    int32_t cell, width, inputs;       // of the state, and of what the step adds to the input
    int32_t score_width, value_width;
    int32_t projected, additive;       // whether the query is a product, and the score additive
    float scale;
    int gates() const { return blocks_of(cell) * width; }
};

struct AttentionSource {
    const float *keys, *values;
    const uint8_t* mask;
    const float* energy;
};

inline void attend(const LoopShape& shape, const AttentionSource& source, int64_t row,
                   const float* query, float* weights, float* context) {
    const int width = shape.score_width, count = static_cast<int>(shape.positions);
    const float* keys = source.keys + row * count * width;
    const uint8_t* mask = source.mask + row * count;
    float highest = -INFINITY;
    for (int at = 0; at < count; ++at) {
        if (!mask[at]) continue;
        const float* key = keys + static_cast<int64_t>(at) * width;
        if (shape.additive) {
            Vec total{};
            each(width, [&](int k, auto n) {
                total += get(source.energy + k, n) * tanh(get(query + k, n) + get(key + k, n));
            });
            weights[at] = sum(total) * shape.scale;
        } else {
            weights[at] = dot(query, key, width) * shape.scale;
        }
        highest = std::max(highest, weights[at]);
        if (weights[at] != weights[at]) highest = weights[at];  // NaN is not lost
    }
    float total = 0.0f;
    for (int at = 0; at < count; ++at) {
        weights[at] = mask[at] ? std::exp(weights[at] - highest) : 0.0f;
        total += weights[at];
    }
    std::fill_n(context, shape.value_width, 0.0f);
    for (int at = 0; at < count; ++at) {
        if (!mask[at]) continue;
        weights[at] /= total;
        add_scaled(context, source.values + (row * count + at) * shape.value_width, weights[at],
                   shape.value_width);
    }
}

// From the context's gradient to those of the scores and of the query; additive scores also add to
// those of the keys and of the energy.
inline void attend_backward(const LoopShape& shape, const AttentionSource& source, int64_t row,
                            const float* query, const float* weights, const float* dcontext,
                            float* dscores, float* dquery, float* dkeys, float* denergy) {
    const int width = shape.score_width, count = static_cast<int>(shape.positions);
    const uint8_t* mask = source.mask + row * count;
    float mean = 0.0f;
    for (int at = 0; at < count; ++at) {
        dscores[at] = mask[at] ? dot(dcontext, source.values + (row * count + at) * shape.value_width,
                                     shape.value_width)
                               : 0.0f;
        mean += dscores[at] * weights[at];
    }
    std::fill_n(dquery, width, 0.0f);
    for (int at = 0; at < count; ++at) {
        if (!mask[at]) continue;
        dscores[at] = weights[at] * (dscores[at] - mean) * shape.scale;
        const float* key = source.keys + (row * count + at) * width;
        if (!shape.additive) {
            add_scaled(dquery, key, dscores[at], width);
            continue;
        }
        float* dkey = dkeys + (row * count + at) * width;
        each(width, [&](int k, auto n) {
            const Vec t = tanh(get(query + k, n) + get(key + k, n));
            const Vec scaled = splat(dscores[at]) * (splat(1.0f) - t * t) * get(source.energy + k, n);
            put(dquery + k, get(dquery + k, n) + scaled, n);
            put(dkey + k, get(dkey + k, n) + scaled, n);
            put(denergy + k, get(denergy + k, n) + splat(dscores[at]) * t, n);
        });
    }
}

// What the forward pass computes and the backward pass reads; all [row, step, …].
struct LoopRecord {
    float *previous, *before, *gates, *states, *queries, *weights, *contexts;
    float *feeds, *attentional;  // of Luong's decoder
};

struct LoopWeights {
    const float *state, *input, *query, *combine, *combine_bias;
};

// s_i = f(s_{i-1}, [y_{i-1}; u_i]), where u_i is Bahdanau's context, from the state before, or
// Luong's attentional vector before, s̃_{i-1}.
inline void loop_forward(const LoopShape& shape, bool luong, const LoopWeights& weights,
                         const AttentionSource& source, const float* input_gates,
                         const float* first_state, const float* first_carry,
                         const float* first_attentional, const LoopRecord& record,
                         float* last_carry, int threads) {
    const int width = shape.width, count = shape.gates(), inputs = shape.inputs;
    const int scored = shape.score_width, valued = shape.value_width;
    const Packed of_state(weights.state, width, count, true), of_input(weights.input, inputs, count, true);
    const Packed of_query = shape.projected ? Packed(weights.query, width, scored, true) : Packed();
    const Packed of_joined = luong ? Packed(weights.combine, valued + width, width, true) : Packed();
    parallel(shape.rows, threads, [&](int64_t first, int64_t last, int) {
        const int rows = static_cast<int>(last - first), joined_width = valued + width;
        std::vector<float> state(rows * width), carry(state.size()), input(rows * inputs);
        std::vector<float> sums(static_cast<size_t>(rows) * of_state.stride());
        std::vector<float> query(static_cast<size_t>(rows) * of_query.stride());
        std::vector<float> joined(luong ? rows * joined_width : 0);
        std::vector<float> combined(static_cast<size_t>(rows) * of_joined.stride());
        std::memcpy(state.data(), first_state + first * width, state.size() * sizeof(float));
        std::memcpy(carry.data(), first_carry + first * width, carry.size() * sizeof(float));
        if (luong)
            std::memcpy(input.data(), first_attentional + first * inputs, input.size() * sizeof(float));
        const auto attend_all = [&](int step, float* contexts, int64_t stride) {
            if (shape.projected)
                multiply(state.data(), width, rows, of_query, query.data(), false);
            for (int row = 0; row < rows; ++row) {
                const int64_t at = (first + row) * shape.steps + step;
                const float* of_row = &state[row * width];
                if (shape.projected) {
                    of_row = &query[row * of_query.stride()];
                    std::memcpy(record.queries + at * scored, of_row, scored * sizeof(float));
                }
                attend(shape, source, first + row, of_row, record.weights + at * shape.positions,
                       contexts + row * stride);
                std::memcpy(record.contexts + at * valued, contexts + row * stride,
                            valued * sizeof(float));
            }
        };
        for (int step = 0; step < shape.steps; ++step) {
            if (!luong) attend_all(step, input.data(), inputs);
            multiply(state.data(), width, rows, of_state, sums.data(), false);
            multiply(input.data(), inputs, rows, of_input, sums.data(), true);
            for (int row = 0; row < rows; ++row) {
                const int64_t at = (first + row) * shape.steps + step;
                float* gate = record.gates + at * count;
                each(count, [&](int k, auto n) {
                    put(gate + k, get(input_gates + at * count + k, n) +
                                      get(&sums[row * static_cast<int64_t>(of_state.stride()) + k], n), n);
                });
                std::memcpy(record.previous + at * width, &state[row * width], width * sizeof(float));
                std::memcpy(record.before + at * width, &carry[row * width], width * sizeof(float));
                cell_forward(shape.cell, width, gate, &carry[row * width], &state[row * width]);
                std::memcpy(record.states + at * width, &state[row * width], width * sizeof(float));
                if (luong)
                    std::memcpy(record.feeds + at * inputs, &input[row * inputs], inputs * sizeof(float));
            }
            if (!luong) continue;
            attend_all(step, joined.data(), joined_width);
            for (int row = 0; row < rows; ++row)
                std::memcpy(&joined[row * joined_width + valued], &state[row * width], width * sizeof(float));
            multiply(joined.data(), joined_width, rows, of_joined, combined.data(), false);
            for (int row = 0; row < rows; ++row) {
                const int64_t at = (first + row) * shape.steps + step;
                each(width, [&](int k, auto n) {
                    const Vec y = tanh(get(&combined[row * of_joined.stride() + k], n) +
                                       get(weights.combine_bias + k, n));
                    put(record.attentional + at * width + k, y, n);
                    put(&input[row * inputs + k], y, n);
                });
            }
        }
        std::memcpy(last_carry + first * width, carry.data(), carry.size() * sizeof(float));
    });
}

// Gradients; those of weights are products over all steps, which the caller computes from
// `gates`, `queries`, `scores`, `contexts` and `sums` (Luong's before the tanh).
struct LoopGradients {
    const float *states, *contexts_in, *attentional, *last, *end;
    float *gates, *contexts, *scores, *queries, *keys, *energy, *sums;
    float *first, *carry, *first_attentional;
};

inline void loop_backward(const LoopShape& shape, bool luong, const LoopWeights& weights,
                          const AttentionSource& source, const LoopRecord& record,
                          const LoopGradients& gradients, int threads) {
    const int width = shape.width, count = shape.gates(), inputs = shape.inputs;
    const int scored = shape.score_width, valued = shape.value_width;
    const Packed of_state(weights.state, count, width, false), of_input(weights.input, count, inputs, false);
    const Packed of_query = shape.projected ? Packed(weights.query, scored, width, false) : Packed();
    const Packed of_joined = luong ? Packed(weights.combine, width, valued + width, false) : Packed();
    parallel(shape.rows, threads, [&](int64_t first, int64_t last, int thread) {
        const int rows = static_cast<int>(last - first);
        const int64_t state_stride = of_state.stride(), input_stride = of_input.stride();
        const int64_t joined_stride = of_joined.stride();
        std::vector<float> dstate(rows * state_stride), dinput(rows * input_stride);
        std::vector<float> dgates(static_cast<size_t>(rows) * count), dquery(rows * scored);
        std::vector<float> dsum(luong ? rows * width : 0), djoined(rows * joined_stride);
        float* denergy = shape.additive ? gradients.energy + static_cast<int64_t>(thread) * scored : nullptr;
        std::memcpy(gradients.carry + first * width, gradients.end + first * width,
                    rows * width * sizeof(float));
        for (int row = 0; row < rows; ++row)
            std::memcpy(&dstate[row * state_stride], gradients.last + (first + row) * width,
                        width * sizeof(float));
        // The gradients of the queries of a step are added to those of the states they are made of.
        const auto attend_all = [&](int step, bool from_record) {
            for (int row = 0; row < rows; ++row) {
                const int64_t at = (first + row) * shape.steps + step;
                const float* query = shape.projected ? record.queries + at * scored
                                     : from_record   ? record.previous + at * width
                                                     : record.states + at * width;
                attend_backward(shape, source, first + row, query,
                                record.weights + at * shape.positions,
                                gradients.contexts + at * valued,
                                gradients.scores + at * shape.positions, &dquery[row * scored],
                                gradients.keys, denergy);
                if (shape.projected)
                    std::memcpy(gradients.queries + at * scored, &dquery[row * scored],
                                scored * sizeof(float));
                else
                    add_scaled(&dstate[row * state_stride], &dquery[row * scored], 1.0f, width);
            }
            if (shape.projected)
                multiply(dquery.data(), scored, rows, of_query, dstate.data(), true);
        };
        for (int step = static_cast<int>(shape.steps) - 1; step >= 0; --step) {
            if (luong) {
                for (int row = 0; row < rows; ++row) {
                    const int64_t at = (first + row) * shape.steps + step;
                    each(width, [&](int k, auto n) {
                        const Vec y = get(record.attentional + at * width + k, n);
                        const Vec dy = get(gradients.attentional + at * width + k, n) +
                                       get(&dinput[row * input_stride + k], n);
                        const Vec d = dy * (splat(1.0f) - y * y);
                        put(&dsum[row * width + k], d, n), put(gradients.sums + at * width + k, d, n);
                    });
                }
                multiply(dsum.data(), width, rows, of_joined, djoined.data(), false);
                for (int row = 0; row < rows; ++row) {
                    const int64_t at = (first + row) * shape.steps + step;
                    std::memcpy(gradients.contexts + at * valued, &djoined[row * joined_stride],
                                valued * sizeof(float));
                    add_scaled(&dstate[row * state_stride], &djoined[row * joined_stride + valued],
                               1.0f, width);
                }
                attend_all(step, false);
            }
            for (int row = 0; row < rows; ++row) {
                const int64_t at = (first + row) * shape.steps + step;
                float* dh = &dstate[row * state_stride];
                if (!luong) add_scaled(dh, gradients.states + at * width, 1.0f, width);
                cell_backward(shape.cell, width, record.gates + at * count, record.before + at * width,
                              dh, gradients.carry + (first + row) * width, &dgates[row * count]);
                std::memcpy(gradients.gates + at * count, &dgates[row * count], count * sizeof(float));
            }
            multiply(dgates.data(), count, rows, of_state, dstate.data(), false);
            multiply(dgates.data(), count, rows, of_input, dinput.data(), false);
            if (luong) continue;
            for (int row = 0; row < rows; ++row) {
                const int64_t at = (first + row) * shape.steps + step;
                each(valued, [&](int k, auto n) {
                    put(gradients.contexts + at * valued + k,
                        get(gradients.contexts_in + at * valued + k, n) +
                            get(&dinput[row * input_stride + k], n), n);
                });
            }
            attend_all(step, true);
        }
        for (int row = 0; row < rows; ++row) {
            std::memcpy(gradients.first + (first + row) * width, &dstate[row * state_stride],
                        width * sizeof(float));
            if (luong)
                std::memcpy(gradients.first_attentional + (first + row) * inputs,
                            &dinput[row * input_stride], inputs * sizeof(float));
        }
    });
}

// Cross-entropy with label smoothing of each row; its gradient overwrites the logits.
template <class T>
void cross_entropy(T* logits, const int64_t* labels, float* losses, int64_t rows, int width,
                   int64_t ignored, float smoothing, int threads) {
    parallel(rows, threads, [&](int64_t first, int64_t last, int) {
        for (int64_t row = first; row < last; ++row) {
            T* logit = logits + row * width;
            const int64_t label = labels[row];
            if (label == ignored) {
                losses[row] = 0.0f;
                std::fill_n(logit, width, T{});
                continue;
            }
            Vec most = splat(-INFINITY), all{}, mass{};
            each(width, [&](int at, auto n) {
                Vec value = get(logit + at, n);
                all += value;
                if (n < LANES)
                    for (int lane = n; lane < LANES; ++lane) value[lane] = -INFINITY;
                most = max(most, value);
            });
            const float highest = largest(most), correct = static_cast<float>(get(logit + label, 1)[0]);
            each(width, [&](int at, auto n) {
                Vec value = exp(get(logit + at, n) - splat(highest));
                if (n < LANES)
                    for (int lane = n; lane < LANES; ++lane) value[lane] = 0.0f;
                mass += value;
            });
            const float total = sum(mass), spread = smoothing / width;
            losses[row] = std::log(total) + highest - (1.0f - smoothing) * correct - spread * sum(all);
            const Vec factor = splat(1.0f / total), shift = splat(spread);
            each(width, [&](int at, auto n) {
                put(logit + at, exp(get(logit + at, n) - splat(highest)) * factor - shift, n);
            });
            const float of_label = std::exp(correct - highest) / total - spread - (1.0f - smoothing);
            put(logit + label, splat(of_label), 1);
        }
    });
}

// Dropout: which elements are kept follows from the seed and their number.

struct Dropout {
    uint32_t seed, key, dropped;  // so many of 2³² numbers are dropped
    float scale;

    Dropout(uint64_t random, float probability)
        : seed(static_cast<uint32_t>(random)), key(static_cast<uint32_t>(random >> 32) | 1u),
          dropped(static_cast<uint32_t>(probability * 4294967296.0)), scale(1.0f / (1.0f - probability)) {}

    // 1 / (1 − p) where an element is kept, else 0: for the elements from `first` on.
    Vec factors(int64_t first) const {
        if (dropped == 0) return splat(1.0f);
        WordVec x{};
        for (int lane = 0; lane < LANES; ++lane) x[lane] = lane;
        x += static_cast<uint32_t>(first);
        const uint32_t high = static_cast<uint32_t>(static_cast<uint64_t>(first) >> 32);
        x = (x ^ (seed + high * 0x9e3779b9u)) * key;
        x = (x ^ (x >> 16)) * 0x21f0aaadu;
        x = (x ^ (x >> 15)) * 0xd35a2d97u;
        x = x ^ (x >> 15);
        const IntVec kept = x >= dropped;
        return (Vec)((IntVec)splat(scale) & kept);
    }
};

// total = residual + dropout(update), and with a norm its layer norm.
template <class U, class O>
void add_norm(const float* residual, const U* update, float* total, O* normed, float* mean,
              float* deviation, const float* weight, const float* bias, int64_t rows, int width,
              float epsilon, uint64_t seed, float probability, int threads) {
    const Dropout dropout(seed, probability);
    parallel(rows, threads, [&](int64_t first, int64_t last, int) {
        for (int64_t row = first; row < last; ++row) {
            const int64_t begin = row * width;
            float* out = total + begin;
            Vec all{};
            each(width, [&](int at, auto n) {
                Vec value = get(residual + begin + at, n);
                if (update != nullptr)
                    value += get(update + begin + at, n) * dropout.factors(begin + at);
                if (total != residual) put(out + at, value, n);
                if (n < LANES)
                    for (int lane = n; lane < LANES; ++lane) value[lane] = 0.0f;
                all += value;
            });
            if (normed == nullptr) continue;
            const float middle = sum(all) / width;
            Vec squares{};
            each(width, [&](int at, auto n) {
                Vec value = get(out + at, n) - splat(middle);
                if (n < LANES)
                    for (int lane = n; lane < LANES; ++lane) value[lane] = 0.0f;
                squares += value * value;
            });
            const float inverse = 1.0f / std::sqrt(sum(squares) / width + epsilon);
            mean[row] = middle, deviation[row] = inverse;
            each(width, [&](int at, auto n) {
                put(normed + begin + at,
                    (get(out + at, n) - splat(middle)) * splat(inverse) * get(weight + at, n) +
                        get(bias + at, n), n);
            });
        }
    });
}

// The gradients of residual and update; those of weight and bias are [threads × width], to be summed.
template <class U, class O>
void add_norm_backward(const float* dtotal, const O* dnormed, const float* total, const float* mean,
                       const float* deviation, const float* weight, float* dresidual, U* dupdate,
                       float* dweight, float* dbias, int64_t rows, int width, uint64_t seed,
                       float probability, int threads) {
    const Dropout dropout(seed, probability);
    parallel(rows, threads, [&](int64_t first, int64_t last, int thread) {
        std::vector<float> row_grad(width);
        for (int64_t row = first; row < last; ++row) {
            const int64_t begin = row * width;
            float* grad = dresidual == nullptr ? row_grad.data() : dresidual + begin;
            if (dnormed == nullptr) {
                each(width, [&](int at, auto n) { put(grad + at, get(dtotal + begin + at, n), n); });
            } else {
                const Vec middle = splat(mean[row]), inverse = splat(deviation[row]);
                float* of_weight = dweight + static_cast<int64_t>(thread) * width;
                float* of_bias = dbias + static_cast<int64_t>(thread) * width;
                Vec first_sum{}, second_sum{};
                each(width, [&](int at, auto n) {
                    const Vec d = get(dnormed + begin + at, n);
                    const Vec x = (get(total + begin + at, n) - middle) * inverse;
                    put(of_weight + at, get(of_weight + at, n) + d * x, n);
                    put(of_bias + at, get(of_bias + at, n) + d, n);
                    const Vec scaled = d * get(weight + at, n);
                    first_sum += scaled, second_sum += scaled * x;  // the weight's other lanes are 0
                });
                const Vec a = splat(sum(first_sum) / width), b = splat(sum(second_sum) / width);
                each(width, [&](int at, auto n) {
                    const Vec x = (get(total + begin + at, n) - middle) * inverse;
                    Vec d = (get(dnormed + begin + at, n) * get(weight + at, n) - a - x * b) * inverse;
                    if (dtotal != nullptr) d += get(dtotal + begin + at, n);
                    put(grad + at, d, n);
                });
            }
            if (dupdate != nullptr)
                each(width, [&](int at, auto n) {
                    put(dupdate + begin + at, get(grad + at, n) * dropout.factors(begin + at), n);
                });
        }
    });
}

// dropout(x), or dropout(relu(x)), in place.
template <class T>
void drop(T* values, int64_t count, bool relu, uint64_t seed, float probability, int threads) {
    const Dropout dropout(seed, probability);
    const int64_t blocks = (count + 1023) / 1024;
    parallel(blocks, threads, [&](int64_t first, int64_t last, int) {
        for (int64_t block = first; block < last; ++block) {
            const int64_t begin = block * 1024;
            each(static_cast<int>(std::min<int64_t>(1024, count - begin)), [&](int at, auto n) {
                Vec value = get(values + begin + at, n);
                if (relu) value = value < Vec{} ? Vec{} : value;  // NaN stays NaN
                put(values + begin + at, value * dropout.factors(begin + at), n);
            });
        }
    });
}

// The gradient of dropout(relu(x)) from its output: where that is positive, the gradient is scaled.
template <class T>
void relu_backward(const T* output, const T* grad, T* dinput, int64_t count, float scale, int threads) {
    const int64_t blocks = (count + 1023) / 1024;
    parallel(blocks, threads, [&](int64_t first, int64_t last, int) {
        for (int64_t block = first; block < last; ++block) {
            const int64_t begin = block * 1024;
            each(static_cast<int>(std::min<int64_t>(1024, count - begin)), [&](int at, auto n) {
                const IntVec positive = get(output + begin + at, n) > Vec{};
                const Vec d = get(grad + begin + at, n) * splat(scale);
                put(dinput + begin + at, (Vec)((IntVec)d & positive), n);
            });
        }
    });
}

}  // namespace training
}  // namespace dhyan
