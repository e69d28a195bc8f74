#include "app/session/values/rollout_terms.hpp"

#include <algorithm>
#include <cmath>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/values/readings.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

RolloutTerms rollout_terms(const AttentionTotals& totals, std::size_t layer, std::int64_t sequence, std::int64_t query, std::int64_t key) {
    if (layer >= totals.rollouts.size()) throw Error("this layer of the rollout is not held in full");
    const TokenMap& means = totals.head_means[layer];
    const std::int64_t positions = means.positions();
    if (sequence < 0 || sequence >= means.sequences() || std::min(query, key) < 0 || std::max(query, key) >= positions)
        throw Error("there is no such cell of the rollout");
    std::vector<float> row(static_cast<std::size_t>(positions));
    means.copy_row(sequence, query, row.data());
    const std::vector<double> shares = with_residual(row.data(), positions, query);
    RolloutTerms terms;
    for (std::int64_t j = 0; j < positions; ++j) {
        const double share = shares[static_cast<std::size_t>(j)];
        const double before = layer == 0 ? (j == key ? 1.0 : 0.0) : static_cast<double>(totals.rollouts[layer - 1](sequence, j, key));
        const double product = share == 0 ? 0 : share * before;
        terms.sum += product;
        if (product != 0) terms.largest.push_back({j, share, before, product});
    }
    terms.count = terms.largest.size();
    const auto size = [](const RolloutTerms::Term& term) { return std::isnan(term.product) ? HUGE_VAL : term.product; };
    std::stable_sort(terms.largest.begin(), terms.largest.end(), [&](const auto& x, const auto& y) { return size(x) > size(y); });
    terms.largest.resize(std::min(terms.count, RolloutTerms::kMost));
    return terms;
}

Job<RolloutTerms> facet::RolloutTerms::make(const RolloutTerms& wanted, Ask& ask) {
    return [wanted, readings = ask(Totals{})](const Work&) {
        const AttentionTotals* totals = readings->of(wanted.at.stack);
        if (totals == nullptr) throw Error("this state has no attention of this kind");
        app::RolloutTerms terms = rollout_terms(*totals, wanted.at.layer, wanted.at.sequence, wanted.query, wanted.key);
        terms.readings = readings->serial;
        return terms;
    };
}

}  // namespace attn::app
