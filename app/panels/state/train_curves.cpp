#include "app/panels/state/train_curves.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

double value_of(const HeadScore& score, HeadPattern pattern) {
    // With fewer repeated tokens the score is not meaningful.
    constexpr std::int64_t kFewestRows = 4;
    switch (pattern) {
    case HeadPattern::PreviousToken:
        return score.previous_token;
    case HeadPattern::FirstToken:
        return score.first_token;
    case HeadPattern::SameToken:
        return score.same_token;
    case HeadPattern::Induction:
        return score.induction_rows >= kFewestRows ? score.induction : 0;
    case HeadPattern::Entropy:
        return score.entropy;
    case HeadPattern::Distance:
        return score.distance;
    case HeadPattern::Strongest:
        break;
    }
    return std::nan("");
}

/// Whether the run's points no longer start with those drawn so far, because the run was thinned out or replaced.
bool are_others(const RunLines& lines, const RunCurves& run) {
    const auto differs = [](const Curve& curve, const auto& points) {
        return curve.size() > points.size() || (!curve.empty() && curve.x().back() != static_cast<double>(points[curve.size() - 1].step));
    };
    return differs(lines.loss, run.losses) || differs(lines.validation_loss, run.validations) ||
           (!lines.heads.empty() && differs(lines.heads.front().by_pattern[1], run.heads));
}

void add_heads(RunLines& lines, const HeadPoint& point) {
    if (lines.heads.size() != point.scores.size()) {
        lines.heads.clear();
        for (const HeadScore& score : point.scores) lines.heads.push_back({.id = score.id, .head = score.head, .by_pattern = {}});
    }
    for (std::size_t i = 0; i < point.scores.size(); ++i) {
        HeadCurves& head = lines.heads[i];
        for (int p = 1; p < kHeadPatterns; ++p) {
            const auto pattern = static_cast<HeadPattern>(p);
            head.by_pattern[static_cast<std::size_t>(p)].append(static_cast<double>(point.step),
                                                                static_cast<float>(value_of(point.scores[i], pattern)));
        }
    }
}

/// The pattern with the largest share of the weight now.
HeadPattern strongest_of(const HeadCurves& head) {
    auto best = HeadPattern::PreviousToken;
    float most = -1;
    // Induction comes first, because it is the more specific explanation if the values are equal.
    for (const HeadPattern pattern :
         {HeadPattern::Induction, HeadPattern::PreviousToken, HeadPattern::FirstToken, HeadPattern::SameToken}) {
        const auto values = head.curve(pattern).raw().values();
        if (values.empty() || !(values.back() > most)) continue;
        most = values.back();
        best = pattern;
    }
    return best;
}

/// In a branch, what formed before it counts, too.
std::optional<std::size_t> forming_of(const std::vector<HeadCurves>& heads, bool branch) {
    std::optional<std::size_t> forming;
    float most = -1;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const auto values = heads[i].curve(HeadPattern::Strongest).raw().values();
        if (values.empty()) continue;
        const float risen = values.back() - (branch ? 0 : values.front());
        if (!(risen > most)) continue;
        most = risen;
        forming = i;
    }
    return forming;
}

void extend(RunLines& lines, const RunCurves& run) {
    for (std::size_t i = lines.loss.size(); i < run.losses.size(); ++i) {
        const LossPoint& point = run.losses[i];
        const auto step = static_cast<double>(point.step);
        lines.loss.append(step, static_cast<float>(point.loss));
        lines.gradient_norm.append(step, static_cast<float>(point.gradient_norm));
        lines.learning_rate.append(step, static_cast<float>(point.learning_rate));
    }
    for (std::size_t i = lines.validation_loss.size(); i < run.validations.size(); ++i) {
        const ValidationPoint& point = run.validations[i];
        const auto step = static_cast<double>(point.step);
        lines.validation_loss.append(step, static_cast<float>(point.loss));
        const auto losses = lines.validation_loss.raw().values();
        if (std::isfinite(losses[i]) && (!lines.lowest || losses[i] < losses[*lines.lowest])) lines.lowest = i;
        lines.validation_accuracy.append(step, static_cast<float>(point.accuracy));
    }
    const std::size_t known = lines.heads.empty() ? 0 : lines.heads.front().by_pattern[1].size();
    if (known >= run.heads.size()) return;
    for (std::size_t i = known; i < run.heads.size(); ++i) add_heads(lines, run.heads[i]);
    for (HeadCurves& head : lines.heads) head.strongest = strongest_of(head);
    lines.forming = forming_of(lines.heads, run.origin.has_value());
}

}  // namespace

std::string_view pattern_name(HeadPattern pattern) {
    constexpr std::array<std::string_view, kHeadPatterns> kNames = {"strongest pattern", "previous-token", "first-token", "same-token",
                                                                    "after-repeat",      "entropy",        "distance"};
    return kNames[static_cast<std::size_t>(pattern)];
}

double forms_at(const Curve& curve) {
    const auto values = curve.raw().values();
    if (values.empty() || !(values.back() > 0.5F)) return -1;
    std::size_t first = values.size() - 1;
    while (first > 0 && values[first - 1] > 0.5F) --first;
    return curve.x()[first];
}

void TrainCurves::update(const TrainingReport& report, double smoothing) {
    std::vector<RunLines> before = std::move(runs_);
    runs_.clear();
    for (const RunCurves& run : report.runs) {
        const auto it = std::find_if(before.begin(), before.end(), [&](const RunLines& lines) { return lines.run == run.run; });
        const bool kept = it != before.end() && !are_others(*it, run);
        RunLines& lines = runs_.emplace_back(kept ? std::move(*it) : RunLines{});
        lines.run = run.run;
        extend(lines, run);
        lines.loss.smooth(smoothing);
        lines.gradient_norm.smooth(smoothing);
    }
}

const RunLines* TrainCurves::find(std::uint64_t run) const {
    const auto it = std::find_if(runs_.begin(), runs_.end(), [&](const RunLines& lines) { return lines.run == run; });
    return it == runs_.end() ? nullptr : &*it;
}

double RunLines::last_step() const {
    double last = 0;
    for (const Curve* curve : {&loss, &validation_loss})
        if (!curve->empty()) last = std::max(last, curve->x().back());
    return last;
}

}  // namespace attn::app
