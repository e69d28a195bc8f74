#include "engine/doctor/diagnosis.hpp"

#include <array>

namespace attn::doctor {
namespace {

// The mistakes of one attention come first in both enumerations, in the same order.
static_assert(static_cast<int>(Bug::NoScale) + 1 == static_cast<int>(Mistake::NoScale));
static_assert(static_cast<int>(Bug::KeysValuesSwapped) + 1 == static_cast<int>(Mistake::KeysValuesSwapped));

constexpr std::array<std::string_view, 3> kVerdicts = {"correct", "wrong", "unknown"};

}  // namespace

std::optional<Mistake> mistake_of(Bug bug) {
    if (bug >= Bug::NonFinite) return std::nullopt;
    return static_cast<Mistake>(static_cast<int>(bug) + 1);
}

std::optional<Bug> bug_of(Mistake mistake) {
    if (mistake == Mistake::None || mistake > Mistake::KeysValuesSwapped) return std::nullopt;
    return static_cast<Bug>(static_cast<int>(mistake) - 1);
}

std::string_view bug_name(Bug bug) {
    if (const std::optional<Mistake> mistake = mistake_of(bug)) return mistake_info(*mistake).name;
    return bug == Bug::NonFinite ? "non_finite" : "other";
}

std::string_view bug_words(Bug bug) {
    if (const std::optional<Mistake> mistake = mistake_of(bug)) return mistake_info(*mistake).words;
    return bug == Bug::NonFinite ? "there are NaN or infinities" : "the numbers differ in a way that no known mistake reproduces";
}

std::string_view verdict_name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

}  // namespace attn::doctor
