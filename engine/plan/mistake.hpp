#pragma once
/// The classic mistakes of attention code, which a model can be told to make.

#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// At most one at a time. Parameters, texts and everything else stay the same.
enum class Mistake : std::uint8_t {
    None,
    NoScale,                      ///< scaled = scores
    ScaleByModelWidth,            ///< scores are not scaled
    ScaledTwice,                  ///< scores / d_head
    SoftmaxOverQueries,           ///< columns of the weights sum to 1
    MaskAfterSoftmax,             ///< the softmax sees every key; masked weights become 0 afterwards
    InvertedMask,                 ///< exactly the forbidden cells may attend
    MaskMissing,                  ///< every cell may attend
    CausalLeaksOne,               ///< s <= t + 1
    CausalMasksSelf,              ///< s < t
    PaddingOnQueries,             ///< self-attention: padded queries attend nowhere, padded keys are visible
    HeadsSplitWithoutTranspose,   ///< [T, H D] read as [H, T, D]
    HeadsJoinedWithoutTranspose,  ///< [H, T, D] read as [T, H D]
    DropoutLeftOn,                ///< dropout outside of training, at kDropoutLeftOn where no rate is set
    KeysValuesSwapped,            ///< scores = q v^T, context = weights k
    NoPositions,                  ///< only token embeddings enter the first layer
    NoResidual,                   ///< a block's output replaces the stream instead of being added to it
    MissingNorm,                  ///< norms return their input
};

inline constexpr double kDropoutLeftOn = 0.1;

struct MistakeInfo {
    Mistake mistake;
    std::string_view name;         ///< in JSON and on the command line: "no_scale"
    std::string_view title;        ///< "No scaling"
    std::string_view words;        ///< what is wrong, for the middle of a sentence: "the scores are not divided by √d_head"
    std::string_view look;         ///< one sentence: what to look for
    std::string_view needs;        ///< what it needs to have an effect, for the end of a sentence: "norms"
    bool mixes_positions = false;  ///< reads other positions than attention does, or draws random numbers by an element's place among all
};

/// All but None, in enumerator order.
std::span<const MistakeInfo> mistakes();
/// `mistake` must not be None.
const MistakeInfo& mistake_info(Mistake mistake);
/// "none" or the name in MistakeInfo.
std::string_view mistake_name(Mistake mistake);
/// Whether dropout stays on when the model is used, not only while it is trained.
bool drops_outside_training(Mistake mistake);
/// Throws ConfigError listing the valid names.
Mistake mistake_by_name(std::string_view name);

}  // namespace attn
