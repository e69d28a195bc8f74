#include "engine/reference/verify.hpp"

#include <algorithm>
#include <cmath>

#include <limits>
#include <type_traits>
#include <utility>

#include "engine/tensor/closeness.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/position_rows.hpp"

namespace attn::reference {
namespace {

constexpr const char* kOtherNumbers = "different numbers";

template <class Scalar>
void compare_values(const Tensor<Scalar>& fast, const Tensor<double>& expected, double atol, double rtol, StageError& error) {
    for (std::int64_t i = 0; i < expected.size(); ++i) {
        const double gap = gap_between(static_cast<double>(fast.data()[i]), expected.data()[i]);
        const double excess = excess_of(gap, allowed_gap(expected.data()[i], atol, rtol));
        error.max_abs = std::max(error.max_abs, gap);
        error.nan += std::isnan(expected.data()[i]) && gap == 0 ? 1 : 0;
        if (excess > error.max_excess) {
            error.max_excess = excess;
            error.worst_index = i;
        }
    }
    if (!(error.max_excess <= 1)) error.problem = kOtherNumbers;
}

bool same_mask(const Mask& mask, const Permissions& permissions, const Shape& shape) {
    const std::int64_t batch = shape[0].size, heads = shape[1].size;
    if (mask.queries() != permissions.queries || mask.keys() != permissions.keys) return false;
    if ((mask.batches() != 1 && mask.batches() != batch) || (mask.heads() != 1 && mask.heads() != heads)) return false;
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t t = 0; t < permissions.queries; ++t)
                for (std::int64_t s = 0; s < permissions.keys; ++s)
                    if (mask.may_attend(b, h, t, s) != permissions.may_attend(b, h, t, s)) return false;
    return true;
}

template <class Scalar>
StageError compare_stage(const StageId& id, const Tensor<Scalar>& value, const Mask* mask, const ReferenceStage& expected, double atol,
                         double rtol, double rounding) {
    StageError error;
    error.id = id;
    error.rounding = rounding;
    if (id != expected.id) error.problem = tensor_name(expected.id) + " should be here";
    else if (value.shape() != expected.value.shape())
        error.problem = "shape " + value.shape().text() + " instead of " + expected.value.shape().text();
    else if (expected.permissions != nullptr && mask == nullptr) error.problem = "no mask was recorded";
    else if (expected.permissions != nullptr && !same_mask(*mask, *expected.permissions, expected.value.shape()))
        error.problem = "the recorded mask does not match the settings";
    else compare_values(value, expected.value, atol + kRoundingAllowance * rounding, rtol, error);
    return error;
}

void conclude(Verification& result) {
    for (std::size_t i = 0; i < result.stages.size(); ++i) {
        StageError& stage = result.stages[i];
        stage.ok = stage.problem.empty();
        if (!stage.ok && stage.max_excess == 0)
            stage.max_abs = stage.max_excess = std::numeric_limits<double>::infinity();  // nothing could be compared
        result.max_abs = std::max(result.max_abs, stage.max_abs);
        result.ok = result.ok && stage.ok;
        if (stage.max_abs != 0) result.largest.push_back(i);
    }
    std::stable_sort(result.largest.begin(), result.largest.end(),
                     [&](std::size_t a, std::size_t b) { return result.stages[a].max_abs > result.stages[b].max_abs; });
}

StageError structural_failure(const StageId& id, std::string problem) {
    StageError error;
    error.id = id;
    error.problem = std::move(problem);
    return error;
}

}  // namespace

template <class Scalar>
Verification compare(const std::vector<RecordedStage<Scalar>>& recorded, const std::vector<ReferenceStage>& expected, double atol,
                     double rtol, const std::vector<double>& rounding) {
    Verification result;
    for (std::size_t i = 0; i < recorded.size(); ++i)
        result.stages.push_back(i < expected.size() ? compare_stage(recorded[i].id, recorded[i].value, recorded[i].mask.get(), expected[i],
                                                                    atol, rtol, rounding.empty() ? 0 : rounding[i])
                                                    : structural_failure(recorded[i].id, "the model has no such stage"));
    for (std::size_t i = recorded.size(); i < expected.size(); ++i)
        result.stages.push_back(structural_failure(expected[i].id, "missing from the trace"));
    conclude(result);
    return result;
}

namespace {

/// Largest difference between two versions of a stage; infinite differences are ignored.
double difference(const ReferenceStage& exact, const ReferenceStage& rounded) {
    double largest = 0;
    for (std::int64_t j = 0; j < exact.value.size(); ++j) {
        const double gap = gap_between(rounded.value.data()[j], exact.value.data()[j]);
        if (std::isfinite(gap)) largest = std::max(largest, gap);
    }
    return largest;
}

std::vector<double> differences(const std::vector<ReferenceStage>& exact, const std::vector<ReferenceStage>& rounded) {
    std::vector<double> out;
    for (std::size_t i = 0; i < exact.size(); ++i) out.push_back(difference(exact[i], rounded[i]));
    return out;
}

}  // namespace

template <class Scalar>
Verification verify(const Trace<Scalar>& trace, double atol, double rtol, std::stop_token stop) {
    if (trace.parameters == nullptr) throw Error("the trace to verify has no parameters");
    const auto run = [&](Rounding rounding) {
        return forward(*trace.parameters, trace.tokens, trace.source_tokens, trace.settings, stop, rounding);
    };
    const std::vector<ReferenceStage> expected = run(Rounding::None);
    Verification result = compare(trace.stages, expected, atol, rtol);
    if (result.ok || std::is_same_v<Scalar, double>) return result;
    return compare(trace.stages, expected, atol, rtol, differences(expected, run(Rounding::EveryStageToFloat)));
}

namespace {

/// Compares the stages of a part as they are shown.
template <class Scalar>
class PartComparison {
public:
    /// `rounding` is empty, or has an entry per stage of the part, kRoundingAllowance times which is added to its tolerance.
    PartComparison(const Trace<Scalar>& outline, const PlanPart& place, double atol, double rtol, const std::vector<double>& rounding,
                   std::stop_token stop)
        : outline_(outline), place_(place), atol_(atol), rtol_(rtol), rounding_(rounding), exact_(outline, place, std::move(stop)),
          stages_(place.end - place.first), seen_(stages_.size()) {}

    void operator()(const StageId& id, std::int64_t first, const Tensor<Scalar>& value, const Mask* mask) {
        const PlanNode* node = outline_.plan->find(id);
        const auto at = node == nullptr ? std::size_t{0} : static_cast<std::size_t>(node - outline_.plan->nodes().data());
        if (node == nullptr || at < place_.first || at >= place_.end)
            return strangers_.push_back(structural_failure(id, "the model has no such stage"));
        const std::size_t i = at - place_.first;
        const Shape whole = outline_.shape_of(id);
        const PositionRows rows(whole);
        const Shape& shape = value.shape();
        const bool some = shape.rank() == whole.rank() && shape != whole && shape == with_positions(whole, shape[rows.axis].size);
        const std::int64_t count = some ? shape[rows.axis].size : rows.positions;
        StageError found = first != seen_[i] ? structural_failure(id, "positions other than those that follow")
                                             : compare_stage(id, value, mask, exact_.stage(id, some ? Rows{first, count} : Rows{}), atol_,
                                                             rtol_, rounding_.empty() ? 0 : rounding_[i]);
        if (some) found.worst_index = whole_index(shape, whole, first, found.worst_index);
        merge(stages_[i], found, seen_[i] == 0);
        seen_[i] += count;
    }

    Verification conclusion() {
        Verification result;
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            const StageId& id = outline_.plan->nodes()[place_.first + i].id;
            if (seen_[i] < PositionRows(outline_.shape_of(id)).positions || seen_[i] == 0)
                stages_[i] = structural_failure(id, seen_[i] == 0 ? "missing from the trace" : "some positions are missing from the trace");
            result.stages.push_back(std::move(stages_[i]));
        }
        for (StageError& stranger : strangers_) result.stages.push_back(std::move(stranger));
        conclude(result);
        return result;
    }

private:
    /// Index in the whole stage of a cell in some of its rows.
    static std::int64_t whole_index(const Shape& some, const Shape& whole, std::int64_t first, std::int64_t at) {
        const PositionRows rows(some), all(whole);
        const std::int64_t block = at / (rows.positions * rows.width), rest = at % (rows.positions * rows.width);
        return (block * all.positions + first) * all.width + rest;
    }
    static void merge(StageError& all, const StageError& found, bool begins) {
        if (begins) return void(all = found);
        if (all.problem.empty()) all.problem = found.problem;
        all.max_abs = std::max(all.max_abs, found.max_abs);
        all.nan += found.nan;
        if (!(found.max_excess > all.max_excess)) return;
        all.max_excess = found.max_excess;
        all.worst_index = found.worst_index;
    }

    const Trace<Scalar>& outline_;
    const PlanPart place_;
    double atol_, rtol_;
    const std::vector<double>& rounding_;
    PartOfReference<Scalar> exact_;
    std::vector<StageError> stages_, strangers_;
    std::vector<std::int64_t> seen_;  ///< number of positions compared, per stage
};

/// The rows in which each stage was shown.
using ShownRows = std::vector<std::pair<StageId, Rows>>;

template <class Scalar>
Verification compare_part(const ShowStages<Scalar>& show, const Trace<Scalar>& outline, const PlanPart& place, double atol, double rtol,
                          const std::vector<double>& rounding, const std::stop_token& stop, ShownRows* shown = nullptr) {
    PartComparison<Scalar> comparison(outline, place, atol, rtol, rounding, stop);
    show([&](const StageId& id, std::int64_t first, const Tensor<Scalar>& value, const Mask* mask) {
        comparison(id, first, value, mask);
        if (shown == nullptr || outline.plan->find(id) == nullptr) return;
        const bool whole = value.shape() == outline.shape_of(id);
        shown->push_back({id, whole ? Rows{} : Rows{first, PositionRows(value.shape()).positions}});
    });
    return comparison.conclusion();
}

/// The error that rounding every stage to float causes in each stage of a part.
template <class Scalar>
std::vector<double> rounding_of_part(const Trace<Scalar>& outline, const PlanPart& place, const ShownRows& shown,
                                     const std::stop_token& stop) {
    PartOfReference<Scalar> exact(outline, place, stop), rounded(outline, place, stop, Rounding::EveryStageToFloat);
    std::vector<double> out(place.end - place.first);
    for (const auto& [id, rows] : shown) {
        const std::size_t at = static_cast<std::size_t>(outline.plan->find(id) - outline.plan->nodes().data());
        if (at < place.first || at >= place.end) continue;
        double& largest = out[at - place.first];
        largest = std::max(largest, difference(exact.stage(id, rows), rounded.stage(id, rows)));
    }
    return out;
}

}  // namespace

template <class Scalar>
Verification verify_part(const Trace<Scalar>& outline, const StageId& within, const ShowStages<Scalar>& show, double atol, double rtol,
                         std::stop_token stop) {
    if (outline.parameters == nullptr) throw Error("the trace to verify has no parameters");
    const PlanPart place = outline.plan->part_around(within);
    ShownRows shown;
    Verification result = compare_part<Scalar>(show, outline, place, atol, rtol, {}, stop, &shown);
    const bool differs =
        std::any_of(result.stages.begin(), result.stages.end(), [](const StageError& stage) { return stage.problem == kOtherNumbers; });
    if (!differs || std::is_same_v<Scalar, double>) return result;
    return compare_part<Scalar>(show, outline, place, atol, rtol, rounding_of_part(outline, place, shown, stop), stop);
}

template Verification verify(const Trace<float>&, double, double, std::stop_token);
template Verification verify(const Trace<double>&, double, double, std::stop_token);
template Verification verify_part(const Trace<float>&, const StageId&, const ShowStages<float>&, double, double, std::stop_token);
template Verification verify_part(const Trace<double>&, const StageId&, const ShowStages<double>&, double, double, std::stop_token);
template Verification compare(const std::vector<RecordedStage<float>>&, const std::vector<ReferenceStage>&, double, double,
                              const std::vector<double>&);
template Verification compare(const std::vector<RecordedStage<double>>&, const std::vector<ReferenceStage>&, double, double,
                              const std::vector<double>&);

}  // namespace attn::reference
