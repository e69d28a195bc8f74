#include "app/session/facets/likely_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn::app {

std::vector<LikelyToken> likely_tokens(const Trace<float>& trace, const CellRef& cell) {
    if (!cell.parameter.empty() || (cell.stage.stage != Stage::Logits && cell.stage.stage != Stage::Probabilities)) return {};
    const RecordedStage<float>* stage = trace.find({Stage::Probabilities, -1, cell.stage.stack});
    if (stage == nullptr || stage->value.empty()) return {};
    const Shape& shape = stage->value.shape();  // [B,T,V]
    const float* row = stage->value.data() + (cell.index[0] * shape[1].size + cell.index[1]) * shape[2].size;
    std::vector<std::int64_t> order(static_cast<std::size_t>(shape[2].size));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto likelier = [&](std::int64_t a, std::int64_t b) {
        const bool a_known = !std::isnan(row[a]), b_known = !std::isnan(row[b]);
        if (a_known != b_known) return a_known;
        return a_known && row[a] != row[b] ? row[a] > row[b] : a < b;
    };
    const std::size_t listed = std::min(kMostLikelyTokens, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed), order.end(), likelier);
    std::vector<LikelyToken> out;
    for (std::size_t i = 0; i < listed; ++i) out.push_back({order[i], row[order[i]]});
    return out;
}

}  // namespace attn::app
