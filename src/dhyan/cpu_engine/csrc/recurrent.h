// Recurrent encoder and the decoders of Bahdanau, Luong and Sutskever.
#pragma once

#include <algorithm>
#include <numeric>

#include "attention.h"

namespace dhyan {

inline int gates_of(int cell) { return cell == LSTM ? 4 : cell == GRU ? 3 : 1; }
inline int parts_of(int cell) { return cell == LSTM ? 2 : 1; }

// Some columns of a matrix of gates, each gate padded by itself.
inline Linear gate_layer(const float* weight, const float* bias, int cell, int width,
                         int first_column, int columns, int all_columns, bool int8) {
    std::vector<WeightRows> gates;
    for (int gate = 0; gate < gates_of(cell); ++gate)
        gates.push_back({weight + static_cast<size_t>(gate) * width * all_columns,
                         bias == nullptr ? nullptr : bias + gate * width, width, first_column,
                         all_columns});
    return Linear(gates, columns, int8);
}

// One step of a cell, from what the gates get of the input and of the state; h and c are replaced.
inline void cell_step(int cell, int stride, const float* input, const float* state, float* h,
                      float* c) {
    for (int at = 0; at < stride; at += LANES) {
        const auto both = [&](int gate) {
            return load(input + gate * stride + at) + load(state + gate * stride + at);
        };
        if (cell == LSTM) {
            const Vec memory = sigmoid(both(1)) * load(c + at) + sigmoid(both(0)) * tanh(both(2));
            store(c + at, memory);
            store(h + at, sigmoid(both(3)) * tanh(memory));
        } else if (cell == GRU) {
            const Vec reset = sigmoid(both(0)), update = sigmoid(both(1));
            const Vec candidate = tanh(load(input + 2 * stride + at) +
                                       reset * load(state + 2 * stride + at));
            store(h + at, (splat(1.0f) - update) * candidate + update * load(h + at));
        } else {
            store(h + at, tanh(both(0)));
        }
    }
}

class RNNEncoder : public Encoder {
  public:
    RNNEncoder(const Half& half, const Weights& weights, bool int8)
        : half_(half), directions_(half.bidirectional ? 2 : 1) {
        width = half.width * directions_;
        summary_width = parts_of(half.cell) * half.layers * width;
        embedding_.load(weights.matrix("encoder.token_embedding.weight", half.vocabulary,
                                       half.embedding_width),
                        half.vocabulary, half.embedding_width, 1.0f);
        const int gates = gates_of(half.cell) * half.width;
        for (int layer = 0; layer < half.layers; ++layer)
            for (int direction = 0; direction < directions_; ++direction) {
                const std::string end = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
                const int inputs = layer ? width : half.embedding_width;
                input_.push_back(gate_layer(
                    weights.matrix("encoder.rnn.weight_ih" + end, gates, inputs),
                    weights.vector("encoder.rnn.bias_ih" + end, gates), half.cell, half.width, 0,
                    inputs, inputs, int8));
                state_.push_back(gate_layer(
                    weights.matrix("encoder.rnn.weight_hh" + end, gates, half.width),
                    weights.vector("encoder.rnn.bias_hh" + end, gates), half.cell, half.width, 0,
                    half.width, half.width, int8));
            }
    }

    void encode(const std::vector<Sentence>& sentences, Encoded& encoded,
                Workspace& workspace) const override {
        const int count = static_cast<int>(sentences.size());
        encoded.first.resize(count);
        encoded.length.resize(count);
        encoded.attended.resize(count);
        int rows = 0;
        for (int at = 0; at < count; ++at) {
            encoded.first[at] = rows;
            encoded.length[at] = encoded.attended[at] = sentences[at].length;
            rows += sentences[at].length;
        }
        std::vector<int> order(count);  // the longest first: those still read are the first ones
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
            return encoded.length[a] > encoded.length[b];
        });
        Matrix &x = workspace.matrices[0], &gates = workspace.matrices[1];
        Matrix &h = workspace.matrices[2], &c = workspace.matrices[3];
        Matrix& of_state = workspace.matrices[4];
        x.resize(rows, half_.embedding_width);
        for (int at = 0; at < count; ++at)
            for (int token = 0; token < sentences[at].length; ++token)
                embedding_.look_up(sentences[at].ids[token], x.row(encoded.first[at] + token));
        encoded.summaries.resize(count, summary_width);
        encoded.summaries.zero();
        const int stride = padded(half_.width), parts = parts_of(half_.cell);
        for (int layer = 0; layer < half_.layers; ++layer) {
            encoded.states.resize(rows, width);
            encoded.states.zero();
            for (int direction = 0; direction < directions_; ++direction) {
                const int index = layer * directions_ + direction;
                const bool backwards = (direction == 1) != (half_.reverse != 0);
                apply(input_[index], x, rows, workspace.quantized, gates);
                h.resize(count, half_.width);
                h.zero();
                c.resize(count, half_.width);
                c.zero();
                int reading = count;
                for (int step = 0; step < encoded.length[order[0]]; ++step) {
                    while (encoded.length[order[reading - 1]] <= step) --reading;
                    apply(state_[index], h, reading, workspace.quantized, of_state);
                    for (int row = 0; row < reading; ++row) {
                        const int sentence = order[row];
                        const int token = backwards ? encoded.length[sentence] - 1 - step : step;
                        const int at = encoded.first[sentence] + token;
                        cell_step(half_.cell, stride, gates.row(at), of_state.row(row), h.row(row),
                                  c.row(row));
                        std::memcpy(encoded.states.row(at) + direction * half_.width, h.row(row),
                                    half_.width * sizeof(float));
                    }
                }
                for (int row = 0; row < count; ++row)
                    for (int part = 0; part < parts; ++part)
                        std::memcpy(encoded.summaries.row(order[row]) +
                                        (part * half_.layers + layer) * width +
                                        direction * half_.width,
                                    (part ? c : h).row(row), half_.width * sizeof(float));
            }
            if (layer + 1 < half_.layers) {
                x.resize(rows, width);
                std::memcpy(x.row(0), encoded.states.row(0),
                            static_cast<size_t>(rows) * x.stride * sizeof(float));
            }
        }
    }

  private:
    Half half_;
    int directions_;
    Embedding embedding_;
    std::vector<Linear> input_, state_;  // [layer × direction]
};

// The state of every row of a beam, now and a step before; keys and values of the source.
class RecurrentState : public DecoderState {
  public:
    Buffer<float> rows[2];
    int parity = 0;
    int attended = 0;
    Matrix keys, values;
};

// The single-head attention to the encoder's states.
class SourceAttention {
  public:
    SourceAttention() = default;
    SourceAttention(const Half& half, int source_width, const Weights& weights, bool int8)
        : score_(half.score), width_(half.width), source_width_(source_width) {
        const std::string name = "decoder.attention.score";
        if (score_ == ADDITIVE) {
            const int hidden = half.score_width;
            query_ = Linear({weights.linear(name + ".query", hidden, half.width)}, half.width, int8);
            key_ = Linear({weights.linear(name + ".key", hidden, source_width, false)},
                          source_width, int8);
            std::memcpy(energy_.zeros(padded(hidden)), weights.vector(name + ".energy", hidden),
                        hidden * sizeof(float));
        } else if (score_ == GENERAL) {
            key_ = Linear({weights.linear(name + ".key", half.width, source_width, false)},
                          source_width, int8);
        }
    }

    void start(const Encoded& encoded, const std::vector<DecoderState*>& states,
               Workspace& workspace) const {
        Matrix& keys = workspace.matrices[0];
        const bool projects = score_ == ADDITIVE || score_ == GENERAL;
        if (projects)
            apply(key_, encoded.states, encoded.states.rows, workspace.quantized, keys);
        for (size_t at = 0; at < states.size(); ++at) {
            auto& state = *static_cast<RecurrentState*>(states[at]);
            state.attended = encoded.attended[at];
            copy(encoded.states, encoded.first[at], encoded.length[at], state.values);
            if (projects) copy(keys, encoded.first[at], encoded.length[at], state.keys);
        }
    }

    void contexts(const Matrix& queries, const std::vector<StepRow>& rows,
                  const std::vector<DecoderState*>& states, Workspace& workspace,
                  Matrix& out) const {
        const int count = static_cast<int>(rows.size());
        out.resize(count, source_width_);
        Matrix& projected = workspace.matrices[10];
        if (score_ == ADDITIVE) apply(query_, queries, count, workspace.quantized, projected);
        int slot = -1;
        for (int row = 0; row < count; ++row) {
            const auto& state = *static_cast<RecurrentState*>(states[rows[row].slot]);
            const int length = state.attended;
            if (rows[row].slot != slot) {
                slot = rows[row].slot;
                workspace.values.resize(length);
                for (int at = 0; at < length; ++at) workspace.values[at] = state.values.row(at);
            }
            if (score_ == FIRST_STATE || score_ == LAST_STATE || length == 0) {
                const int at = score_ == FIRST_STATE ? 0 : length - 1;
                if (length)
                    std::memcpy(out.row(row), state.values.row(at), out.stride * sizeof(float));
                else
                    std::memset(out.row(row), 0, out.stride * sizeof(float));
                continue;
            }
            float* scores = workspace.scores.reserve(padded(length));
            score(score_ == ADDITIVE ? projected.row(row) : queries.row(row), state, scores);
            const float total = exponentials(scores, length);
            for (int at = 0; at < out.stride; at += 4 * LANES)
                weighted_mean<4>(out.row(row) + at, scores, total, workspace.values.data(), length,
                                 at);
        }
    }

  private:
    int score_ = ADDITIVE, width_ = 0, source_width_ = 0;
    Linear query_, key_;
    Buffer<float> energy_;

    static void copy(const Matrix& from, int first, int rows, Matrix& to) {
        to.resize(rows, from.width);
        std::memcpy(to.row(0), from.row(first),
                    static_cast<size_t>(rows) * from.stride * sizeof(float));
    }

    void score(const float* query, const RecurrentState& state, float* scores) const {
        const Matrix& keys = score_ == ADDITIVE || score_ == GENERAL ? state.keys : state.values;
        for (int row = 0; row < state.attended; ++row) {
            const float* key = keys.row(row);
            Vec total{};
            if (score_ == ADDITIVE)
                for (int at = 0; at < keys.stride; at += LANES)
                    total += load(energy_.data() + at) * tanh(load(query + at) + load(key + at));
            else
                for (int at = 0; at < keys.stride; at += LANES)
                    total += load(query + at) * load(key + at);
            scores[row] = sum(total);
            if (score_ == SCALED_DOT) scores[row] /= std::sqrt(static_cast<float>(width_));
        }
    }
};

class RecurrentDecoder : public Decoder {
  public:
    RecurrentDecoder(const Half& half, const Encoder& encoder, const Weights& weights, bool int8)
        : half_(half), parts_(parts_of(half.cell)), stride_(padded(half.width)) {
        const int width = half.width, embedded = half.embedding_width, source = encoder.width;
        embedding_.load(weights.matrix("decoder.token_embedding.weight", half.vocabulary, embedded),
                        half.vocabulary, embedded, 1.0f);
        const bool feeds = half.kind == LUONG && half.input_feeding;
        const int second = half.kind == BAHDANAU ? source : feeds ? width : 0;
        const int gates = gates_of(half.cell) * width;
        for (int layer = 0; layer < half.layers; ++layer) {
            const std::string end = "_l" + std::to_string(layer), name = "decoder.recurrence.rnn.";
            const int inputs = layer ? width : embedded + second;
            const float* matrix = weights.matrix(name + "weight_ih" + end, gates, inputs);
            const float* bias = weights.vector(name + "bias_ih" + end, gates);
            const int first = layer ? width : embedded;
            input_.push_back(gate_layer(matrix, bias, half.cell, width, 0, first, inputs, int8));
            if (layer == 0 && second)
                second_input_ = gate_layer(matrix, nullptr, half.cell, width, embedded, second,
                                           inputs, int8);
            state_.push_back(gate_layer(weights.matrix(name + "weight_hh" + end, gates, width),
                                        weights.vector(name + "bias_hh" + end, gates), half.cell,
                                        width, 0, width, width, int8));
        }
        has_second_ = second > 0;
        feeds_ = feeds;
        state_size_ = (parts_ * half.layers + feeds) * stride_;
        load_bridge(encoder, weights, int8);
        if (half.kind != RNN) attention_ = SourceAttention(half, source, weights, int8);
        int last = width;
        if (half.kind == BAHDANAU) {
            load_readout(embedded, source, weights, int8);
            last = half.readout_width;
        } else if (half.kind == LUONG) {
            const WeightRows rows = weights.linear("decoder.combine", width, source + width);
            combine_context_ = Linear({rows}, source, int8);
            combine_output_ = Linear({{rows.weight, nullptr, width, source, source + width}}, width,
                                     int8);
        }
        output = output_layer(weights, half.vocabulary, last, int8);
    }

    DecoderState* new_state(int width) const override {
        auto* state = new RecurrentState;
        for (Buffer<float>& rows : state->rows)
            rows.zeros(static_cast<size_t>(width) * state_size_);
        return state;
    }

    void start(const Encoded& encoded, const std::vector<DecoderState*>& states,
               Workspace& workspace) const override {
        const int count = static_cast<int>(states.size()), cells = parts_ * half_.layers;
        Matrix& first = workspace.matrices[1];
        if (half_.learned_bridge) {
            apply(bridge_, encoded.summaries, count, workspace.quantized, first);
            for (int row = 0; row < count; ++row)
                for (int at = 0; at < first.stride; at += LANES)
                    store(first.row(row) + at, tanh(load(first.row(row) + at)));
        } else {
            first.resize(count, cells * stride_);
            first.zero();
            for (int row = 0; row < count; ++row)
                for (int cell = 0; cell < cells; ++cell)
                    std::memcpy(first.row(row) + cell * stride_,
                                encoded.summaries.row(row) + cell * half_.width,
                                half_.width * sizeof(float));
        }
        for (int row = 0; row < count; ++row) {
            auto& state = *static_cast<RecurrentState*>(states[row]);
            state.parity = 0;
            float* to = state.rows[0].data();
            std::memset(to, 0, state_size_ * sizeof(float));
            std::memcpy(to, first.row(row), static_cast<size_t>(cells) * stride_ * sizeof(float));
        }
        if (half_.kind != RNN) attention_.start(encoded, states, workspace);
    }

    const Matrix& step(const std::vector<StepRow>& rows, const std::vector<DecoderState*>& states,
                       Workspace& workspace) const override {
        const int count = static_cast<int>(rows.size()), top = half_.layers - 1;
        Matrix &embedded = workspace.matrices[0], &context = workspace.matrices[1];
        Matrix &of_input = workspace.matrices[2], &of_state = workspace.matrices[3];
        Matrix &result = workspace.matrices[4], &fed = workspace.matrices[5];
        Matrix &h = workspace.matrices[6], &c = workspace.matrices[7];
        Matrix& below = workspace.matrices[8];
        embedded.resize(count, half_.embedding_width);
        for (int row = 0; row < count; ++row)
            embedding_.look_up(rows[row].token, embedded.row(row));
        if (half_.kind == BAHDANAU) {
            gather(rows, states, top, h);
            attention_.contexts(h, rows, states, workspace, context);
        }
        if (feeds_) gather(rows, states, parts_ * half_.layers, fed);
        for (int layer = 0; layer < half_.layers; ++layer) {
            apply(input_[layer], layer ? below : embedded, count, workspace.quantized, of_input);
            if (layer == 0 && has_second_)
                apply_add(second_input_, feeds_ ? fed : context, count, workspace.quantized,
                          of_input);
            gather(rows, states, layer, h);
            if (parts_ == 2) gather(rows, states, half_.layers + layer, c);
            apply(state_[layer], h, count, workspace.quantized, of_state);
            for (int row = 0; row < count; ++row)
                cell_step(half_.cell, stride_, of_input.row(row), of_state.row(row), h.row(row),
                          parts_ == 2 ? c.row(row) : nullptr);
            scatter(rows, states, layer, h);
            if (parts_ == 2) scatter(rows, states, half_.layers + layer, c);
            below.resize(count, half_.width);
            std::memcpy(below.row(0), h.row(0),
                        static_cast<size_t>(count) * h.stride * sizeof(float));
        }
        const Matrix& last = finish(rows, states, embedded, below, context, result, workspace);
        for (size_t row = 0; row < rows.size(); ++row)
            if (row == 0 || rows[row].slot != rows[row - 1].slot) {
                auto& state = *static_cast<RecurrentState*>(states[rows[row].slot]);
                state.parity = 1 - state.parity;
            }
        return last;
    }

  private:
    Half half_;
    int parts_, stride_, state_size_ = 0;
    bool has_second_ = false, feeds_ = false;
    Embedding embedding_;
    std::vector<Linear> input_, state_;
    Linear second_input_;  // of the context, or of the last attentional vector
    Linear bridge_, combine_context_, combine_output_;
    Linear readout_output_, readout_embedded_, readout_context_;
    SourceAttention attention_;

    // The vectors before the output layer.
    const Matrix& finish(const std::vector<StepRow>& rows, const std::vector<DecoderState*>& states,
                         const Matrix& embedded, const Matrix& hidden, Matrix& context,
                         Matrix& result, Workspace& workspace) const {
        const int count = static_cast<int>(rows.size());
        if (half_.kind == RNN) return hidden;
        if (half_.kind == BAHDANAU) {
            Matrix& pairs = workspace.matrices[9];
            apply(readout_output_, hidden, count, workspace.quantized, pairs);
            apply_add(readout_embedded_, embedded, count, workspace.quantized, pairs);
            apply_add(readout_context_, context, count, workspace.quantized, pairs);
            result.resize(count, half_.readout_width);
            for (int row = 0; row < count; ++row)
                for (int at = 0; at < result.stride; at += LANES)
                    store(result.row(row) + at,
                          max(load(pairs.row(row) + at), load(pairs.row(row) + result.stride + at)));
            return result;
        }
        attention_.contexts(hidden, rows, states, workspace, context);
        apply(combine_context_, context, count, workspace.quantized, result);
        apply_add(combine_output_, hidden, count, workspace.quantized, result);
        for (int row = 0; row < count; ++row)
            for (int at = 0; at < result.stride; at += LANES)
                store(result.row(row) + at, tanh(load(result.row(row) + at)));
        if (feeds_) scatter(rows, states, parts_ * half_.layers, result);
        return result;
    }

    // A part of the states of the rows' parents, and of the rows themselves.
    void gather(const std::vector<StepRow>& rows, const std::vector<DecoderState*>& states,
                int part, Matrix& out) const {
        out.resize(static_cast<int>(rows.size()), half_.width);
        for (size_t row = 0; row < rows.size(); ++row) {
            auto& state = *static_cast<RecurrentState*>(states[rows[row].slot]);
            std::memcpy(out.row(static_cast<int>(row)),
                        state.rows[state.parity].data() +
                            static_cast<size_t>(rows[row].parent) * state_size_ + part * stride_,
                        stride_ * sizeof(float));
        }
    }
    void scatter(const std::vector<StepRow>& rows, const std::vector<DecoderState*>& states,
                 int part, const Matrix& from) const {
        for (size_t row = 0; row < rows.size(); ++row) {
            auto& state = *static_cast<RecurrentState*>(states[rows[row].slot]);
            std::memcpy(state.rows[1 - state.parity].data() +
                            static_cast<size_t>(rows[row].beam) * state_size_ + part * stride_,
                        from.row(static_cast<int>(row)), stride_ * sizeof(float));
        }
    }

    void load_bridge(const Encoder& encoder, const Weights& weights, bool int8) {
        const int cells = parts_ * half_.layers, inputs = encoder.summary_width;
        if (!half_.learned_bridge) {
            if (inputs != cells * half_.width)
                throw std::invalid_argument("a direct bridge needs equal states");
            return;
        }
        const WeightRows all = weights.linear("decoder.bridge.map", cells * half_.width, inputs);
        std::vector<WeightRows> rows;
        for (int cell = 0; cell < cells; ++cell)
            rows.push_back({all.weight + static_cast<size_t>(cell) * half_.width * inputs,
                            all.bias + cell * half_.width, half_.width, 0, inputs});
        bridge_ = Linear(rows, inputs, int8);
    }

    // Maxout takes the larger of two neighbours: even rows come first, then odd ones.
    void load_readout(int embedded, int source, const Weights& weights, bool int8) {
        const int width = half_.readout_width, inputs = half_.width + embedded + source;
        const WeightRows all = weights.linear("decoder.readout", 2 * width, inputs);
        std::vector<float> even(width), odd(width);
        for (int at = 0; at < width; ++at) {
            even[at] = all.bias[2 * at];
            odd[at] = all.bias[2 * at + 1];
        }
        const auto part = [&](int first, int columns, bool bias) {
            return Linear({{all.weight, bias ? even.data() : nullptr, width, first, 2 * inputs},
                           {all.weight, bias ? odd.data() : nullptr, width, inputs + first,
                            2 * inputs}},
                          columns, int8);
        };
        readout_output_ = part(0, half_.width, true);
        readout_embedded_ = part(half_.width, embedded, false);
        readout_context_ = part(half_.width + embedded, source, false);
    }
};

}  // namespace dhyan
