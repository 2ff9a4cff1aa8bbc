// Settings and weights of a model, as Python passes them, and what its two halves exchange.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "linear.h"

extern "C" {
// One half of a model; a field that its kind does not have is 0.
struct DhyanHalf {
    int32_t kind, vocabulary, embedding_width, width, layers;
    int32_t heads, kv_heads, feed_forward_width, activation, pre_norm, positions, scaled,
        scale_embedding, reads_eos;
    int32_t cell, bidirectional, reverse;
    int32_t score, score_width, readout_width, input_feeding, learned_bridge;
};
struct DhyanWeight {
    const char* name;
    const float* data;
    int64_t rows, columns;  // a vector has one row
};
}

namespace dhyan {

constexpr int PAD = 0, BOS = 1, EOS = 2;  // as dhyan.special_tokens

enum Kind { TRANSFORMER = 0, RNN = 1, BAHDANAU = 2, LUONG = 3 };
enum Cell { LSTM = 0, GRU = 1, ELMAN = 2 };
enum Score { ADDITIVE = 0, DOT = 1, SCALED_DOT = 2, GENERAL = 3, FIRST_STATE = 4, LAST_STATE = 5 };
enum Positions { ADDED = 0, NO_POSITIONS = 1, ROTARY = 2, ALIBI = 3 };

typedef ::DhyanHalf Half;

class Weights {
  public:
    Weights(const DhyanWeight* weights, int count) {
        for (int at = 0; at < count; ++at) by_name_[weights[at].name] = weights[at];
    }
    const float* matrix(const std::string& name, int64_t rows, int64_t columns) const {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) throw std::invalid_argument(name + " is missing");
        used_.insert(name);
        if (found->second.rows != rows || found->second.columns != columns)
            throw std::invalid_argument(name + " has another shape");
        return found->second.data;
    }
    const float* vector(const std::string& name, int64_t size) const {
        return matrix(name, 1, size);
    }
    WeightRows linear(const std::string& name, int outputs, int inputs, bool bias = true) const {
        return {matrix(name + ".weight", outputs, inputs),
                bias ? vector(name + ".bias", outputs) : nullptr, outputs, 0, inputs};
    }

    // Refuses a weight that no part of the model has.
    void check_all_used() const {
        for (const auto& [name, weight] : by_name_)
            if (used_.count(name) == 0) throw std::invalid_argument(name + " has no place");
    }

  private:
    std::unordered_map<std::string, DhyanWeight> by_name_;
    mutable std::unordered_set<std::string> used_;
};

// The vectors of a vocabulary.
struct Embedding {
    Matrix table;
    float scale = 1.0f;

    void load(const float* weights, int vocabulary, int width, float factor) {
        table.resize(vocabulary, width);
        table.zero();
        scale = factor;
        for (int id = 0; id < vocabulary; ++id)
            for (int at = 0; at < width; ++at)
                table.row(id)[at] = factor * weights[static_cast<size_t>(id) * width + at];
    }
    void look_up(int32_t id, float* out) const {
        std::memcpy(out, table.row(id), table.stride * sizeof(float));
    }
};

// Source sentences that were encoded together: one state per token, and a summary of each.
struct Encoded {
    Matrix states, summaries;
    std::vector<int> first, length;  // rows of each sentence
    std::vector<int> attended;       // of its tokens, those that may be attended to: the first ones
};

// What one worker needs besides weights; nothing in it outlives a step.
struct Workspace {
    QuantizedRows quantized;
    std::vector<Matrix> matrices = std::vector<Matrix>(24);
    std::vector<const float*> keys, values;
    Buffer<float> scores;
    std::vector<BestTokens> best;
};

struct Sentence {
    const int32_t* ids;
    int length;
};

class Encoder {
  public:
    virtual ~Encoder() = default;
    int width = 0;          // of a state
    int summary_width = 0;  // parts × layers × width
    virtual void encode(const std::vector<Sentence>& sentences, Encoded& encoded,
                        Workspace& workspace) const = 0;
    virtual int max_positions() const { return INT32_MAX; }
    virtual void set_positions(const float*, int) {}
};

// A row of a step: a hypothesis, by the slot of its sentence and its place in the beam.
struct StepRow {
    int slot;
    int beam;
    int parent;  // its place in the beam of the step before
    int position;
    int32_t token;
};

// The decoder's state of one slot.
class DecoderState {
  public:
    virtual ~DecoderState() = default;
};

class Decoder {
  public:
    Linear output;
    virtual ~Decoder() = default;
    virtual DecoderState* new_state(int width) const = 0;
    // Starts new sentences in these states.
    virtual void start(const Encoded& encoded, const std::vector<DecoderState*>& states,
                       Workspace& workspace) const = 0;
    // One token further; the vectors before the output layer.
    virtual const Matrix& step(const std::vector<StepRow>& rows,
                               const std::vector<DecoderState*>& states,
                               Workspace& workspace) const = 0;
    virtual int max_positions() const { return INT32_MAX; }
    virtual void set_positions(const float*, int) {}
};

inline Linear output_layer(const Weights& weights, int vocabulary, int width, bool int8) {
    return Linear({weights.linear("decoder.output", vocabulary, width)}, width, int8,
                  -std::numeric_limits<float>::infinity());
}

}  // namespace dhyan
