#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/doctor/emptied.hpp"
#include "engine/doctor/recomputation.hpp"

namespace attn::doctor {
namespace {

std::vector<std::size_t> open_cells(const Estimate& map) {
    std::vector<std::size_t> cells;
    for (std::size_t i = 0; i < map.value.size(); ++i)
        if (std::isinf(map.slack_at(i))) cells.push_back(i);
    return cells;
}

}  // namespace

void Recomputation::fill_lines(Estimate& out) {
    const MaybeEstimate scores = input(Part::Capped);
    const std::vector<std::size_t> open = open_cells(out);
    fill(out, best_filling(fillings(sequence_, recipe_.axis, scores.get(), rounding_), sequence_[Part::Weights], open), open);
}

void Recomputation::fill_unseen_lines(Estimate& out, const Estimate& map, const std::vector<double>& recorded, const Make& make) {
    const std::vector<std::size_t> open = open_cells(map);
    if (open.empty()) return;
    const MaybeEstimate scores = input(Part::Capped);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Estimate& filling : fillings(sequence_, recipe_.axis, scores.get(), rounding_)) {
        Estimate filled = map;
        fill(filled, filling, open);
        Estimate made = make(filled);
        expect_nan(made);
        const std::int64_t differing = compare(recorded, made).differing;
        if (differing >= least) continue;
        least = differing;
        out = std::move(made);
    }
}

void Recomputation::fill_rows(Estimate& out, const std::vector<double>& recorded, std::int64_t width, const Make& make) {
    if (recipe_.mask != MaskUse::BeforeSoftmax && recipe_.mask != MaskUse::Skipped) return;
    std::vector<std::size_t> cells;
    for (std::size_t row = 0; row < static_cast<std::size_t>(sequence_.heads * sequence_.queries); ++row)
        for (std::size_t i = 0; i < static_cast<std::size_t>(width) && is_emptied(row); ++i)
            cells.push_back(row * static_cast<std::size_t>(width) + i);
    if (cells.empty()) return;
    // With a mask that forbids everything, the unmasked weights would be the same as without a mask.
    const bool some_kept = std::find(recipe_.keep->begin(), recipe_.keep->end(), std::uint8_t{1}) != recipe_.keep->end();
    const MaybeEstimate scores = some_kept ? input(Part::Capped) : nullptr;
    std::vector<Estimate> candidates;
    for (const Estimate& map : fillings(sequence_, SoftmaxAxis::Keys, scores.get(), rounding_)) candidates.push_back(make(map));
    fill(out, best_filling(candidates, recorded, cells), cells);
}

bool Recomputation::is_emptied(std::size_t row) const {
    const auto keys = static_cast<std::ptrdiff_t>(sequence_.keys), first = static_cast<std::ptrdiff_t>(row) * keys;
    const auto none = [&](const Keep& keep) {
        return std::none_of(keep.begin() + first, keep.begin() + first + keys, [](std::uint8_t k) { return k != 0; });
    };
    return none(*recipe_.keep) && !none(*recipe_.meant);
}

}  // namespace attn::doctor
