// Translation on a CPU: workers with their own slots, which sentences enter as others leave.
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "recurrent.h"
#include "search.h"
#include "training.h"
#include "transformer.h"

namespace dhyan {

constexpr int ROWS_PER_WORKER = 64;      // of a step
constexpr int TOKENS_PER_ENCODING = 1024;  // of sentences that are encoded together
constexpr int KEPT_PAGES = 8;              // of a slot that is free

struct Job {
    const int32_t* ids;
    const int64_t* starts;  // of each sentence, and the end of the last
    const int32_t* max_lengths;
    int width, nbest;
    double length_penalty;
    std::vector<int> order;  // the longest sentence first
    std::atomic<size_t> next{0};
    int workers = 1;
    std::vector<std::vector<Hypothesis>> results;
    std::mutex failure_lock;
    std::exception_ptr failure;

    int length(int sentence) const {
        return static_cast<int>(starts[sentence + 1] - starts[sentence]);
    }
};

class Model {
  public:
    Model(const Half& encoder, const Half& decoder, const Weights& weights, bool int8)
        : vocabulary_(encoder.vocabulary) {
        check_heads(encoder);
        check_heads(decoder);
        if (encoder.kind == TRANSFORMER)
            encoder_ = std::make_unique<TransformerEncoder>(encoder, weights, int8);
        else
            encoder_ = std::make_unique<RNNEncoder>(encoder, weights, int8);
        if (decoder.kind == TRANSFORMER)
            decoder_ = std::make_unique<TransformerDecoder>(decoder, encoder_->width, weights, int8);
        else
            decoder_ = std::make_unique<RecurrentDecoder>(decoder, *encoder_, weights, int8);
        weights.check_all_used();
    }

    void set_positions(bool of_decoder, const float* vectors, int count) {
        if (of_decoder)
            decoder_->set_positions(vectors, count);
        else
            encoder_->set_positions(vectors, count);
    }

    void translate(Job& job, int threads) {
        check(job);
        std::stable_sort(job.order.begin(), job.order.end(),
                         [&](int a, int b) { return job.length(a) > job.length(b); });
        job.workers = std::max(1, std::min<int>(threads, static_cast<int>(job.order.size())));
        while (static_cast<int>(workers_.size()) < job.workers)
            workers_.push_back(std::make_unique<Worker>());
        std::vector<std::thread> running;
        for (int at = 1; at < job.workers; ++at)
            running.emplace_back([this, &job, at] { run(job, *workers_[at]); });
        run(job, *workers_[0]);
        for (std::thread& thread : running) thread.join();
        if (job.failure) std::rethrow_exception(job.failure);
    }

  private:
    struct Worker {
        int width = 0;
        Workspace workspace;
        Encoded encoded;
        std::vector<Search> searches;
        std::vector<std::unique_ptr<DecoderState>> owned;
        std::vector<DecoderState*> states;
        std::vector<StepRow> rows;
    };
    int vocabulary_;
    std::unique_ptr<Encoder> encoder_;
    std::unique_ptr<Decoder> decoder_;
    std::vector<std::unique_ptr<Worker>> workers_;

    static void check_heads(const Half& half) {
        if (half.kind != TRANSFORMER) return;
        const bool even = half.positions != ROTARY || half.width / half.heads % 2 == 0;
        if (half.width % half.heads || half.heads % half.kv_heads || !even)
            throw std::invalid_argument("the width does not divide into heads");
    }

    void check(const Job& job) const {
        for (size_t sentence = 0; sentence < job.order.size(); ++sentence) {
            const int length = job.length(static_cast<int>(sentence));
            if (length < 1 || length > encoder_->max_positions())
                throw std::invalid_argument("a source has no such length");
            if (job.max_lengths[sentence] < 1 ||
                job.max_lengths[sentence] > decoder_->max_positions())
                throw std::invalid_argument("a target has no such length");
            for (int64_t at = job.starts[sentence]; at < job.starts[sentence + 1]; ++at)
                if (job.ids[at] < 0 || job.ids[at] >= vocabulary_)
                    throw std::invalid_argument("a token is not in the vocabulary");
        }
    }

    void run(Job& job, Worker& worker) {
        try {
            const int slots = std::max(1, ROWS_PER_WORKER / job.width);
            if (worker.width != job.width) {
                worker.owned.clear();
                worker.states.clear();
                worker.searches.assign(slots, Search());
                for (int at = 0; at < slots; ++at) {
                    worker.owned.emplace_back(decoder_->new_state(job.width));
                    worker.states.push_back(worker.owned.back().get());
                }
                worker.width = job.width;
            }
            for (Search& search : worker.searches) search.sentence = -1;
            int active = 0;
            while (true) {
                active += fill(job, worker, slots - active);
                if (active == 0) break;
                active -= step(job, worker);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(job.failure_lock);
            job.failure = std::current_exception();
        }
    }

    // Encodes waiting sentences into free slots, once enough are free; how many.
    int fill(Job& job, Worker& worker, int free) {
        const size_t left = job.order.size() - std::min(job.next.load(), job.order.size());
        if (left == 0 || free == 0) return 0;
        const int slots = static_cast<int>(worker.searches.size());
        if (free < slots && free < std::min<int>((slots + 3) / 4, static_cast<int>(left))) return 0;
        const int share = static_cast<int>((left + job.workers - 1) / job.workers);
        int wanted = std::min(free, share), added = 0;
        while (wanted > 0) {
            std::vector<Sentence> sentences;
            std::vector<DecoderState*> states;
            int tokens = 0;
            size_t slot = 0;
            while (wanted > 0 && tokens < TOKENS_PER_ENCODING) {
                const size_t at = job.next.fetch_add(1);
                if (at >= job.order.size()) {
                    wanted = 0;
                    break;
                }
                const int index = job.order[at];
                while (worker.searches[slot].sentence >= 0) ++slot;
                worker.searches[slot].start(index, job.width, job.max_lengths[index],
                                            job.length_penalty);
                sentences.push_back({job.ids + job.starts[index], job.length(index)});
                states.push_back(worker.states[slot]);
                tokens += job.length(index);
                --wanted;
            }
            if (sentences.empty()) break;
            encoder_->encode(sentences, worker.encoded, worker.workspace);
            decoder_->start(worker.encoded, states, worker.workspace);
            added += static_cast<int>(sentences.size());
        }
        return added;
    }

    // One token for every hypothesis; how many sentences are done.
    int step(Job& job, Worker& worker) {
        worker.rows.clear();
        for (size_t slot = 0; slot < worker.searches.size(); ++slot)
            if (worker.searches[slot].sentence >= 0)
                worker.searches[slot].add_rows(static_cast<int>(slot), worker.rows);
        const int count = static_cast<int>(worker.rows.size());
        Workspace& workspace = worker.workspace;
        const Matrix& hidden = decoder_->step(worker.rows, worker.states, workspace);
        const int most = job.width == 1 ? 1 : 2 * job.width;
        best_tokens(decoder_->output, hidden, count, workspace.quantized, most, PAD, BOS,
                    workspace.best);
        int done = 0;
        for (int row = 0; row < count;) {
            const int slot = worker.rows[row].slot, first = row;
            while (row < count && worker.rows[row].slot == slot) ++row;
            Search& search = worker.searches[slot];
            if (search.advance(&workspace.best[first])) {
                job.results[search.sentence] = search.results(job.nbest);
                search.sentence = -1;
                ++done;
            }
        }
        return done;
    }
};

struct Results {
    std::vector<std::vector<Hypothesis>> hypotheses;
};

void describe(char* message, int size) {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        std::snprintf(message, size, "out of memory");
    } catch (const std::exception& error) {
        std::snprintf(message, size, "%s", error.what());
    } catch (...) {
        std::snprintf(message, size, "unknown error");
    }
}

}  // namespace dhyan

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int32_t dhyan_half_size() { return sizeof(DhyanHalf); }
EXPORT int32_t dhyan_dot_of_bytes() { return DHYAN_DOT_OF_BYTES; }

EXPORT void* dhyan_model_new(const DhyanHalf* encoder, const DhyanHalf* decoder,
                             const DhyanWeight* weights, int32_t count, int32_t int8, char* message,
                             int32_t message_size) {
    try {
        return new dhyan::Model(*encoder, *decoder, dhyan::Weights(weights, count), int8 != 0);
    } catch (...) {
        dhyan::describe(message, message_size);
        return nullptr;
    }
}

EXPORT void dhyan_model_free(void* model) { delete static_cast<dhyan::Model*>(model); }

EXPORT int32_t dhyan_model_positions(void* model, int32_t of_decoder, const float* vectors,
                                     int32_t count, char* message, int32_t message_size) {
    try {
        static_cast<dhyan::Model*>(model)->set_positions(of_decoder != 0, vectors, count);
        return 1;
    } catch (...) {
        dhyan::describe(message, message_size);
        return 0;
    }
}

EXPORT void* dhyan_translate(void* model, const int32_t* ids, const int64_t* starts,
                             const int32_t* max_lengths, int32_t count, int32_t beam,
                             int32_t nbest, double length_penalty, int32_t threads, char* message,
                             int32_t message_size) {
    try {
        dhyan::Job job;
        job.ids = ids;
        job.starts = starts;
        job.max_lengths = max_lengths;
        job.width = beam;
        job.nbest = nbest;
        job.length_penalty = length_penalty;
        job.order.resize(count);
        std::iota(job.order.begin(), job.order.end(), 0);
        job.results.resize(count);
        if (beam < 1 || 2 * beam > dhyan::MAX_BEST) throw std::invalid_argument("no such beam");
        static_cast<dhyan::Model*>(model)->translate(job, threads);
        auto results = std::make_unique<dhyan::Results>();
        results->hypotheses = std::move(job.results);
        return results.release();
    } catch (...) {
        dhyan::describe(message, message_size);
        return nullptr;
    }
}

// The number of hypotheses and of all their tokens.
EXPORT void dhyan_results_size(void* results, int64_t* hypotheses, int64_t* tokens) {
    *hypotheses = *tokens = 0;
    for (const auto& sentence : static_cast<dhyan::Results*>(results)->hypotheses)
        for (const dhyan::Hypothesis& hypothesis : sentence) {
            ++*hypotheses;
            *tokens += static_cast<int64_t>(hypothesis.tokens.size());
        }
}

// Per sentence the number of hypotheses; per hypothesis length, score and whether it is finished.
EXPORT void dhyan_results_copy(void* results, int32_t* counts, int32_t* lengths, float* scores,
                               uint8_t* finished, int32_t* tokens) {
    for (const auto& sentence : static_cast<dhyan::Results*>(results)->hypotheses) {
        *counts++ = static_cast<int32_t>(sentence.size());
        for (const dhyan::Hypothesis& hypothesis : sentence) {
            *lengths++ = static_cast<int32_t>(hypothesis.tokens.size());
            *scores++ = hypothesis.score;
            *finished++ = hypothesis.finished;
            tokens = std::copy(hypothesis.tokens.begin(), hypothesis.tokens.end(), tokens);
        }
    }
}

EXPORT void dhyan_results_free(void* results) { delete static_cast<dhyan::Results*>(results); }

// Training: each function returns 1, or 0 with a message.

template <class Work>
int32_t guarded(char* message, int32_t size, const Work& work) {
    try {
        work();
        return 1;
    } catch (...) {
        dhyan::describe(message, size);
        return 0;
    }
}

using namespace dhyan::training;

EXPORT int32_t dhyan_layer_forward(const LayerShape* shape, const float* input_gates,
                                   const float* weight, const float* first, const float* carry,
                                   float* out, float* previous, float* before, float* gates,
                                   float* last, float* end, int32_t threads, char* message,
                                   int32_t size) {
    return guarded(message, size, [&] {
        layer_forward(*shape, input_gates, weight, first, carry, out, previous, before, gates, last,
                      end, threads);
    });
}

EXPORT int32_t dhyan_layer_backward(const LayerShape* shape, const float* weight,
                                    const float* before, const float* gates, const float* dout,
                                    const float* dlast, const float* dend, float* dgates,
                                    float* dfirst, float* dcarry, int32_t threads, char* message,
                                    int32_t size) {
    return guarded(message, size, [&] {
        layer_backward(*shape, weight, before, gates, dout, dlast, dend, dgates, dfirst, dcarry,
                       threads);
    });
}

EXPORT int32_t dhyan_loop_forward(const LoopShape* shape, int32_t luong, const LoopWeights* weights,
                                  const AttentionSource* source, const float* input_gates,
                                  const float* first, const float* carry, const float* attentional,
                                  const LoopRecord* record, float* end, int32_t threads,
                                  char* message, int32_t size) {
    return guarded(message, size, [&] {
        loop_forward(*shape, luong != 0, *weights, *source, input_gates, first, carry, attentional,
                     *record, end, threads);
    });
}

EXPORT int32_t dhyan_loop_backward(const LoopShape* shape, int32_t luong,
                                   const LoopWeights* weights, const AttentionSource* source,
                                   const LoopRecord* record, const LoopGradients* gradients,
                                   int32_t threads, char* message, int32_t size) {
    return guarded(message, size, [&] {
        loop_backward(*shape, luong != 0, *weights, *source, *record, *gradients, threads);
    });
}

EXPORT int32_t dhyan_cross_entropy(void* logits, int32_t half, const int64_t* labels, float* losses,
                                   int64_t rows, int32_t width, int64_t ignored, float smoothing,
                                   int32_t threads, char* message, int32_t size) {
    return guarded(message, size, [&] {
        if (half)
            cross_entropy(static_cast<uint16_t*>(logits), labels, losses, rows, width, ignored,
                          smoothing, threads);
        else
            cross_entropy(static_cast<float*>(logits), labels, losses, rows, width, ignored,
                          smoothing, threads);
    });
}

namespace {

// Calls work with pointers to float or to bfloat16.
template <class Work>
void typed(bool half, const void* data, const Work& work) {
    if (half)
        work(static_cast<uint16_t*>(const_cast<void*>(data)));
    else
        work(static_cast<float*>(const_cast<void*>(data)));
}

}  // namespace

EXPORT int32_t dhyan_add_norm(const float* residual, const void* update, int32_t half_update,
                              float* total, void* normed, int32_t half_normed, float* mean,
                              float* deviation, const float* weight, const float* bias,
                              int64_t rows, int32_t width, float epsilon, uint64_t seed,
                              float dropout, int32_t threads, char* message, int32_t size) {
    return guarded(message, size, [&] {
        typed(half_update, update, [&](auto* from) {
            typed(half_normed, normed, [&](auto* to) {
                add_norm(residual, from, total, to, mean, deviation, weight, bias, rows, width,
                         epsilon, seed, dropout, threads);
            });
        });
    });
}

EXPORT int32_t dhyan_add_norm_backward(const float* dtotal, const void* dnormed,
                                       int32_t half_normed, const float* total, const float* mean,
                                       const float* deviation, const float* weight,
                                       float* dresidual, void* dupdate, int32_t half_update,
                                       float* dweight, float* dbias, int64_t rows, int32_t width,
                                       uint64_t seed, float dropout, int32_t threads,
                                       char* message, int32_t size) {
    return guarded(message, size, [&] {
        typed(half_update, dupdate, [&](auto* to) {
            typed(half_normed, dnormed, [&](auto* from) {
                add_norm_backward(dtotal, from, total, mean, deviation, weight, dresidual, to,
                                  dweight, dbias, rows, width, seed, dropout, threads);
            });
        });
    });
}

EXPORT int32_t dhyan_drop(void* values, int32_t half, int64_t count, int32_t relu, uint64_t seed,
                          float dropout, int32_t threads, char* message, int32_t size) {
    return guarded(message, size, [&] {
        typed(half, values, [&](auto* to) { drop(to, count, relu != 0, seed, dropout, threads); });
    });
}

EXPORT int32_t dhyan_relu_backward(const void* output, const void* grad, void* dinput, int32_t half,
                                   int64_t count, float scale, int32_t threads, char* message,
                                   int32_t size) {
    return guarded(message, size, [&] {
        typed(half, dinput, [&](auto* to) {
            using T = std::remove_pointer_t<decltype(to)>;
            relu_backward(static_cast<const T*>(output), static_cast<const T*>(grad), to, count,
                          scale, threads);
        });
    });
}
