#include "engine/recording/recompute.hpp"

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "engine/recording/follower.hpp"
#include "engine/recording/seen_cells.hpp"

namespace attn::recording {
namespace {

/// `shown`, with the numbers that differ between `before` and `after` taken from there, rounded as those shown are; nothing if none does.
std::optional<Numbers> updated(Numbers shown, const Numbers& before, const Numbers& after) {
    if (after.values.size() != before.values.size()) throw NotComputed{"its inputs give another shape"};
    bool any = false;
    for (std::size_t i = 0; i < shown.values.size(); ++i) {
        if (is_same(before.values[i], after.values[i])) continue;
        shown.values[i] = rounded(after.values[i], shown.eps);
        any = true;
    }
    shown.slack.assign(shown.values.size(), 0);
    return any ? std::optional(std::move(shown)) : std::nullopt;
}

/// Computes one stage twice: as it was, which has to give what was recorded, and with changed inputs.
class Recomputation {
public:
    Recomputation(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStage& stage, const RecordedStep& step,
                  const FindParameter& parameter)
        : stage_(stage), step_(step), parameter_(parameter), follower_(graph, attention, step, parameter) {
        follower_.read_all_attentions();
        recorded_ = follower_.recorded(stage);
    }

    /// The recorded numbers, or those that follow.
    Numbers unedited() { return recorded_ ? *recorded_ : follower_.computed(stage_); }

    std::optional<Numbers> after(const ChangedStages& changed) {
        const Operation operation = recorded_ ? operation_of(*recorded_) : usual_operation();
        const Numbers before = operation();
        if (recorded_ && !follows(*recorded_, before)) throw NotComputed{"what was recorded does not follow from its inputs"};
        follower_.read_first([&changed](const std::string& name) -> const Numbers* {
            const auto found = changed.find(name);
            return found == changed.end() ? nullptr : &found->second;
        });
        return updated(recorded_ ? *recorded_ : before, before, operation());
    }

private:
    /// How the stage is computed from its inputs, which may be others the next time.
    using Operation = std::function<Numbers()>;

    Numbers input() { return follower_.input(stage_, 0); }

    Operation usual_operation() {
        return [this] { return follower_.from_inputs(stage_); };
    }

    /// What only the recorded numbers tell of it is settled here.
    Operation operation_of(const Numbers& recorded) {
        if (stage_.op == "linear") return linear(recorded);
        if (stage_.op == "dropout") return dropout(recorded);
        if (stage_.op == "mask" && !follower_.knows_mask(stage_)) return mask_seen_in(recorded);
        if (stage_.op == "norm") return norm(recorded);
        if (stage_.op == "activation") return activation(recorded);
        return usual_operation();
    }

    Operation linear(const Numbers& recorded) {
        const std::optional<FittingMap> fitting = follower_.fitting_map(stage_, recorded);
        if (!fitting) throw NotComputed{kUnknownChannels};
        return [this, &recorded, fitting] { return mapped(input(), fitting->map(), recorded.axes, recorded.shape, step_.source()); };
    }

    Operation dropout(const Numbers& recorded) {
        if (stage_.rate == 0) return [this] { return input(); };
        return [this, &recorded, before = input()] {
            const Numbers now = input();
            Numbers kept = follower_.after_dropout(stage_, recorded);
            for (std::size_t i = 0; i < now.values.size(); ++i)
                if (recorded.values[i] == 0 && before.values[i] == 0 && now.values[i] != 0)
                    throw NotComputed{"of a number that was 0 it is not known whether it would be dropped"};
            return kept;
        };
    }

    /// Of a mask that was not recorded, the numbers show what it hides, if it makes them all the same.
    Operation mask_seen_in(const Numbers& recorded) {
        double fill = 0;
        for (const double number : recorded.values) {
            if (!(number < kHidden)) continue;
            if (fill != 0 && number != fill) throw NotComputed{kUnknownMask};
            fill = number;
        }
        return [this, &recorded, fill] {
            Numbers numbers = input();
            if (numbers.values.size() != recorded.values.size()) throw NotComputed{kUnknownMask};
            for (std::size_t i = 0; i < numbers.values.size(); ++i)
                if (recorded.values[i] < kHidden) numbers.values[i] = fill;
            return numbers;
        };
    }

    std::vector<double> parameter(std::size_t place) const {
        if (place >= stage_.parameters.size()) return {};
        const std::optional<NamedArray> found = parameter_(stage_.parameters[place]);
        if (!found) throw NotComputed{kUnknownParameters};
        return values_as<double>(*found, step_.source());
    }

    /// The recording does not say what is added to the variance, nor whether there is a mean: what gives the recorded numbers is right.
    Operation norm(const Numbers& recorded) {
        NormRule rule{parameter(0), parameter(1)};
        const Numbers before = input();
        for (const std::vector<double>* each : {&rule.gain, &rule.shift})
            if (!each->empty() && std::ssize(*each) != before.shape.back()) throw NotComputed{"its parameters have another size"};
        for (const bool has_mean : {true, false})
            for (const double eps : {1e-5, 1e-6, 1e-12, 1e-8, 1e-3, 0.0}) {
                rule.has_mean = has_mean;
                rule.eps = eps;
                if (follows(recorded, normed(before, rule))) return [this, rule] { return normed(input(), rule); };
            }
        throw NotComputed{"it is no norm that is known here"};
    }

    Operation activation(const Numbers& recorded) {
        const Numbers before = input();
        for (const Curve curve : {Curve::Relu, Curve::Gelu, Curve::GeluTanh, Curve::Silu, Curve::Tanh, Curve::Sigmoid})
            if (stage_.inputs.size() == 1 && follows(recorded, bent(before, curve))) return [this, curve] { return bent(input(), curve); };
        throw NotComputed{no_arithmetic(stage_)};
    }

    const RecordedStage& stage_;
    const RecordedStep& step_;
    const FindParameter& parameter_;
    Follower follower_;
    std::optional<Numbers> recorded_;
};

}  // namespace

StageNumbers unedited_stage(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStage& stage,
                            const RecordedStep& step, const FindParameter& parameter) {
    try {
        return {Recomputation(graph, attention, stage, step, parameter).unedited(), ""};
    } catch (const NotComputed& problem) {
        return {{}, problem.why};
    }
}

StageNumbers stage_after(const ChangedStages& changed, const RecordedGraph& graph, const RecordedAttention& attention,
                         const RecordedStage& stage, const RecordedStep& step, const FindParameter& parameter) {
    try {
        return {Recomputation(graph, attention, stage, step, parameter).after(changed), ""};
    } catch (const NotComputed& problem) {
        return {{}, problem.why};
    }
}

}  // namespace attn::recording
