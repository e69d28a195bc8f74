#pragma once
/// The settings that an error message can refer to.

#include <cstdint>

namespace attn::app {

/// Identifies the control beside which a message is shown.
enum class Field : std::uint8_t {
    None,
    Texts,
    SourceTexts,
    DModel,
    Heads,
    KeyHeads,
    HeadSize,
    Layers,
    FeedForward,
    ContextLength,
    LayerNormEps,
    RotaryBase,
    Window,
    Prefix,
    Block,
    Painted,
    Temperature,
    AttentionDropout,
    ResidualDropout,
    EmbeddingDropout,
};

}  // namespace attn::app
