#include "engine/doctor/diagnosis.hpp"

#include <array>

namespace attn::doctor {
namespace {

// The mistakes that concern one attention come first in both enumerations, in the same order.
static_assert(static_cast<int>(Bug::NoScale) + 1 == static_cast<int>(Mistake::NoScale));
static_assert(static_cast<int>(Bug::KeysValuesSwapped) + 1 == static_cast<int>(Mistake::KeysValuesSwapped));

struct BugInfo {
    Bug bug;
    std::string_view name, title, words, advice;
};

/// Bugs that are not a Mistake.
constexpr std::array<BugInfo, 14> kFoundOnly = {{
    {Bug::AlibiSign, "alibi_sign", "ALiBi with the wrong sign", "the position bias grows with the distance between query and key",
     "ALiBi is a penalty: add -slope * (t - s), so that distant keys lose weight."},
    {Bug::CausalOffset, "causal_offset", "Causal mask misaligned",
     "the causal mask starts at the first key, although there are more keys than queries",
     "The queries are the last positions: let query t attend to the keys s <= t + S - T."},
    {Bug::QueriesKeysSwapped, "qk_swapped", "Q and K swapped", "queries and keys are swapped",
     "Compute q k^T, with the queries as rows, and check that q and k come from their own projections."},
    {Bug::GroupedHeadsTiled, "gqa_tiled", "Shared heads tiled", "the shared key and value heads are tiled instead of repeated",
     "Query head h belongs to key head h / (heads per group): use repeat_interleave, not repeat or tile."},
    {Bug::RotatedValues, "rope_on_values", "Values rotated", "rotary positions are applied to the values",
     "Rotate q and k only, and leave v as it is."},
    {Bug::MaskSign, "mask_sign", "Mask with the wrong sign", "the additive mask has the wrong sign",
     "Add a large negative number, or minus infinity, where a position may not be attended to."},
    {Bug::SoftmaxOverHeads, "softmax_over_heads", "Softmax over heads", "the softmax runs over the heads instead of the keys",
     "Take the softmax along the last axis of [B, H, T, S]."},
    {Bug::PositionOffset, "position_offset", "Positions shifted", "the rotary positions of q and k are offset from each other",
     "Rotate query and key of the same token by the same position; with cached keys the first query is at position S - T."},
    {Bug::SoftmaxTwice, "softmax_twice", "Softmax applied twice", "the softmax is applied twice",
     "Weights are already a distribution: take the softmax of the masked scores once."},
    {Bug::SoftcapMissing, "softcap_missing", "No soft cap", "the scores are not soft-capped, although the file gives a cap",
     "Replace the scaled scores x by cap * tanh(x / cap) before the mask."},
    {Bug::SoftcapBeforeScale, "softcap_before_scale", "Soft cap before the scaling", "the scores are soft-capped before they are scaled",
     "Scale first: cap * tanh(scale * q k^T / cap)."},
    {Bug::SoftcapAfterMask, "softcap_after_mask", "Soft cap after the mask", "the scores are soft-capped after they are masked",
     "Cap first: tanh turns minus infinity into -cap, so that masked keys keep some weight."},
    {Bug::NonFinite, "non_finite", "Numbers that are not finite", "there are NaN or infinities", ""},
    {Bug::Other, "other", "Numbers that do not follow", "the numbers differ in a way that no known mistake reproduces", ""},
}};
static_assert(static_cast<int>(kFoundOnly.front().bug) == static_cast<int>(Bug::KeysValuesSwapped) + 1);
static_assert(static_cast<int>(kFoundOnly.front().bug) + static_cast<int>(kFoundOnly.size()) == kBugCount);

const BugInfo& found_only(Bug bug) {
    return kFoundOnly.at(static_cast<std::size_t>(bug) - static_cast<std::size_t>(kFoundOnly.front().bug));
}

constexpr std::array<std::string_view, 3> kVerdicts = {"correct", "wrong", "unknown"};

}  // namespace

std::optional<Mistake> mistake_of(Bug bug) {
    if (bug > Bug::KeysValuesSwapped) return std::nullopt;
    return static_cast<Mistake>(static_cast<int>(bug) + 1);
}

std::string_view bug_name(Bug bug) {
    const std::optional<Mistake> mistake = mistake_of(bug);
    return mistake ? mistake_info(*mistake).name : found_only(bug).name;
}

std::string_view bug_words(Bug bug) {
    const std::optional<Mistake> mistake = mistake_of(bug);
    return mistake ? mistake_info(*mistake).words : found_only(bug).words;
}

std::string_view bug_title(Bug bug) {
    const std::optional<Mistake> mistake = mistake_of(bug);
    return mistake ? mistake_info(*mistake).title : found_only(bug).title;
}

std::string_view bug_advice(Bug bug) { return mistake_of(bug) ? "" : found_only(bug).advice; }

std::string_view verdict_name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

}  // namespace attn::doctor
