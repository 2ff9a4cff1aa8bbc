// Greedy and beam search of one sentence, with the scores of dhyan.decoding.
#pragma once

#include <algorithm>
#include <cmath>

#include "model.h"

namespace dhyan {

struct Hypothesis {
    std::vector<int32_t> tokens;  // without EOS
    float score;
    bool finished;
};

struct Search {
    int sentence = -1;  // none if negative
    int width = 1, max_length = 0, steps = 0;
    double length_penalty = 0.0;
    bool diverged = false;

    void start(int index, int beam, int limit, double penalty) {
        sentence = index;
        width = beam;
        max_length = limit;
        length_penalty = penalty;
        steps = 0;
        diverged = false;
        tokens_.clear();
        parents_.clear();
        finished_.clear();
        scores_.assign(1, 0.0f);
    }

    // The unfinished hypotheses, as rows of the next step.
    void add_rows(int slot, std::vector<StepRow>& rows) const {
        for (size_t beam = 0; beam < scores_.size(); ++beam) {
            StepRow row{slot, static_cast<int>(beam), 0, steps, BOS};
            if (steps > 0) {
                row.parent = parents_[(steps - 1) * width + beam];
                row.token = tokens_[(steps - 1) * width + beam];
            }
            rows.push_back(row);
        }
    }

    int candidates() const { return width == 1 ? 1 : 2 * width; }

    // Chooses the next tokens of the rows; whether the sentence is done.
    bool advance(const BestTokens* best) {
        ++steps;
        for (size_t beam = 0; beam < scores_.size(); ++beam)
            if (!std::isfinite(best[beam].logsumexp()) || best[beam].count == 0) diverged = true;
        if (diverged) return true;
        return width == 1 ? advance_greedy(best[0]) : advance_beam(best);
    }

    std::vector<Hypothesis> results(int most) const {
        std::vector<Hypothesis> hypotheses;
        if (diverged) return hypotheses;
        for (const Finished& end : finished_) {
            if (static_cast<int>(hypotheses.size()) == most) return hypotheses;
            hypotheses.push_back({path(end.length - 1, end.parent), end.score, true});
        }
        const int size = std::min(most, width);
        for (size_t beam = 0; beam < scores_.size(); ++beam) {
            if (static_cast<int>(hypotheses.size()) >= size) break;
            hypotheses.push_back({path(steps, static_cast<int>(beam)),
                                  by_length(scores_[beam], steps), false});
        }
        return hypotheses;
    }

  private:
    struct Finished {
        float score;
        int length, parent;  // EOS counted; the hypothesis that ended
    };
    struct Candidate {
        float score;
        int beam;
        int32_t token;
    };
    std::vector<int32_t> tokens_, parents_;  // [step × width]
    std::vector<float> scores_;              // of the unfinished hypotheses
    std::vector<Finished> finished_;         // the best first
    std::vector<Candidate> candidates_;

    float by_length(float score, int length) const {
        return score / static_cast<float>(std::pow(std::max(length, 1), length_penalty));
    }

    std::vector<int32_t> path(int length, int beam) const {
        std::vector<int32_t> ids(length);
        for (int at = length - 1; at >= 0; --at) {
            ids[at] = tokens_[at * width + beam];
            beam = parents_[at * width + beam];
        }
        return ids;
    }

    bool advance_greedy(const BestTokens& best) {
        scores_[0] += best.logit[0] - best.logsumexp();
        if (best.token[0] == EOS) {
            finished_.push_back({by_length(scores_[0], steps), steps, 0});
            scores_.clear();
            return true;
        }
        tokens_.push_back(best.token[0]);
        parents_.push_back(0);
        return steps >= max_length;
    }

    // As Beam.extend: the best that go on, and those among the best of all that end.
    bool advance_beam(const BestTokens* best) {
        candidates_.clear();
        for (size_t beam = 0; beam < scores_.size(); ++beam) {
            const float total = best[beam].logsumexp();
            for (int at = 0; at < best[beam].count; ++at)
                candidates_.push_back({scores_[beam] + (best[beam].logit[at] - total),
                                       static_cast<int>(beam), best[beam].token[at]});
        }
        const size_t considered = std::min<size_t>(2 * width, candidates_.size());
        std::partial_sort(candidates_.begin(), candidates_.begin() + considered, candidates_.end(),
                          [](const Candidate& a, const Candidate& b) {
                              if (a.score != b.score) return a.score > b.score;
                              return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
                          });
        scores_.clear();
        for (size_t at = 0; at < considered; ++at) {
            const Candidate& candidate = candidates_[at];
            if (candidate.token == EOS) {
                if (static_cast<int>(at) < width)
                    finish({by_length(candidate.score, steps), steps, candidate.beam});
            } else if (static_cast<int>(scores_.size()) < width) {
                scores_.push_back(candidate.score);
                tokens_.push_back(candidate.token);
                parents_.push_back(candidate.beam);
            }
        }
        tokens_.resize(static_cast<size_t>(steps) * width, PAD);
        parents_.resize(static_cast<size_t>(steps) * width, 0);
        if (steps >= max_length || scores_.empty()) return true;
        const float best_unfinished = by_length(scores_[0], steps);
        return static_cast<int>(finished_.size()) == width &&
               best_unfinished <= finished_.back().score;
    }

    void finish(Finished end) {
        size_t at = finished_.size();
        while (at > 0 && finished_[at - 1].score < end.score) --at;
        finished_.insert(finished_.begin() + at, end);
        if (static_cast<int>(finished_.size()) > width) finished_.pop_back();
    }
};

}  // namespace dhyan
