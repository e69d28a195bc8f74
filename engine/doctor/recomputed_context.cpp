#include <utility>

#include "engine/doctor/dropout_evidence.hpp"
#include "engine/doctor/emptied.hpp"
#include "engine/doctor/recomputation.hpp"

namespace attn::doctor {

MaybeEstimate Recomputation::context() {
    const MaybeEstimate map = map_of_context();
    const MaybeEstimate rows = recipe_.context_uses_keys ? input(Part::K) : handed_out(Part::V, Part::VRotated, recipe_.values_tiled);
    if (map == nullptr || rows == nullptr || sequence_.value_size == 0) return nullptr;
    const bool plain = context_is_plain();
    if (plain && shared_.context != nullptr) return shared_.context;
    const auto context_of = [&](const Estimate& weights) {
        return weighted_rows(weights, *rows, sequence_.heads, sequence_.queries, sequence_.keys, sequence_.value_size, rounding_);
    };
    Estimate out = context_of(*map);
    if (recipe_.mask == MaskUse::WrongSign) expect_nan(out);
    if (!sequence_.has(Part::Weights) && !sequence_.has(Part::Dropped)) fill_unseen(out, *map, context_of);
    if (recipe_.dropout == DropoutUse::InContext) drop_unseen(out, *map, *rows);
    MaybeEstimate made = share(std::move(out));
    if (plain) shared_.context = made;
    return made;
}

MaybeEstimate Recomputation::map_of_context() {
    MaybeEstimate map = input(recipe_.context_ignores_dropout ? Part::Weights : Part::Dropped);
    if (map == nullptr) return nullptr;
    if (recipe_.mask == MaskUse::AfterWeights || recipe_.mask == MaskUse::OfWeights) map = share(with_zeros(*map));
    return recipe_.context_transposed ? share(transposed(*map)) : map;
}

void Recomputation::fill_unseen(Estimate& context, const Estimate& map, const Make& make) {
    const std::vector<double> recorded = recorded_context();
    if (recorded.empty()) return;
    if (recipe_.axis != SoftmaxAxis::Keys) fill_unseen_lines(context, map, recorded, make);
    else fill_rows(context, recorded, sequence_.value_size, make);
}

void Recomputation::drop_unseen(Estimate& context, const Estimate& map, const Estimate& rows) {
    std::vector<double> recorded = recorded_context();
    if (recorded.empty()) return;
    const std::optional<double> rate = find_hidden_dropout(recorded, map, rows, sequence_, rounding_, recipe_.dropout_unscaled);
    if (!rate) return;
    dropout_rate_ = *rate;
    context.value = std::move(recorded);
}

std::vector<double> Recomputation::recorded_context() const {
    if (sequence_.has(Part::Context) || !sequence_.has(Part::Concat)) return sequence_[Part::Context];
    return unpack({sequence_[Part::Concat], {}}, recipe_.join, sequence_.heads, sequence_.queries, sequence_.value_size).value;
}

Estimate Recomputation::transposed(const Estimate& map) const {
    Estimate out = map;
    for (std::size_t i = 0; i < map.value.size(); ++i) {
        const std::size_t to = sequence_.transposed(i);
        out.value[to] = map.value[i];
        if (!map.slack.empty()) out.slack[to] = map.slack[i];
    }
    return out;
}

bool Recomputation::context_is_plain() const {
    return (sequence_.has(Part::Dropped) || sequence_.has(Part::Weights)) && (sequence_.has(Part::V) || sequence_.has(Part::VRotated)) &&
           !recipe_.context_ignores_dropout && !recipe_.context_transposed && !recipe_.context_uses_keys && !recipe_.values_tiled &&
           !recipe_.values_rotated && recipe_.mask != MaskUse::AfterWeights && recipe_.mask != MaskUse::OfWeights &&
           recipe_.dropout != DropoutUse::InContext;
}

MaybeEstimate Recomputation::concat() {
    const MaybeEstimate from = input(Part::Context);
    if (from == nullptr || sequence_.value_size == 0) return nullptr;
    return share(pack(*from, recipe_.join, sequence_.heads, sequence_.queries, sequence_.value_size));
}

}  // namespace attn::doctor
