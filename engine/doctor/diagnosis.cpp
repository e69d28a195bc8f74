#include "engine/doctor/diagnosis.hpp"

#include <array>

namespace attn::doctor {
namespace {

struct BugText {
    std::string_view name, words;
};
constexpr std::array<BugText, kBugCount> kBugs = {{
    {"no_scale", "the scores are not divided by √d_head"},
    {"scale_d_model", "the scores are divided by √d_model instead of √d_head"},
    {"scaled_twice", "the scores are divided by √d_head twice"},
    {"softmax_over_queries", "the softmax runs over the queries instead of the keys"},
    {"mask_after_softmax", "the mask is applied after the softmax"},
    {"inverted_mask", "the mask is inverted"},
    {"mask_missing", "the mask is not applied"},
    {"causal_leaks_one", "the causal mask is off by one: every position sees the next one"},
    {"causal_masks_self", "the causal mask is off by one: no position sees itself"},
    {"padding_on_queries", "the padding mask is applied to the queries instead of the keys"},
    {"heads_split_without_transpose", "the heads are split by a reshape without a transpose"},
    {"heads_joined_without_transpose", "the heads are joined by a reshape without a transpose"},
    {"dropout_left_on", "dropout is on"},
    {"kv_swapped", "keys and values are swapped"},
    {"non_finite", "there are NaN or infinities"},
    {"other", "the numbers differ in a way that no known mistake reproduces"},
}};
constexpr std::array<std::string_view, 3> kVerdicts = {"correct", "wrong", "unknown"};

}  // namespace

std::string_view bug_name(Bug bug) { return kBugs[static_cast<std::size_t>(bug)].name; }
std::string_view bug_words(Bug bug) { return kBugs[static_cast<std::size_t>(bug)].words; }
std::string_view verdict_name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

}  // namespace attn::doctor
