#pragma once
/// The settings that a message can be about.

#include <cstdint>

namespace attn::app {

/// The setting that a problem is about, so that its message can stand beside the control.
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
