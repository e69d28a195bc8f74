#include "app/session/values/listed_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn::app {
namespace {

constexpr std::size_t kMostTerms = 16, kSparedTerms = 2;  // kSparedTerms: shown beyond kMostTerms, since a note would take as much space
constexpr std::size_t kFewTerms = 5, kSparedOfFew = 1;

/// Whether the explained cell's own term is shown though that many others are larger.
bool shows_small_own(const std::vector<Term>& terms, std::size_t shown) {
    const auto own = std::find_if(terms.begin(), terms.end(), [](const Term& term) { return term.own; });
    if (own == terms.end()) return false;
    const auto larger = std::count_if(terms.begin(), terms.end(),
                                      [&](const Term& term) { return !term.masked && std::abs(term.value) > std::abs(own->value); });
    return static_cast<std::size_t>(larger) >= shown;
}

/// The largest in their order, with the cell's own and what is not a number; all if no more than `spared` are too many.
std::vector<std::size_t> largest_of(const std::vector<Term>& terms, std::vector<std::size_t> order, std::size_t most, std::size_t spared) {
    if (order.size() <= most + spared) return order;
    const auto size_of = [&](std::size_t i) {
        if (terms[i].own || std::isnan(terms[i].value)) return HUGE_VAL;
        return terms[i].masked ? -1 : std::abs(terms[i].value);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size_of(a) > size_of(b); });
    order.resize(most);
    std::sort(order.begin(), order.end());
    return order;
}

std::vector<std::size_t> shown_terms(const std::vector<Term>& terms) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < terms.size(); ++i)
        if (terms.size() <= kMostTerms || !terms[i].masked) order.push_back(i);
    return largest_of(terms, std::move(order), kMostTerms, kSparedTerms);
}

std::string left_out(const Provenance& provenance, std::size_t shown) {
    const auto& terms = provenance.terms;
    const auto masked = static_cast<std::size_t>(std::count_if(terms.begin(), terms.end(), [](const Term& term) { return term.masked; }));
    std::string text;
    if (shown + masked < terms.size())
        text = fmt::format("{} {} terms; the sum includes all.",
                           shows_small_own(terms, shown) ? fmt::format("The cell's own term and the {} largest of", shown - 1)
                                                         : fmt::format("The {} largest of", shown),
                           terms.size() - masked);
    if (terms.size() > kMostTerms && masked > 0)
        text += fmt::format("{}{} not listed.", text.empty() ? "" : " ",
                            masked == 1 ? "1 masked term is" : fmt::format("{} masked terms are", masked));
    if (provenance.omitted_terms > 0)
        text += fmt::format("{}{} terms that are 0 are not listed.", text.empty() ? "" : " ", provenance.omitted_terms);
    return text;
}

}  // namespace

ListedTerms listed_terms(const Provenance& provenance) {
    ListedTerms listed;
    listed.shown = shown_terms(provenance.terms);
    listed.left_out = left_out(provenance, listed.shown.size());
    listed.few = largest_of(provenance.terms, listed.shown, kFewTerms, kSparedOfFew);
    for (std::size_t i = 0; i < provenance.terms.size(); ++i)
        if (!provenance.terms[i].masked && !std::binary_search(listed.few.begin(), listed.few.end(), i))
            listed.others += provenance.terms[i].value;
    for (const Term& term : provenance.terms) {
        if (term.masked || !std::isfinite(term.value)) continue;
        listed.largest = std::max(listed.largest, std::abs(term.value));
        listed.any_negative |= term.value < 0;
    }
    return listed;
}

}  // namespace attn::app
