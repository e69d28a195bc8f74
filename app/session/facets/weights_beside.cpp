#include "app/session/values/weights_beside.hpp"

#include <algorithm>
#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/precision/compare_weights.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// The first of a group of `shown` numbers that contains `index`. Groups are aligned, so that packed blocks stay whole.
std::int64_t first_around(std::int64_t index, std::int64_t shown) { return index / shown * shown; }

}  // namespace

WeightsBeside weights_beside(const OpenedModel& model, const std::filesystem::path& other, const WeightsBesideProgress& each,
                             const std::stop_token& stop) {
    WeightsBeside out{OpenedModel::open(other), {}};
    const auto tell = [&](const WeightComparison& so_far, std::size_t total) { each({out.other, so_far}, total); };
    out.errors = compare_weights(model.folder(), out.other->folder(), tell, stop);
    return out;
}

WeightErrorMap error_map_beside(const OpenedModel& model, const OpenedModel& other, const std::string& parameter,
                                const std::stop_token& stop) {
    return weight_error_map(model.folder(), other.folder(), parameter, kMostErrorRows, kMostErrorColumns, stop);
}

WeightNumbers numbers_beside(const OpenedModel& model, const OpenedModel& other, const std::string& parameter, std::int64_t row,
                             std::int64_t column) {
    const std::shared_ptr<const Parameters<float>> left = model.parameters(), right = other.parameters();
    const ComparedParameter a(*left, parameter), b(*right, parameter);
    const bool there = a && b && a.rows() == b.rows() && a.columns() == b.columns();
    if (!there || row < 0 || row >= a.rows() || column < 0 || column >= a.columns())
        throw Error("there is no number [" + std::to_string(row) + ", " + std::to_string(column) + "] of " + parameter + " in both models");
    WeightNumbers out;
    out.first_row = first_around(row, kShownWeightRows);
    out.first_column = first_around(column, kShownWeightColumns);
    out.rows = std::min(kShownWeightRows, a.rows() - out.first_row);
    out.columns = std::min(kShownWeightColumns, a.columns() - out.first_column);
    for (std::int64_t r = out.first_row; r < out.first_row + out.rows; ++r)
        for (std::int64_t c = out.first_column; c < out.first_column + out.columns; ++c) {
            const double of_a = a.number(r, c), of_b = b.number(r, c);
            out.a.push_back(static_cast<float>(of_a));
            out.b.push_back(static_cast<float>(of_b));
            out.difference.push_back(static_cast<float>(of_b - of_a));
            out.packed_a.push_back(a.packed(r, c));
            out.packed_b.push_back(b.packed(r, c));
        }
    model.require_intact();
    other.require_intact();
    return out;
}

Job<WeightsBeside> facet::WeightsBeside::make(const WeightsBeside& wanted, Ask&) {
    return [wanted](const Work& work) {
        const auto tell = [&](const app::WeightsBeside& so_far, std::size_t total) {
            work.progress(so_far.errors.parameters.size(), total, std::make_shared<const app::WeightsBeside>(so_far));
        };
        return weights_beside(*wanted.model, wanted.other, tell, work.stop);
    };
}

Job<WeightErrorMap> facet::WeightErrors::make(const WeightErrors& wanted, Ask&) {
    return [wanted](const Work& work) { return error_map_beside(*wanted.model, *wanted.other, wanted.parameter, work.stop); };
}

Job<WeightNumbers> facet::WeightNumbers::make(const WeightNumbers& wanted, Ask&) {
    return [wanted](const Work&) { return numbers_beside(*wanted.model, *wanted.other, wanted.parameter, wanted.row, wanted.column); };
}

}  // namespace attn::app
