#include "app/session/lessons/claim.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// In the order of Relation.
constexpr std::array<std::string_view, 4> kSigns = {" = ", " != ", " < ", " > "};

/// A single quotation, or plain text.
Caption side_of(std::string_view text, std::string_view claim, int layer) {
    Caption side = parse_caption(text, layer);
    if (side.size() != 1)
        throw Error(fmt::format("\"{}\": expected one quotation in braces, or plain text, on each side of the sign", claim));
    return side;
}

/// The number at the start of a displayed text, such as "−0.25" or "97 %"; none if there is none.
std::optional<double> number_in(std::string_view text) {
    constexpr std::string_view kMinus = "−", kInfinity = "∞";
    const bool negative = text.starts_with(kMinus) || text.starts_with('-');
    if (negative) text.remove_prefix(text.starts_with('-') ? 1 : kMinus.size());
    double value = 0;
    if (text.starts_with(kInfinity)) {
        value = std::numeric_limits<double>::infinity();
    } else {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end == text.data()) return std::nullopt;
    }
    return negative ? -value : value;
}

std::optional<std::string> text_of(const Caption& side, const Snapshot& snapshot, const TrainingReport& training) {
    return side.front().quote ? quoted(*side.front().quote, snapshot, training) : side.front().text;
}

}  // namespace

Claim parse_claim(std::string_view text, int layer) {
    Claim claim;
    claim.source = text;
    // Quotations contain no spaces around a sign, so the first sign with spaces separates the two sides.
    std::size_t at = std::string_view::npos;
    for (std::size_t i = 0; i < kSigns.size(); ++i) {
        const std::size_t found = text.find(kSigns[i]);
        if (found >= at) continue;
        at = found;
        claim.relation = static_cast<Relation>(i);
    }
    if (at == std::string_view::npos) throw Error(fmt::format("\"{}\": expected =, !=, < or > between spaces", text));
    claim.left = side_of(text.substr(0, at), text, layer);
    claim.right = side_of(text.substr(at + kSigns[static_cast<std::size_t>(claim.relation)].size()), text, layer);
    if (!claim.left.front().quote && !claim.right.front().quote)
        throw Error(fmt::format("\"{}\": a claim quotes at least one number", text));
    return claim;
}

std::optional<bool> holds(const Claim& claim, const Snapshot& snapshot, const TrainingReport& training) {
    const auto left = text_of(claim.left, snapshot, training), right = text_of(claim.right, snapshot, training);
    if (!left || !right) return std::nullopt;
    if (claim.relation == Relation::Equal) return *left == *right;
    if (claim.relation == Relation::Unequal) return *left != *right;
    const std::optional<double> a = number_in(*left), b = number_in(*right);
    if (!a || !b) return false;
    return claim.relation == Relation::Less ? *a < *b : *a > *b;
}

std::string claim_words(const Claim& claim, const Snapshot& snapshot, const TrainingReport& training) {
    std::string words = fmt::format("\"{}\"", claim.source);
    for (const Caption* side : {&claim.left, &claim.right})
        if (side->front().quote)
            words += fmt::format(", {{{}}} is {}", side->front().quote->source, caption_text(*side, snapshot, training));
    return words;
}

std::string why_unquotable(const Claim& claim, const Snapshot& snapshot) {
    for (const Caption* side : {&claim.left, &claim.right}) {
        if (!side->front().quote) continue;
        if (std::string why = why_unquotable(*side->front().quote, snapshot); !why.empty()) return why;
    }
    return "";
}

}  // namespace attn::app
