#include "engine/plan/mistake.hpp"

#include <array>
#include <string>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::array<MistakeInfo, 17> kMistakes = {{
    {Mistake::NoScale, "no_scale", "No scaling", "the scores are not divided by √d_head",
     "Scores spread √d_head times further, so that rows of the weights concentrate on one key.", "a larger head or more than one token"},
    {Mistake::ScaleByModelWidth, "scale_d_model", "Scaling by d_model", "the scores are divided by √d_model instead of √d_head",
     "The more heads there are, the closer together the scaled scores and the flatter the weights.",
     "a larger head or more than one token"},
    {Mistake::ScaledTwice, "scaled_twice", "Scaled twice", "the scores are divided by √d_head twice",
     "Scaled scores lie closer together, and the weights are close to uniform.", "a larger head or more than one token"},
    {Mistake::SoftmaxOverQueries, "softmax_over_queries", "Softmax over queries", "the softmax runs over the queries instead of the keys",
     "Columns of the weights sum to 1 instead of rows; under a causal mask the last key goes to the last query alone.",
     "a larger head or more than one token", true},
    {Mistake::MaskAfterSoftmax, "mask_after_softmax", "Mask after softmax", "the mask is applied after the softmax",
     "Rows of the weights sum to less than 1 wherever something is masked: what the mask took is lost.", "an active mask"},
    {Mistake::InvertedMask, "inverted_mask", "Inverted mask", "the mask is inverted",
     "There is weight exactly where there must be none; under a causal mask every position sees only the future.", "an active mask"},
    {Mistake::MaskMissing, "mask_missing", "Mask missing", "the mask is not applied",
     "No cell is masked: the future and padding get weight like everything else.", "an active mask"},
    {Mistake::CausalLeaksOne, "causal_leaks_one", "Causal mask leaks one",
     "the causal mask is off by one: every position sees the next one",
     "One more diagonal is open: each row reaches one position into the future, and a run's loss falls suspiciously low.",
     "an active mask"},
    {Mistake::CausalMasksSelf, "causal_masks_self", "Causal mask hides self", "the causal mask is off by one: no position sees itself",
     "The diagonal is masked, and the first row has no key at all.", "an active mask"},
    {Mistake::PaddingOnQueries, "padding_on_queries", "Padding on queries",
     "the padding mask is applied to the queries instead of the keys",
     "With texts of different lengths, whole rows are masked while padded columns get weight.", "texts of different lengths"},
    {Mistake::HeadsSplitWithoutTranspose, "heads_split_without_transpose", "Split without transpose",
     "the heads are split by a reshape without a transpose",
     "A head's rows are pieces of neighbouring positions, so that heads mix positions instead of dimensions.", "more than one head", true},
    {Mistake::HeadsJoinedWithoutTranspose, "heads_joined_without_transpose", "Join without transpose",
     "the heads are joined by a reshape without a transpose",
     "Rows of concat hold one head's context of several positions, so that even the future leaks under a causal mask.",
     "more than one head", true},
    {Mistake::DropoutLeftOn, "dropout_left_on", "Dropout left on", "dropout is on",
     "Weights are dropped outside of training: rows of dropped do not sum to 1, and another seed gives different numbers.",
     "a larger head or more than one token", true},
    {Mistake::KeysValuesSwapped, "kv_swapped", "K and V swapped", "keys and values are swapped",
     "Scores are products of q and v, and the context is a mixture of keys.", "a larger head or more than one token"},
    {Mistake::NoPositions, "no_positions", "No positions",
     "positions are neither added to the embedding nor used to rotate queries and keys",
     "Equal tokens have equal rows, wherever they stand: in the embedding, or in the queries and keys of the first layer.",
     "added or rotary positions"},
    {Mistake::NoResidual, "no_residual", "No residual", "a block's result replaces the residual stream instead of being added to it",
     "The residual stages equal the block's own output, and deeper layers forget the text.", "residual additions"},
    {Mistake::MissingNorm, "missing_norm", "Missing norm", "layer norms return their input unchanged",
     "The norm stages equal their input: their rows do not have mean 0 and deviation 1.", "norms"},
}};

}  // namespace

std::span<const MistakeInfo> mistakes() { return kMistakes; }

const MistakeInfo& mistake_info(Mistake mistake) { return kMistakes.at(static_cast<std::size_t>(mistake) - 1); }

std::string_view mistake_name(Mistake mistake) { return mistake == Mistake::None ? "none" : mistake_info(mistake).name; }

bool drops_outside_training(Mistake mistake) { return mistake == Mistake::DropoutLeftOn; }

Mistake mistake_by_name(std::string_view name) {
    if (name == "none") return Mistake::None;
    std::string names = "none";
    for (const MistakeInfo& info : kMistakes) {
        if (info.name == name) return info.mistake;
        names += ", " + std::string(info.name);
    }
    throw ConfigError("there is no mistake \"" + escaped(name) + "\"; expected one of " + names);
}

}  // namespace attn
