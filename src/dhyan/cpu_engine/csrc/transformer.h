// Transformer encoder and decoder, a token at a time, over caches that never move.
#pragma once

#include <memory>

#include "attention.h"

namespace dhyan {

struct FeedForward {
    Linear up, gate, down;
    int activation = RELU;

    void load_from(const Weights& weights, const std::string& name, const Half& half, bool int8) {
        activation = half.activation;
        const int width = half.width, wide = half.feed_forward_width;
        up = Linear({weights.linear(name + ".up", wide, width)}, width, int8);
        if (activation == SWIGLU)
            gate = Linear({weights.linear(name + ".gate", wide, width)}, width, int8);
        down = Linear({weights.linear(name + ".down", width, wide)}, wide, int8);
    }
    // x += down(activation(up(hidden))), some rows at once, so that they stay in the cache.
    void apply_to(const Matrix& hidden, int rows, Workspace& workspace, Matrix& x,
                  bool replace) const {
        Matrix& wide = workspace.matrices[8];
        Matrix& gated = workspace.matrices[9];
        if (activation == SWIGLU) {
            apply(up, hidden, rows, workspace.quantized, wide);
            apply(gate, hidden, rows, workspace.quantized, gated, SILU, true);
            for (int row = 0; row < rows; ++row)
                for (int at = 0; at < wide.stride; at += LANES)
                    store(wide.row(row) + at,
                          load(wide.row(row) + at) * load(gated.row(row) + at));
        } else {
            apply(up, hidden, rows, workspace.quantized, wide, activation);
        }
        if (replace)
            apply(down, wide, rows, workspace.quantized, x);
        else
            apply_add(down, wide, rows, workspace.quantized, x);
    }
};

struct AttentionWeights {
    Linear input, output;  // query, or query, key and value; and the output projection
    LayerNorm norm;
};

inline Heads heads_of(const Half& half) {
    const int width = half.width / half.heads;
    return {half.heads, half.kv_heads, width,
            half.scaled ? 1.0f / std::sqrt(static_cast<float>(width)) : 1.0f,
            half.positions == ALIBI};
}

inline Linear packed_projection(const Weights& weights, const std::string& name, const Half& half,
                                bool int8) {
    const int width = half.width, narrow = half.width / half.heads * half.kv_heads;
    return Linear({weights.linear(name + ".query", width, width),
                   weights.linear(name + ".key", narrow, width),
                   weights.linear(name + ".value", narrow, width)},
                  width, int8);
}

// Vectors that are added to those of the tokens.
struct PositionTable {
    Matrix table;
    bool used = false;

    void set(const float* vectors, int count, int width) {
        table.resize(count, width);
        table.zero();
        for (int at = 0; at < count; ++at)
            std::memcpy(table.row(at), vectors + static_cast<size_t>(at) * width,
                        width * sizeof(float));
        used = true;
    }
    void add(int position, float* x) const {
        if (!used) return;
        const float* vector = table.row(position);
        for (int at = 0; at < table.stride; at += LANES)
            store(x + at, load(x + at) + load(vector + at));
    }
};

class TransformerEncoder : public Encoder {
  public:
    TransformerEncoder(const Half& half, const Weights& weights, bool int8)
        : half_(half), heads_(heads_of(half)), layers_(half.layers) {
        const int width = half.width;
        this->width = summary_width = width;
        embedding_.load(weights.matrix("encoder.embedding.token_embedding.weight",
                                       half.vocabulary, width),
                        half.vocabulary, width,
                        half.scale_embedding ? std::sqrt(static_cast<float>(width)) : 1.0f);
        for (int at = 0; at < half.layers; ++at) {
            const std::string name = "encoder.layers." + std::to_string(at);
            Layer& layer = layers_[at];
            layer.attention.input = packed_projection(weights, name + ".self_attention", half, int8);
            layer.attention.output =
                Linear({weights.linear(name + ".self_attention.output", width, width)}, width, int8);
            layer.attention.norm.load_from(weights, name + ".self_attention_norm", width);
            layer.feed_forward.load_from(weights, name + ".feed_forward", half, int8);
            layer.feed_forward_norm.load_from(weights, name + ".feed_forward_norm", width);
        }
        if (half.pre_norm) final_norm_.load_from(weights, "encoder.final_norm", width);
    }

    void set_positions(const float* vectors, int count) override {
        positions_.set(vectors, count, half_.width);
    }
    int max_positions() const override {
        return half_.positions == ADDED ? positions_.table.rows : INT32_MAX;
    }

    void encode(const std::vector<Sentence>& sentences, Encoded& encoded,
                Workspace& workspace) const override {
        int rows = 0;
        for (const Sentence& sentence : sentences) rows += sentence.length;
        Matrix &x = encoded.states, &hidden = workspace.matrices[1];
        Matrix &projected = workspace.matrices[2], &context = workspace.matrices[3];
        x.resize(rows, half_.width);
        int row = 0;
        for (const Sentence& sentence : sentences)
            for (int at = 0; at < sentence.length; ++at, ++row) {
                embedding_.look_up(sentence.ids[at], x.row(row));
                positions_.add(at, x.row(row));
            }
        for (const Layer& layer : layers_) {
            const Matrix* input = &x;
            if (half_.pre_norm) {
                layer.attention.norm.apply(x, rows, hidden);
                input = &hidden;
            }
            apply(layer.attention.input, *input, rows, workspace.quantized, projected);
            context.resize(rows, half_.width);
            if (context.stride != context.width) context.zero();
            self_attention(sentences, projected, context, workspace);
            apply_add(layer.attention.output, context, rows, workspace.quantized, x);
            if (half_.pre_norm) {
                layer.feed_forward_norm.apply(x, rows, hidden);
                layer.feed_forward.apply_to(hidden, rows, workspace, x, false);
            } else {
                layer.attention.norm.apply(x, rows, x);
                Matrix& copy = hidden;
                copy.resize(rows, half_.width);
                std::memcpy(copy.row(0), x.row(0),
                            static_cast<size_t>(rows) * x.stride * sizeof(float));
                layer.feed_forward.apply_to(copy, rows, workspace, x, false);
                layer.feed_forward_norm.apply(x, rows, x);
            }
        }
        if (half_.pre_norm) final_norm_.apply(x, rows, x);
        const int count = static_cast<int>(sentences.size());
        encoded.summaries.resize(count, half_.width);
        encoded.summaries.zero();
        encoded.first.resize(count);
        encoded.length.resize(count);
        encoded.attended.resize(count);
        row = 0;
        for (int index = 0; index < count; ++index) {
            const Sentence& sentence = sentences[index];
            encoded.first[index] = row;
            encoded.length[index] = sentence.length;
            encoded.attended[index] = attended(sentence);
            const float share = 1.0f / std::max(encoded.attended[index], 1);
            for (int at = 0; at < encoded.attended[index]; ++at)
                add_scaled(encoded.summaries.row(index), share, x.row(row + at), x.stride);
            row += sentence.length;
        }
    }

  private:
    struct Layer {
        AttentionWeights attention;
        FeedForward feed_forward;
        LayerNorm feed_forward_norm;
    };
    Half half_;
    Heads heads_;
    Embedding embedding_;
    PositionTable positions_;
    std::vector<Layer> layers_;
    LayerNorm final_norm_;

    // EOS is the last token; where it is not read, it is masked like padding.
    int attended(const Sentence& sentence) const {
        const bool ends = sentence.ids[sentence.length - 1] == EOS;
        return sentence.length - (ends && !half_.reads_eos);
    }

    void self_attention(const std::vector<Sentence>& sentences, Matrix& projected, Matrix& context,
                        Workspace& workspace) const {
        const int keys_at = padded(half_.width);
        const int values_at = keys_at + padded(heads_.kv_heads * heads_.width);
        int first = 0;
        for (const Sentence& sentence : sentences) {
            const int length = sentence.length;
            workspace.keys.resize(length);
            workspace.values.resize(length);
            for (int at = 0; at < length; ++at) {
                float* row = projected.row(first + at);
                workspace.keys[at] = row + keys_at;
                workspace.values[at] = row + values_at;
                if (half_.positions == ROTARY) {
                    rotate(row, heads_.heads, heads_.width, at);
                    rotate(row + keys_at, heads_.kv_heads, heads_.width, at);
                }
            }
            for (int at = 0; at < length; ++at)
                attend(heads_, projected.row(first + at), workspace.keys.data(),
                       workspace.values.data(), attended(sentence), at, context.row(first + at),
                       workspace.scores);
            first += length;
        }
    }
};

// Keys and values of the past in pages of some positions, and those of the source.
class TransformerState : public DecoderState {
  public:
    static constexpr int PAGE = 16;
    int width;                                 // of the beam
    std::vector<std::unique_ptr<float[]>> pages;  // kept for the next sentence of the slot
    std::vector<uint8_t> rows[2];              // [beam][position]: whose keys it reads
    int capacity = 0;                          // positions that `rows` has room for
    int parity = 0;
    int source_length = 0;
    Matrix source;                             // [layer, position][keys, values]

    explicit TransformerState(int width) : width(width) {}

    float* page(int at, size_t size) {
        while (static_cast<int>(pages.size()) <= at)
            pages.emplace_back(new float[size]());
        return pages[at].get();
    }
    void grow(int positions) {
        if (positions <= capacity) return;
        const int larger = std::max(32, 2 * positions);
        for (std::vector<uint8_t>& table : rows) {
            std::vector<uint8_t> grown(static_cast<size_t>(width) * larger);
            for (int beam = 0; beam < width; ++beam)
                std::copy_n(table.begin() + static_cast<size_t>(beam) * capacity, capacity,
                            grown.begin() + static_cast<size_t>(beam) * larger);
            table.swap(grown);
        }
        capacity = larger;
    }
};

class TransformerDecoder : public Decoder {
  public:
    TransformerDecoder(const Half& half, int source_width, const Weights& weights, bool int8)
        : half_(half), heads_(heads_of(half)), cross_heads_(heads_of(half)), layers_(half.layers) {
        cross_heads_.alibi = false;
        const int width = half.width;
        narrow_ = heads_.kv_heads * heads_.width;
        embedding_.load(weights.matrix("decoder.embedding.token_embedding.weight",
                                       half.vocabulary, width),
                        half.vocabulary, width,
                        half.scale_embedding ? std::sqrt(static_cast<float>(width)) : 1.0f);
        std::vector<WeightRows> memory;
        for (int at = 0; at < half.layers; ++at) {
            const std::string name = "decoder.layers." + std::to_string(at);
            const std::string cross = name + ".cross_attention";
            Layer& layer = layers_[at];
            layer.self.input = packed_projection(weights, name + ".self_attention", half, int8);
            layer.self.output =
                Linear({weights.linear(name + ".self_attention.output", width, width)}, width, int8);
            layer.self.norm.load_from(weights, name + ".self_attention_norm", width);
            layer.cross.input = Linear({weights.linear(cross + ".query", width, width)}, width, int8);
            layer.cross.output =
                Linear({weights.linear(cross + ".output", width, width)}, width, int8);
            layer.cross.norm.load_from(weights, name + ".cross_attention_norm", width);
            memory.push_back(weights.linear(cross + ".key", narrow_, source_width));
            memory.push_back(weights.linear(cross + ".value", narrow_, source_width));
            layer.feed_forward.load_from(weights, name + ".feed_forward", half, int8);
            layer.feed_forward_norm.load_from(weights, name + ".feed_forward_norm", width);
        }
        memory_ = Linear(memory, source_width, int8);
        if (half.pre_norm) final_norm_.load_from(weights, "decoder.final_norm", width);
        output = output_layer(weights, half.vocabulary, width, int8);
    }

    void set_positions(const float* vectors, int count) override {
        positions_.set(vectors, count, half_.width);
    }
    int max_positions() const override {
        return half_.positions == ADDED ? positions_.table.rows : INT32_MAX;
    }

    DecoderState* new_state(int width) const override { return new TransformerState(width); }

    void start(const Encoded& encoded, const std::vector<DecoderState*>& states,
               Workspace& workspace) const override {
        Matrix& projected = workspace.matrices[0];
        apply(memory_, encoded.states, encoded.states.rows, workspace.quantized, projected);
        for (size_t at = 0; at < states.size(); ++at) {
            auto& state = *static_cast<TransformerState*>(states[at]);
            state.source_length = encoded.attended[at];
            state.parity = 0;
            const int length = encoded.length[at], both = 2 * padded(narrow_);
            state.source.resize(half_.layers * length, both);
            for (int layer = 0; layer < half_.layers; ++layer)
                for (int from = 0; from < length; ++from)
                    std::memcpy(state.source.row(layer * length + from),
                                projected.row(encoded.first[at] + from) + layer * both,
                                both * sizeof(float));
        }
    }

    const Matrix& step(const std::vector<StepRow>& rows, const std::vector<DecoderState*>& states,
                       Workspace& workspace) const override {
        const int count = static_cast<int>(rows.size());
        Matrix &x = workspace.matrices[0], &hidden = workspace.matrices[1];
        Matrix &projected = workspace.matrices[2], &context = workspace.matrices[3];
        x.resize(count, half_.width);
        context.resize(count, half_.width);
        if (context.stride != context.width) context.zero();
        advance(rows, states);
        for (int row = 0; row < count; ++row) {
            embedding_.look_up(rows[row].token, x.row(row));
            positions_.add(rows[row].position, x.row(row));
        }
        for (int at = 0; at < half_.layers; ++at) {
            const Layer& layer = layers_[at];
            const Matrix& input = before(layer.self.norm, x, count, hidden);
            apply(layer.self.input, input, count, workspace.quantized, projected);
            self_attention(at, rows, states, projected, context, workspace);
            apply_add(layer.self.output, context, count, workspace.quantized, x);
            after(layer.self.norm, x, count);
            const Matrix& query = before(layer.cross.norm, x, count, hidden);
            apply(layer.cross.input, query, count, workspace.quantized, projected);
            cross_attention(at, rows, states, projected, context, workspace);
            apply_add(layer.cross.output, context, count, workspace.quantized, x);
            after(layer.cross.norm, x, count);
            if (half_.pre_norm) {
                layer.feed_forward_norm.apply(x, count, hidden);
                layer.feed_forward.apply_to(hidden, count, workspace, x, false);
            } else {
                hidden.resize(count, half_.width);
                std::memcpy(hidden.row(0), x.row(0),
                            static_cast<size_t>(count) * x.stride * sizeof(float));
                layer.feed_forward.apply_to(hidden, count, workspace, x, false);
                layer.feed_forward_norm.apply(x, count, x);
            }
        }
        if (half_.pre_norm) final_norm_.apply(x, count, x);
        return x;
    }

  private:
    struct Layer {
        AttentionWeights self, cross;
        FeedForward feed_forward;
        LayerNorm feed_forward_norm;
    };
    Half half_;
    Heads heads_, cross_heads_;
    int narrow_;  // width of the keys of all heads
    Embedding embedding_;
    PositionTable positions_;
    std::vector<Layer> layers_;
    Linear memory_;  // keys and values of the source, of all layers
    LayerNorm final_norm_;

    const Matrix& before(const LayerNorm& norm, const Matrix& x, int rows, Matrix& hidden) const {
        if (!half_.pre_norm) return x;
        norm.apply(x, rows, hidden);
        return hidden;
    }
    void after(const LayerNorm& norm, Matrix& x, int rows) const {
        if (!half_.pre_norm) norm.apply(x, rows, x);
    }

    // Each hypothesis reads the keys that its parent read, and its own.
    static void advance(const std::vector<StepRow>& rows, const std::vector<DecoderState*>& states) {
        for (size_t first = 0; first < rows.size();) {
            auto& state = *static_cast<TransformerState*>(states[rows[first].slot]);
            const int position = rows[first].position;
            state.grow(position + 1);
            const std::vector<uint8_t>& old = state.rows[state.parity];
            std::vector<uint8_t>& next = state.rows[1 - state.parity];
            size_t at = first;
            for (; at < rows.size() && rows[at].slot == rows[first].slot; ++at) {
                uint8_t* table = next.data() + static_cast<size_t>(rows[at].beam) * state.capacity;
                std::memcpy(table,
                            old.data() + static_cast<size_t>(rows[at].parent) * state.capacity,
                            position);
                table[position] = static_cast<uint8_t>(rows[at].beam);
            }
            state.parity = 1 - state.parity;
            first = at;
        }
    }

    size_t page_size(int width) const {
        return static_cast<size_t>(half_.layers) * TransformerState::PAGE * width * 2 *
               padded(narrow_);
    }
    // Keys of a beam's row at a position, in its page; the values lie behind them.
    size_t place(int layer, int position, int beam, int width) const {
        const size_t in_page = position % TransformerState::PAGE;
        return ((static_cast<size_t>(layer) * TransformerState::PAGE + in_page) * width + beam) *
               2 * padded(narrow_);
    }

    void self_attention(int layer, const std::vector<StepRow>& rows,
                        const std::vector<DecoderState*>& states, Matrix& projected,
                        Matrix& context, Workspace& workspace) const {
        const int keys_at = padded(half_.width), values_at = keys_at + padded(narrow_);
        for (size_t row = 0; row < rows.size(); ++row) {
            auto& state = *static_cast<TransformerState*>(states[rows[row].slot]);
            const int position = rows[row].position;
            float* from = projected.row(static_cast<int>(row));
            if (half_.positions == ROTARY) {
                rotate(from, heads_.heads, heads_.width, position);
                rotate(from + keys_at, heads_.kv_heads, heads_.width, position);
            }
            float* own = state.page(position / TransformerState::PAGE, page_size(state.width)) +
                         place(layer, position, rows[row].beam, state.width);
            std::memcpy(own, from + keys_at, narrow_ * sizeof(float));
            std::memcpy(own + padded(narrow_), from + values_at, narrow_ * sizeof(float));
            workspace.keys.resize(position + 1);
            workspace.values.resize(position + 1);
            const uint8_t* table = state.rows[state.parity].data() +
                                   static_cast<size_t>(rows[row].beam) * state.capacity;
            for (int at = 0; at <= position; ++at) {
                const float* keys = state.pages[at / TransformerState::PAGE].get() +
                                    place(layer, at, table[at], state.width);
                workspace.keys[at] = keys;
                workspace.values[at] = keys + padded(narrow_);
            }
            attend(heads_, from, workspace.keys.data(), workspace.values.data(), position + 1,
                   position, context.row(static_cast<int>(row)), workspace.scores);
        }
    }

    void cross_attention(int layer, const std::vector<StepRow>& rows,
                         const std::vector<DecoderState*>& states, Matrix& projected,
                         Matrix& context, Workspace& workspace) const {
        int slot = -1, length = 0;
        for (size_t row = 0; row < rows.size(); ++row) {
            if (rows[row].slot != slot) {
                slot = rows[row].slot;
                const auto& state = *static_cast<TransformerState*>(states[slot]);
                length = state.source_length;
                workspace.keys.resize(length);
                workspace.values.resize(length);
                const int first = layer * (state.source.rows / half_.layers);
                for (int at = 0; at < length; ++at) {
                    workspace.keys[at] = state.source.row(first + at);
                    workspace.values[at] = workspace.keys[at] + padded(narrow_);
                }
            }
            attend(cross_heads_, projected.row(static_cast<int>(row)), workspace.keys.data(),
                   workspace.values.data(), length, 0, context.row(static_cast<int>(row)),
                   workspace.scores);
        }
    }
};

}  // namespace dhyan
