// BPE dropout of many sentences: the ids that dhyan.text.bpe_dropout samples from the same seeds.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr int64_t UNKNOWN_WORD = -1, OUT_OF_MEMORY = -2, NO_SUCH_ID = -3;
constexpr int32_t NO_MERGE = std::numeric_limits<int32_t>::max();
constexpr uint64_t GOLDEN_RATIO = 0x9E3779B97F4A7C15;
constexpr int ROWS_PER_THREAD = 256;  // at least, so that starting a thread is worth it

inline uint64_t mix_bits(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

struct SplitMix64 {
    uint64_t state;
    uint64_t operator()() { return mix_bits(state += GOLDEN_RATIO); }
};

// Merges by their pair of ids: a hash table with open addressing.
class Merges {
  public:
    Merges(const int32_t* merges, int64_t count) : merged_(count) {
        size_t size = 16;
        while (size < 2 * static_cast<size_t>(count)) size *= 2;
        slots_.assign(size, Slot{0, NO_MERGE});
        for (int64_t rank = 0; rank < count; ++rank) {
            const uint64_t pair = key(merges[3 * rank], merges[3 * rank + 1]);
            Slot& slot = slots_[find(pair)];
            slot = Slot{pair, static_cast<int32_t>(rank)};
            merged_[rank] = merges[3 * rank + 2];
        }
    }
    int32_t rank(int32_t left, int32_t right) const { return slots_[find(key(left, right))].rank; }
    int32_t merged(int32_t rank) const { return merged_[rank]; }

  private:
    struct Slot {
        uint64_t pair;
        int32_t rank;
    };
    std::vector<Slot> slots_;
    std::vector<int32_t> merged_;

    static uint64_t key(int32_t left, int32_t right) {
        return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
               static_cast<uint32_t>(right);
    }
    size_t find(uint64_t pair) const {
        size_t at = mix_bits(pair) & (slots_.size() - 1);
        while (slots_[at].rank != NO_MERGE && slots_[at].pair != pair)
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }
};

// The symbols of a word while it is merged, and the rank of each with its right neighbour.
struct Symbols {
    std::vector<int32_t> ids, ranks;

    void merge(size_t at, const Merges& merges) {
        ids[at] = merges.merged(ranks[at]);
        ids.erase(ids.begin() + at + 1);
        ranks.erase(ranks.begin() + at);
        if (at > 0) ranks[at - 1] = merges.rank(ids[at - 1], ids[at]);
        if (at + 1 < ids.size()) ranks[at] = merges.rank(ids[at], ids[at + 1]);
    }
    // The place of the first possible merge after one of this rank and place; ids.size() if none.
    size_t next(int32_t after_rank, size_t after) const {
        size_t best = ids.size();
        int32_t best_rank = NO_MERGE;
        for (size_t at = 0; at + 1 < ids.size(); ++at) {
            const int32_t rank = ranks[at];
            const bool later = rank > after_rank || (rank == after_rank && at > after);
            if (later && rank < best_rank) {
                best = at;
                best_rank = rank;
            }
        }
        return best;
    }
    size_t first() const { return next(-1, 0); }
};

// A word or symbol, which no merge leaves: its characters and what they merge to without dropout.
struct Part {
    size_t characters;  // the place of the first; the ranks with the next stand beside them
    size_t merged;
    int32_t character_count, merged_count;
    int32_t merges;
};

// What is between two spaces.
struct Word {
    uint64_t hash;
    size_t ids, first_part;
    int32_t id_count, part_count;
};

class BpeDropout {
  public:
    BpeDropout(const int32_t* merges, int64_t count, const uint8_t* begins_word, int32_t vocabulary)
        : merges_(merges, count), begins_word_(begins_word, begins_word + vocabulary), slots_(1024) {}

    bool has_id(int32_t id) const {
        return id >= 0 && id < static_cast<int32_t>(begins_word_.size());
    }

    const int32_t* end_of_word(const int32_t* begin, const int32_t* end) const {
        const int32_t* at = begin + 1;
        while (at < end && !begins_word_[*at]) ++at;
        return at;
    }

    const Word* find(const int32_t* ids, int64_t count) const {
        const uint64_t hash = hash_of(ids, count);
        for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            if (!slots_[at]) return nullptr;
            const Word& word = words_[slots_[at] - 1];
            if (word.hash == hash && word.id_count == count &&
                std::equal(ids, ids + count, ids_.data() + word.ids))
                return &word;
        }
    }

    void add(const int32_t* ids, int32_t count, const int32_t* part_sizes, int32_t parts,
             const int32_t* characters) {
        if (find(ids, count)) return;
        Word word{hash_of(ids, count), ids_.size(), parts_.size(), count, parts};
        ids_.insert(ids_.end(), ids, ids + count);
        for (int32_t at = 0; at < parts; ++at) {
            add_part(characters, part_sizes[at]);
            characters += part_sizes[at];
        }
        words_.push_back(word);
        if (2 * words_.size() > slots_.size()) {
            slots_.assign(2 * slots_.size(), 0);
            for (size_t number = 0; number < words_.size(); ++number) enter(number);
        } else {
            enter(words_.size() - 1);
        }
    }

    int64_t size() const { return static_cast<int64_t>(words_.size()); }

    void clear() {
        slots_.assign(1024, 0);
        words_.clear();
        parts_.clear();
        ids_.clear();
        characters_.clear();
        ranks_.clear();
        merged_.clear();
    }

    // Appends a segmentation of a word to `out`; a merge is dropped if a number is below `limit`.
    void sample(const Word& word, SplitMix64& random, uint64_t limit, Symbols& symbols,
                std::vector<int32_t>& out) const {
        for (int32_t number = 0; number < word.part_count; ++number) {
            const Part& part = parts_[word.first_part + number];
            SplitMix64 ahead = random;
            int32_t kept = 0;
            while (kept < part.merges && (ahead() >> 11) >= limit) ++kept;
            if (kept == part.merges) {
                random = ahead;
                const int32_t* merged = merged_.data() + part.merged;
                out.insert(out.end(), merged, merged + part.merged_count);
            } else {
                load(part, symbols);
                merge(symbols, random, limit);
                out.insert(out.end(), symbols.ids.begin(), symbols.ids.end());
            }
        }
    }

  private:
    Merges merges_;
    std::vector<uint8_t> begins_word_;
    std::vector<uint32_t> slots_;  // the number of a word and one, or 0
    std::vector<Word> words_;
    std::vector<Part> parts_;
    std::vector<int32_t> ids_, characters_, ranks_, merged_;

    static uint64_t hash_of(const int32_t* ids, int64_t count) {
        uint64_t hash = static_cast<uint64_t>(count);
        for (int64_t at = 0; at < count; ++at)
            hash = mix_bits(hash + static_cast<uint32_t>(ids[at]) + GOLDEN_RATIO);
        return hash;
    }

    void enter(size_t number) {
        size_t at = words_[number].hash & (slots_.size() - 1);
        while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = static_cast<uint32_t>(number + 1);
    }

    void add_part(const int32_t* characters, int32_t count) {
        Symbols symbols;
        symbols.ids.assign(characters, characters + count);
        for (int32_t at = 0; at + 1 < count; ++at)
            symbols.ranks.push_back(merges_.rank(characters[at], characters[at + 1]));
        symbols.ranks.push_back(NO_MERGE);
        Part part{characters_.size(), merged_.size(), count, 0, 0};
        characters_.insert(characters_.end(), symbols.ids.begin(), symbols.ids.end());
        ranks_.insert(ranks_.end(), symbols.ranks.begin(), symbols.ranks.end());
        for (size_t at; (at = symbols.first()) < symbols.ids.size(); ++part.merges)
            symbols.merge(at, merges_);
        part.merged_count = static_cast<int32_t>(symbols.ids.size());
        merged_.insert(merged_.end(), symbols.ids.begin(), symbols.ids.end());
        parts_.push_back(part);
    }

    void load(const Part& part, Symbols& symbols) const {
        const int32_t* ids = characters_.data() + part.characters;
        const int32_t* ranks = ranks_.data() + part.characters;
        symbols.ids.assign(ids, ids + part.character_count);
        symbols.ranks.assign(ranks, ranks + part.character_count);
    }

    void merge(Symbols& symbols, SplitMix64& random, uint64_t limit) const {
        while (true) {
            size_t at = symbols.first();
            while (at < symbols.ids.size() && (random() >> 11) < limit)
                at = symbols.next(symbols.ranks[at], at);
            if (at == symbols.ids.size()) return;
            symbols.merge(at, merges_);
        }
    }
};

struct Rows {
    const int32_t* ids;
    const int64_t *starts, *ends;
    const uint64_t* seeds;
    int64_t count, max_length;
    uint64_t limit;
};

// The segmentations of some consecutive rows.
struct Segmented {
    std::vector<int32_t> ids;
    std::vector<int64_t> lengths;
    int64_t failure = 0;
};

void resegment(const BpeDropout& dropout, const Rows& rows, int64_t begin, int64_t end,
               Segmented& out) {
    try {
        Symbols symbols;
        for (int64_t row = begin; row < end; ++row) {
            const int32_t *first = rows.ids + rows.starts[row], *last = rows.ids + rows.ends[row];
            const size_t before = out.ids.size();
            SplitMix64 random{rows.seeds[row]};
            for (const int32_t *at = first, *next; at < last; at = next) {
                next = dropout.end_of_word(at, last);
                const Word* word = dropout.find(at, next - at);
                if (!word) {
                    out.failure = UNKNOWN_WORD;
                    return;
                }
                dropout.sample(*word, random, rows.limit, symbols, out.ids);
            }
            if (static_cast<int64_t>(out.ids.size() - before) > rows.max_length) {
                out.ids.resize(before);
                out.ids.insert(out.ids.end(), first, last);
            }
            out.lengths.push_back(static_cast<int64_t>(out.ids.size() - before));
        }
    } catch (...) {
        out.failure = OUT_OF_MEMORY;
    }
}

struct Results {
    std::vector<Segmented> parts;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// `merges` has the left, the right and the merged id of each; NULL without memory.
EXPORT void* dhyan_bpe_new(const int32_t* merges, int64_t count, const uint8_t* begins_word,
                           int32_t vocabulary) {
    try {
        return new BpeDropout(merges, count, begins_word, vocabulary);
    } catch (...) {
        return nullptr;
    }
}

EXPORT void dhyan_bpe_free(void* dropout) { delete static_cast<BpeDropout*>(dropout); }

// The words of some rows that are not known, each once: where they begin and end in `ids`. At most
// `capacity`, after which more may be left; NO_SUCH_ID if an id is not in the vocabulary.
EXPORT int64_t dhyan_bpe_unknown(void* handle, const int32_t* ids, const int64_t* starts,
                                 const int64_t* ends, int64_t rows, int64_t* spans,
                                 int64_t capacity) {
    try {
        const auto& dropout = *static_cast<BpeDropout*>(handle);
        BpeDropout seen(nullptr, 0, nullptr, 0);
        int64_t found = 0;
        for (int64_t row = 0; row < rows; ++row) {
            const int32_t *first = ids + starts[row], *last = ids + ends[row];
            if (!std::all_of(first, last, [&](int32_t id) { return dropout.has_id(id); }))
                return NO_SUCH_ID;
            for (const int32_t *at = first, *next; at < last; at = next) {
                next = dropout.end_of_word(at, last);
                if (dropout.find(at, next - at) || seen.find(at, next - at)) continue;
                if (found == capacity) return found;
                seen.add(at, static_cast<int32_t>(next - at), nullptr, 0, nullptr);
                spans[2 * found] = at - ids;
                spans[2 * found + 1] = next - ids;
                ++found;
            }
        }
        return found;
    } catch (...) {
        return OUT_OF_MEMORY;
    }
}

// Adds words: the ids of each, and the characters of the parts that no merge leaves. How many words
// are known now.
EXPORT int64_t dhyan_bpe_add(void* handle, const int32_t* ids, const int64_t* spans, int64_t words,
                             const int32_t* part_counts, const int32_t* part_sizes,
                             const int32_t* characters) {
    try {
        auto& dropout = *static_cast<BpeDropout*>(handle);
        for (int64_t word = 0; word < words; ++word) {
            const int64_t begin = spans[2 * word];
            dropout.add(ids + begin, static_cast<int32_t>(spans[2 * word + 1] - begin), part_sizes,
                        part_counts[word], characters);
            for (int32_t at = 0; at < part_counts[word]; ++at) characters += *part_sizes++;
        }
        return dropout.size();
    } catch (...) {
        return OUT_OF_MEMORY;
    }
}

EXPORT void dhyan_bpe_clear(void* handle) { static_cast<BpeDropout*>(handle)->clear(); }

// Segments rows anew: `total` is the number of ids, or UNKNOWN_WORD, OUT_OF_MEMORY or NO_SUCH_ID;
// then there is no result.
EXPORT void* dhyan_bpe_resegment(void* handle, const int32_t* ids, const int64_t* starts,
                                 const int64_t* ends, const uint64_t* seeds, int64_t rows,
                                 uint64_t limit, int64_t max_length, int32_t threads,
                                 int64_t* total) {
    try {
        const auto& dropout = *static_cast<BpeDropout*>(handle);
        const Rows work{ids, starts, ends, seeds, rows, max_length, limit};
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t at = starts[row]; at < ends[row]; ++at)
                if (!dropout.has_id(ids[at])) {
                    *total = NO_SUCH_ID;
                    return nullptr;
                }
        const int64_t most = std::max<int64_t>(1, rows / ROWS_PER_THREAD);
        const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(threads, most));
        auto results = std::make_unique<Results>();
        results->parts.resize(parts);
        std::vector<std::thread> running;
        running.reserve(parts);
        for (int64_t part = 1; part < parts; ++part) {
            const int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
            Segmented& out = results->parts[part];
            try {
                running.emplace_back([&dropout, &work, &out, begin, end] {
                    resegment(dropout, work, begin, end, out);
                });
            } catch (...) {  // no further thread is to be had
                resegment(dropout, work, begin, end, out);
            }
        }
        resegment(dropout, work, 0, rows / parts, results->parts[0]);
        for (std::thread& thread : running) thread.join();
        *total = 0;
        for (const Segmented& part : results->parts) {
            if (part.failure) {
                *total = part.failure;
                return nullptr;
            }
            *total += static_cast<int64_t>(part.ids.size());
        }
        return results.release();
    } catch (...) {
        *total = OUT_OF_MEMORY;
        return nullptr;
    }
}

// Copies a result and frees it: all ids, and the place in them where each row begins and ends.
EXPORT void dhyan_bpe_take(void* handle, int32_t* ids, int64_t* offsets) {
    const std::unique_ptr<Results> results(static_cast<Results*>(handle));
    int64_t end = 0;
    *offsets++ = 0;
    for (const Segmented& part : results->parts) {
        ids = std::copy(part.ids.begin(), part.ids.end(), ids);
        for (const int64_t length : part.lengths) *offsets++ = end += length;
    }
}
